// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
	"github.com/antrea-oncache/antrea/test/tools/cost"
)

// The limits for the cost of one Pod's change, from the event to the bytes for the affected Nodes, in a group of
// cost.Members.
const (
	maxChangeCost      = 10 * time.Millisecond
	maxChangeAllocated = 1 << 20
)

// costStore has cost.Members Pods. All are in the AddressGroup of ten policies, on 100 Nodes. It applies these policies to
// one Pod on each of ten Nodes. costStore returns a function that encodes the events of their watches.
func costStore(t *testing.T) (store *Store, deliver func() (events int)) {
	store = NewStore()
	apply := func(event func(*core) ([]change, error)) { require.NoError(t, store.apply(event)) }
	apply(func(c *core) ([]change, error) { return c.SetNamespace(makeNamespace("ns", "")), nil })
	for i := range cost.Members {
		pod := costPod(fmt.Sprint("p", i), fmt.Sprintf("10.%d.%d.%d", 1+i>>16, i>>8&255, i&255), fmt.Sprint("node", i%100))
		if i < 10 {
			pod.Labels["app"] = "web"
		}
		apply(func(c *core) ([]change, error) { return c.SetPod(pod), nil })
	}
	for i := range 10 {
		policy := makePolicy(t, fmt.Sprint("ns/np", i), "{podSelector: {matchLabels: {app: web}}, ingress: [{from: [{podSelector: {}}]}]}")
		apply(func(c *core) ([]change, error) { return c.SetNetworkPolicy(policy) })
	}
	var watchers []*watcher
	for node := range 10 {
		for resource := range resources {
			w, _ := store.subscribe(resource, Selection{Node: fmt.Sprint("node", node)}, endOfInitial)
			watchers = append(watchers, w)
		}
	}
	scheme := apiruntime.NewScheme()
	require.NoError(t, controlplane.AddToScheme(scheme))
	require.NoError(t, v1beta2.AddToScheme(scheme))
	encoder := serializer.NewCodecFactory(scheme).LegacyCodec(v1beta2.SchemeGroupVersion)
	var bytes atomic.Int64
	return store, func() (events int) {
		for _, w := range watchers {
			for _, event := range w.drain() {
				require.NoError(t, encoder.Encode(event.Object, countingWriter{&bytes}))
				events++
			}
		}
		return events
	}
}

func costPod(name, ip, node string) *corev1.Pod {
	return makePod("ns/"+name, "tier=client", node, ip)
}

// The cost of a Pod's change depends on the number of Nodes that are told, not on the number of members in the groups.
func TestCostOfOneMember(t *testing.T) {
	store, deliver := costStore(t)
	set := func(pod *corev1.Pod) {
		require.NoError(t, store.apply(func(c *core) ([]change, error) { return c.SetPod(pod), nil }))
	}
	for _, tc := range []struct {
		name   string
		change func(i int)
	}{
		{"a Pod comes and goes", func(i int) {
			pod := costPod("new", "10.9.9.9", "node55")
			if i%2 == 1 {
				pod.Status.Phase = corev1.PodSucceeded
			}
			set(pod)
		}},
		{"a Pod gets another address", func(i int) { set(costPod("p50", fmt.Sprint("10.9.8.", i), "node50")) }},
		{"a Pod gets labels that no other has", func(i int) {
			pod := costPod("p51", fmt.Sprint("10.9.7.", i), "node51")
			pod.Labels["version"] = fmt.Sprint(i)
			set(pod)
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cpu, allocated := cost.Cheapest(t, 6, func(i int) {
				tc.change(i)
				require.Equal(t, 10, deliver(), "one event for each Node concerned")
			})
			t.Logf("one member of %d: %v of processor time, %d bytes allocated", cost.Members, cpu, allocated)
			require.Less(t, cpu, cost.Factor*maxChangeCost)
			require.Less(t, allocated, uint64(maxChangeAllocated))
		})
	}
}
