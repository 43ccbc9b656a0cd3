// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
)

var infos = Type{Resource: v1alpha1.ClusterInfoImports, Kind: v1alpha1.ClusterInfoImportKind}

func info(name, network string) *v1alpha1.ClusterInfoImport {
	return &v1alpha1.ClusterInfoImport{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name, UID: "u", ResourceVersion: "7", Labels: map[string]string{"a": "b"}},
		Spec:       v1alpha1.ClusterInfo{ClusterID: name, ServiceCIDR: network, WireGuard: &v1alpha1.WireGuardInfo{PublicKey: "k"}},
	}
}

func TestUpdateHasTheDifferenceOnly(t *testing.T) {
	before, after := info("west", "10.96.0.0/12"), info("west", "10.100.0.0/16")
	require.Empty(t, ToUpdate(infos, before, before))
	after.Spec.WireGuard, after.Labels = nil, map[string]string{"c": "d"}
	changes := ToUpdate(infos, before, after)
	require.Len(t, changes, 1)
	require.Equal(t, "patch ClusterInfoImport kube-system/west", changes[0].String())
	require.Equal(t, map[string]any{
		"metadata": map[string]any{"labels": map[string]any{"a": nil, "c": "d"}}, "spec": map[string]any{"serviceCIDR": "10.100.0.0/16", "wireGuard": nil},
	}, changes[0].Content)
	require.EqualValues(t, "7", changes[0].Version)
}

// TestUpdateOfAnUnstructured: a change is not decided on at the expense of the object, which a watch shows to others.
func TestUpdateOfAnUnstructured(t *testing.T) {
	before := &unstructured.Unstructured{Object: map[string]any{
		"kind": "ClusterInfoImport", "metadata": map[string]any{"name": "west", "uid": "u"}, "spec": map[string]any{"serviceCIDR": int64(3)}, "status": map[string]any{},
	}}
	kept, after := before.DeepCopy(), before.DeepCopy()
	require.NoError(t, unstructured.SetNestedField(after.Object, "10.96.0.0/12", "spec", "serviceCIDR"))
	changes := ToUpdate(infos, before, after)
	require.Len(t, changes, 1)
	require.Equal(t, "patch ClusterInfoImport west", changes[0].String())
	require.Equal(t, map[string]any{"spec": map[string]any{"serviceCIDR": "10.96.0.0/12"}}, changes[0].Content)
	require.Equal(t, kept, before)
}

func TestCreateHasNoStatus(t *testing.T) {
	c := ToCreate(Type{Resource: v1alpha1.ResourceExports, Kind: v1alpha1.ResourceExportKind}, &v1alpha1.ResourceExport{
		ObjectMeta: metav1.ObjectMeta{Name: "e"}, Status: v1alpha1.ResourceExportStatus{Conditions: []v1alpha1.ResourceCondition{{Type: "x"}}},
	})
	require.NotContains(t, c.Content, "status")
	require.NotContains(t, c.Content["metadata"], "creationTimestamp")
	require.Equal(t, "ResourceExport", c.Content["kind"])
}

func newWriter() (*Writer, *dynamicfake.FakeDynamicClient) {
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{v1alpha1.ClusterInfoImports: "ClusterInfoImportList"})
	return NewWriter(client), client
}

// TestFailureHoldsUpNoOthers: the change that fails is tried ever more rarely, the others are made; afterwards it is made, once.
func TestFailureHoldsUpNoOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, client := newWriter()
		refused, broken := 0, true
		client.PrependReactor("create", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
			if action.(clienttesting.CreateAction).GetObject().(metav1.Object).GetName() != "bad" || !broken {
				return false, nil, nil
			}
			refused++
			return true, nil, apierrors.NewForbidden(v1alpha1.ClusterInfoImports.GroupResource(), "bad", errors.New("quota"))
		})
		bad, good := ToCreate(infos, info("bad", "")), ToCreate(infos, info("good", ""))
		began := time.Now()
		changes := []Change{bad, good}
		for time.Since(began) < 2*time.Minute {
			again, err := w.Write(t.Context(), changes)
			require.ErrorContains(t, err, "create ClusterInfoImport kube-system/bad: ")
			require.Positive(t, again)
			require.Equal(t, map[string]string{"bad": err.Error()}, w.Refused(infos))
			require.Empty(t, w.Refused(Type{Resource: v1alpha1.Gateways}), "an object of another type may have the name")
			_, err = client.Resource(v1alpha1.ClusterInfoImports).Namespace("kube-system").Get(t.Context(), "good", metav1.GetOptions{})
			require.NoError(t, err)
			changes = []Change{bad}
			time.Sleep(100 * time.Millisecond)
		}
		require.Greater(t, refused, 4)
		require.Less(t, refused, 20)
		broken = false
		time.Sleep(backoff.Max)
		again, err := w.Write(t.Context(), changes)
		require.NoError(t, err)
		require.Zero(t, again)
		require.Empty(t, w.Refused(infos))
	})
}

