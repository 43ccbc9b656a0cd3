// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package tiers

import (
	"errors"
	"maps"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
)

var wanted = map[string]int64{"emergency": 50, "securityops": 100, "networkops": 150, "platform": 200, "application": 250, "baseline": 253}

// TestDefaultTiers: they are created as soon as this controller serves and the API takes them, corrected, and created
// again; other tiers, labels and descriptions stay.
func TestDefaultTiers(t *testing.T) {
	backoff.Min = time.Millisecond
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{crd.Tiers: "TierList"})
	tiers := client.Resource(crd.Tiers)
	write := func(name string, priority int32) {
		object := crd.New(v1beta1.TierKind, name)
		require.NoError(t, crd.Fill(object, &v1beta1.Tier{Spec: v1beta1.TierSpec{Priority: priority, Description: "theirs"}}))
		object.SetLabels(map[string]string{"a": "b"})
		_, err := tiers.Create(t.Context(), object, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	write("own", 7)
	write("platform", 199)
	write("emergency", 50)
	refusals := atomic.Int32{}
	client.PrependReactor("create", "tiers", func(clienttesting.Action) (bool, runtime.Object, error) {
		return refusals.Add(1) <= 10, nil, errors.New("no webhook yet")
	})
	var serving atomic.Bool
	var asked atomic.Int32
	informer, err := crd.Informer(client, crd.Tiers)
	require.NoError(t, err)
	c, err := New(client, informer, func() error {
		asked.Add(1)
		if serving.Load() {
			return nil
		}
		return errors.New("another controller serves")
	})
	require.NoError(t, err)
	done := make(chan struct{}, 2)
	go func() { informer.Run(t.Context().Done()); done <- struct{}{} }()
	go func() { c.Run(t.Context()); done <- struct{}{} }()
	t.Cleanup(func() { <-done; <-done })

	priorities := func() map[string]int64 {
		list, err := tiers.List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		all := map[string]int64{}
		for _, tier := range list.Items {
			all[tier.GetName()], _, _ = unstructured.NestedInt64(tier.Object, "spec", "priority")
		}
		return all
	}
	require.Eventually(t, func() bool { return asked.Load() > 3 }, 10*time.Second, time.Millisecond)
	require.Len(t, priorities(), 3, "another controller serves")
	serving.Store(true)
	withOwn := maps.Clone(wanted)
	withOwn["own"] = 7
	holds := func() bool { return maps.Equal(priorities(), withOwn) }
	require.Eventually(t, holds, 10*time.Second, time.Millisecond)
	require.Greater(t, refusals.Load(), int32(10))
	platform, err := tiers.Get(t.Context(), "platform", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"a": "b"}, platform.GetLabels())
	emergency, err := tiers.Get(t.Context(), "emergency", metav1.GetOptions{})
	require.NoError(t, err)
	description, _, _ := unstructured.NestedString(emergency.Object, "spec", "description")
	require.Equal(t, "theirs", description)

	require.NoError(t, unstructured.SetNestedField(platform.Object, int64(3), "spec", "priority"))
	_, err = tiers.Update(t.Context(), platform, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.NoError(t, tiers.Delete(t.Context(), "baseline", metav1.DeleteOptions{}))
	require.Eventually(t, holds, 10*time.Second, time.Millisecond)
}
