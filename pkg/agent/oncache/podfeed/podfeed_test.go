// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package podfeed

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache"
)

func feedInterface(name string) *interfacestore.InterfaceConfig {
	return &interfacestore.InterfaceConfig{
		Type: interfacestore.ContainerInterface, InterfaceName: name + "-if",
		OVSPortConfig:            &interfacestore.OVSPortConfig{OFPort: 5},
		ContainerInterfaceConfig: &interfacestore.ContainerInterfaceConfig{PodName: name, PodNamespace: "ns"},
	}
}

func feedPod(name string, annotations map[string]string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", Annotations: annotations}}
}

// TestPodFeed lists in which order things may come, and what ONCache is told.
func TestPodFeed(t *testing.T) {
	limited := map[string]string{"kubernetes.io/egress-bandwidth": "10M"}
	tests := []struct {
		name  string
		steps func(interfacestore.InterfaceStore, cache.ResourceEventHandler)
		want  []string
	}{
		{name: "interface without object: not shown yet", steps: func(s interfacestore.InterfaceStore, _ cache.ResourceEventHandler) {
			s.AddInterface(feedInterface("a"))
		}},
		{name: "object first", steps: func(s interfacestore.InterfaceStore, h cache.ResourceEventHandler) {
			h.OnAdd(feedPod("a", nil), false)
			s.AddInterface(feedInterface("a"))
		}, want: []string{"+a-if"}},
		{name: "interface first, as after a restart", steps: func(s interfacestore.InterfaceStore, h cache.ResourceEventHandler) {
			s.AddInterface(feedInterface("a"))
			h.OnAdd(feedPod("a", nil), true)
		}, want: []string{"+a-if"}},
		{name: "Pod deleted", steps: func(s interfacestore.InterfaceStore, h cache.ResourceEventHandler) {
			h.OnAdd(feedPod("a", nil), false)
			s.AddInterface(feedInterface("a"))
			s.DeleteInterface(feedInterface("a"))
			h.OnDelete(cache.DeletedFinalStateUnknown{Obj: feedPod("a", nil)})
			s.AddInterface(feedInterface("a")) // another Pod of that name, whose object has not been seen
		}, want: []string{"+a-if", "-a-if"}},
		{name: "limited bandwidth is never shown", steps: func(s interfacestore.InterfaceStore, h cache.ResourceEventHandler) {
			s.AddInterface(feedInterface("a"))
			h.OnAdd(feedPod("a", limited), false)
		}},
		{name: "limited in the other direction", steps: func(s interfacestore.InterfaceStore, h cache.ResourceEventHandler) {
			h.OnAdd(feedPod("a", map[string]string{"kubernetes.io/ingress-bandwidth": "10M"}), false)
			s.AddInterface(feedInterface("a"))
		}},
		{name: "limited later, then not any more", steps: func(s interfacestore.InterfaceStore, h cache.ResourceEventHandler) {
			h.OnAdd(feedPod("a", nil), false)
			s.AddInterface(feedInterface("a"))
			h.OnUpdate(feedPod("a", nil), feedPod("a", limited))
			h.OnUpdate(feedPod("a", limited), feedPod("a", limited))
			h.OnUpdate(feedPod("a", limited), feedPod("a", nil))
		}, want: []string{"+a-if", "-a-if", "+a-if"}},
		{name: "interface replaced", steps: func(s interfacestore.InterfaceStore, h cache.ResourceEventHandler) {
			h.OnAdd(feedPod("a", nil), false)
			s.AddInterface(feedInterface("a"))
			s.AddInterface(feedInterface("a"))
		}, want: []string{"+a-if", "-a-if", "+a-if"}},
		{name: "gateway", steps: func(s interfacestore.InterfaceStore, _ cache.ResourceEventHandler) {
			s.AddInterface(&interfacestore.InterfaceConfig{Type: interfacestore.GatewayInterface, InterfaceName: "antrea-gw0"})
		}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			store := interfacestore.NewInterfaceStore()
			feed := New(store)
			var got []string
			feed.Subscribe(func(added, removed *oncache.Pod) {
				if removed != nil {
					got = append(got, fmt.Sprint("-", removed.InterfaceName))
				}
				if added != nil {
					got = append(got, fmt.Sprint("+", added.InterfaceName))
				}
			})
			tc.steps(store, feed.Handler())
			require.Equal(t, tc.want, got)
			shown := 0
			for _, g := range got {
				if g[0] == '+' {
					shown++
				} else {
					shown--
				}
			}
			require.Len(t, feed.Pods(), shown)
		})
	}
}

// TestLimited counts Pods of this Node whose object has a bandwidth annotation.
func TestLimited(t *testing.T) {
	store := interfacestore.NewInterfaceStore()
	f := New(store)
	limited := map[string]string{"kubernetes.io/ingress-bandwidth": "10M"}
	for _, name := range []string{"limited", "free", "unseen"} {
		store.AddInterface(feedInterface(name))
	}
	f.Handler().OnAdd(feedPod("limited", limited), false)
	f.Handler().OnAdd(feedPod("free", nil), false)
	f.Handler().OnAdd(feedPod("elsewhere", limited), false)
	require.Equal(t, 1, f.Limited())
	f.Handler().OnUpdate(nil, feedPod("limited", nil))
	require.Equal(t, 0, f.Limited())
}