// TestUnreachableAPI: after a request that finds no API there are no further ones, in this round.
func TestUnreachableAPI(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, client := newWriter()
		asked := 0
		client.PrependReactor("*", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
			asked++
			return true, nil, &url.Error{Op: "Post", URL: "https://leader", Err: &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}}
		})
		changes := []Change{ToCreate(infos, info("a", "")), ToCreate(infos, info("b", "")), ToCreate(infos, info("c", ""))}
		_, err := w.Write(t.Context(), changes)
		require.ErrorIs(t, err, syscall.ECONNREFUSED)
		require.Equal(t, 1, asked)
		require.Empty(t, w.Refused(infos))
		_, err = w.Write(t.Context(), changes)
		require.ErrorContains(t, err, "kube-system/b: ", "the failure of a does not keep b from being tried")
		require.Equal(t, 2, asked)
		client.ReactionChain = client.ReactionChain[1:]
		time.Sleep(backoff.Max)
		_, err = w.Write(t.Context(), changes)
		require.NoError(t, err)
	})
}

// TestObjectsWithoutAnswer: however many objects have requests without an answer, the changes of the others are made, each of the former is tried
// again, and no round is long.
func TestObjectsWithoutAnswer(t *testing.T) {
	for _, n := range []int{1, mostUnanswered - 1, mostUnanswered, 20} {
		synctest.Test(t, func(t *testing.T) {
			w, client := newWriter()
			asked := map[string]int{}
			client.PrependReactor("create", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
				name := action.(clienttesting.CreateAction).GetObject().(metav1.Object).GetName()
				if !strings.HasPrefix(name, "hangs") {
					return false, nil, nil
				}
				asked[name]++
				time.Sleep(requestTimeout)
				return true, nil, &url.Error{Op: "Post", URL: "https://leader", Err: context.DeadlineExceeded}
			})
			var changes []Change
			for i := range n {
				changes = append(changes, ToCreate(infos, info(fmt.Sprint("hangs", i), "")))
			}
			good := ToCreate(infos, info("good", ""))
			for round := range 5 * n {
				wanted := slices.Clone(changes)
				if _, err := client.Resource(v1alpha1.ClusterInfoImports).Namespace("kube-system").Get(t.Context(), "good", metav1.GetOptions{}); err != nil {
					require.LessOrEqual(t, round, n/mostUnanswered+1)
					wanted = append(wanted, good)
				}
				began := time.Now()
				again, err := w.Write(t.Context(), wanted)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.LessOrEqual(t, time.Since(began), mostUnanswered*requestTimeout)
				time.Sleep(again)
			}
			require.Len(t, asked, n)
			for name, times := range asked {
				require.Greater(t, times, 1, name)
			}
		})
	}
}

// TestExistingObject: the watch may lag behind a write. Only an object that stays invisible is reported.
func TestExistingObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := newWriter()
		changes := []Change{ToCreate(infos, info("a", ""))}
		for i := range 6 {
			again, err := w.Write(t.Context(), changes)
			require.Equal(t, i > quietly, err != nil, "%d: %v", i, err)
			require.Equal(t, i > 0, again > 0)
			time.Sleep(again)
		}
	})
}

// TestUnknownFields: an API that would drop fields of a strict object refuses it. It may drop the fields of other objects.
func TestUnknownFields(t *testing.T) {
	for _, strict := range []bool{true, false} {
		w, client := newWriter()
		client.PrependReactor("*", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
			var asked string
			switch a := action.(type) {
			case clienttesting.CreateActionImpl:
				asked = a.CreateOptions.FieldValidation
			case clienttesting.PatchActionImpl:
				asked = a.PatchOptions.FieldValidation
			}
			if asked == metav1.FieldValidationStrict {
				return true, nil, apierrors.NewBadRequest(`strict decoding error: unknown field "spec.new"`)
			}
			return true, &unstructured.Unstructured{}, nil
		})
		kind := infos
		kind.Strict = strict
		changes := append(ToUpdate(kind, info("a", "10.96.0.0/12"), info("a", "10.100.0.0/16")), ToCreate(kind, info("b", "")))
		_, err := w.Write(t.Context(), changes)
		if !strict {
			require.NoError(t, err)
			continue
		}
		require.Error(t, err)
		require.Len(t, w.Refused(kind), 2)
		require.Contains(t, w.Refused(kind)["a"], "unknown field")
	}
}

// TestOutdatedChange: a change of an object that has changed or is gone is not made again.
func TestOutdatedChange(t *testing.T) {
	w, _ := newWriter()
	again, err := w.Write(t.Context(), []Change{ToDelete(infos, info("gone", ""))})
	require.NoError(t, err)
	require.Zero(t, again)
}

// TestRoundEnds: a round of many changes ends after a while, and the next one, which may have others before them, makes the rest.
func TestRoundEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, client := newWriter()
		client.PrependReactor("create", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
			time.Sleep(10 * time.Millisecond)
			return false, nil, nil
		})
		var changes []Change
		for i := range 150 {
			changes = append(changes, ToCreate(infos, info(fmt.Sprint("i", i), "")))
		}
		made := func() int {
			all, err := client.Resource(v1alpha1.ClusterInfoImports).Namespace("kube-system").List(t.Context(), metav1.ListOptions{})
			require.NoError(t, err)
			return len(all.Items)
		}
		began := time.Now()
		again, err := w.Write(t.Context(), changes)
		require.NoError(t, err)
		require.Equal(t, time.Millisecond, again)
		require.LessOrEqual(t, time.Since(began), roundTime+10*time.Millisecond)
		first := made()
		require.Less(t, first, len(changes))
		again, err = w.Write(t.Context(), changes[first:])
		require.NoError(t, err)
		require.Zero(t, again)
		require.Equal(t, len(changes), made())
	})
}
