// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/commonarea"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
)

// toldLeader is an API with a ResourceImport for each name, and the Events that a member makes there.
type toldLeader struct {
	t    *testing.T
	area *commonarea.Area
	// refuse says why the API refuses an Event about a ResourceImport; asked are the names of all requests.
	refuse func(name string) error
	asked  []string
	said   []string
}

// newToldLeader is called in a bubble of synctest.
func newToldLeader(t *testing.T, names ...string) *toldLeader {
	var objects []runtime.Object
	for _, name := range names {
		object := crd.NewOf(v1alpha1.SchemeGroupVersion.WithKind(v1alpha1.ResourceImportKind), area, name)
		object.SetUID("uid-1")
		objects = append(objects, object)
	}
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		v1alpha1.ResourceImports: "ResourceImportList", v1alpha1.ResourceExports: "ResourceExportList",
	}, objects...)
	l := &toldLeader{t: t, refuse: func(string) error { return nil }}
	client.PrependReactor("create", "events", func(action clienttesting.Action) (bool, runtime.Object, error) {
		event, err := crd.Read[corev1.Event](action.(clienttesting.CreateAction).GetObject().(*unstructured.Unstructured))
		require.NoError(t, err)
		require.Equal(t, area, action.GetNamespace())
		l.asked = append(l.asked, event.InvolvedObject.Name)
		if err := l.refuse(event.InvolvedObject.Name); err != nil {
			return true, nil, err
		}
		l.said = append(l.said, event.InvolvedObject.Name+": "+event.Message)
		return true, &unstructured.Unstructured{}, nil
	})
	var err error
	l.area, err = commonarea.NewFor(commonarea.Membership{ClusterID: "west", Namespace: area}, client, "uid", func() {})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); l.area.Imports.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	for l.area.Imports.Synced() != nil {
		time.Sleep(time.Millisecond)
	}
	return l
}

// requests returns the names of the requests since the last call.
func (l *toldLeader) requests() []string {
	asked := l.asked
	l.asked = nil
	return asked
}

func forbidden(string) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: "events"}, "", errors.New("quota"))
}

// TestTell: each message is said once, ten in a round, about ResourceImports that exist.
func TestTell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var names []string
		failures := map[string]string{"gone": "x"}
		for i := range mostEvents + 2 {
			names = append(names, fmt.Sprintf("a%02d", i))
			failures[names[i]] = "no Tier"
		}
		l, teller := newToldLeader(t, names...), newTeller()
		require.NoError(t, teller.tell(t.Context(), l.area, failures))
		require.Equal(t, names[:mostEvents], l.requests())
		require.Equal(t, "a00: no Tier in importing cluster west", l.said[0])
		require.NoError(t, teller.tell(t.Context(), l.area, failures))
		require.Equal(t, names[mostEvents:], l.requests())
		require.NoError(t, teller.tell(t.Context(), l.area, failures))
		require.Empty(t, l.requests(), "all is said")

		failures[names[3]] = "no ClusterGroup"
		require.NoError(t, teller.tell(t.Context(), l.area, failures))
		require.Equal(t, names[3:4], l.requests())
		require.Equal(t, "a03: no ClusterGroup in importing cluster west", l.said[len(l.said)-1])
		delete(failures, names[3])
		require.NoError(t, teller.tell(t.Context(), l.area, failures))
		failures[names[3]] = "no ClusterGroup"
		require.NoError(t, teller.tell(t.Context(), l.area, failures))
		require.Equal(t, names[3:4], l.requests(), "it has failed again")
	})
}

// TestTellRefused: an Event that the leader refuses keeps no others back, and is tried again ever more rarely.
func TestTellRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, teller := newToldLeader(t, "a", "b", "c"), newTeller()
		failures := map[string]string{"a": "x", "b": "x", "c": "x"}
		l.refuse = func(name string) error {
			if name == "b" {
				return nil
			}
			return forbidden(name)
		}
		err := teller.tell(t.Context(), l.area, failures)
		require.ErrorContains(t, err, "making an Event about ResourceImport a: ")
		require.ErrorContains(t, err, "making an Event about ResourceImport c: ")
		require.Equal(t, []string{"a", "b", "c"}, l.requests())
		require.Equal(t, err, teller.tell(t.Context(), l.area, failures), "it still holds")
		require.Empty(t, l.requests())

		rounds := 0
		for began := time.Now(); time.Since(began) < 10*time.Minute; time.Sleep(100 * time.Millisecond) {
			require.Error(t, teller.tell(t.Context(), l.area, failures))
			if asked := l.requests(); len(asked) > 0 {
				require.ElementsMatch(t, []string{"a", "c"}, asked)
				rounds++
			}
		}
		require.Greater(t, rounds, 10)
		require.Less(t, rounds, 30)

		l.refuse = func(string) error { return nil }
		time.Sleep(eventBackoff.Max)
		require.NoError(t, teller.tell(t.Context(), l.area, failures))
		require.ElementsMatch(t, []string{"a", "c"}, l.requests())
		l.refuse, failures["a"] = forbidden, "y"
		require.Error(t, teller.tell(t.Context(), l.area, failures))
		time.Sleep(eventBackoff.Min)
		l.requests()
		require.Error(t, teller.tell(t.Context(), l.area, failures))
		require.Len(t, l.requests(), 1, "delays begin with the shortest")
	})
}

// TestTellInTurn: refused Events do not keep back the ones for which a round has no room, and a leader without an answer ends a round.
func TestTellInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var names []string
		failures := map[string]string{}
		for i := range 2 * mostEvents {
			names = append(names, fmt.Sprintf("a%02d", i))
			failures[names[i]] = "x"
		}
		l, teller := newToldLeader(t, names...), newTeller()
		l.refuse = forbidden
		for range 2 {
			require.Error(t, teller.tell(t.Context(), l.area, failures))
			time.Sleep(eventBackoff.Max)
		}
		require.Equal(t, names, l.requests())
		l.refuse = func(string) error {
			return &url.Error{Op: "Post", URL: "https://leader", Err: &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}}
		}
		require.ErrorIs(t, teller.tell(t.Context(), l.area, failures), syscall.ECONNREFUSED)
		require.Len(t, l.requests(), 1)
	})
}

func TestPolicyEvent(t *testing.T) {
	now := metav1.NewTime(time.Unix(1, 2))
	r := &v1alpha1.ResourceImport{ObjectMeta: metav1.ObjectMeta{Namespace: area, Name: "x-antreaclusternetworkpolicy", UID: "uid-1"}}
	e := policyEvent(r, "west", "ACNP Tier own does not exist", now)
	require.Equal(t, "ACNP Tier own does not exist in importing cluster west", e.Message)
	require.Equal(t, []string{"Warning", "ACNPImportFailed", "resourceimport-controller", area}, []string{e.Type, e.Reason, e.ReportingController, e.Namespace})
	require.Equal(t, corev1.ObjectReference{
		APIVersion: "multicluster.crd.antrea.io/v1alpha1", Kind: "ResourceImport", Namespace: area, Name: "x-antreaclusternetworkpolicy", UID: "uid-1",
	}, e.InvolvedObject)
	require.Equal(t, "x-antreaclusternetworkpolicy.3b9aca02", e.Name)
}
