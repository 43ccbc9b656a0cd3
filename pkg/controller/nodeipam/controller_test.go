// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package nodeipam

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	kubetesting "k8s.io/client-go/testing"
)

func object(name string, age int, networks ...string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), CreationTimestamp: metav1.NewTime(time.Unix(int64(1000-age), 0))}}
	if len(networks) > 0 {
		n.Spec.PodCIDR, n.Spec.PodCIDRs = networks[0], networks
	}
	return n
}

// podCIDRs returns the networks of all Nodes.
func podCIDRs(t *testing.T, kube *fake.Clientset) map[string][]string {
	t.Helper()
	list, err := kube.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	all := map[string][]string{}
	for _, n := range list.Items {
		if len(n.Spec.PodCIDRs) > 0 {
			require.Equal(t, n.Spec.PodCIDR, n.Spec.PodCIDRs[0])
		}
		all[n.Name] = n.Spec.PodCIDRs
	}
	return all
}

// start runs a controller with a network for two Nodes.
func start(t *testing.T, kube *fake.Clientset, serving func() error) *Controller {
	t.Helper()
	c, err := New(kube, Config{Cluster: prefixes("10.10.0.0/23"), Bits4: 24}, serving)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { c.Run(ctx); close(ended) }()
	t.Cleanup(func() { cancel(); <-ended })
	return c
}

func TestController(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kube := fake.NewClientset(object("young", 1), object("old", 9), object("third", 0))
		var standby atomic.Bool
		standby.Store(true)
		start(t, kube, func() error {
			if standby.Load() {
				return errors.New("another one serves")
			}
			return nil
		})
		time.Sleep(time.Minute)
		require.Empty(t, podCIDRs(t, kube)["old"], "it does not serve")
		standby.Store(false)
		time.Sleep(settleTime - time.Second)
		require.Empty(t, podCIDRs(t, kube)["old"], "the former controller may still write")
		time.Sleep(3 * time.Second)
		require.Equal(t, map[string][]string{"old": {"10.10.0.0/24"}, "young": {"10.10.1.0/24"}, "third": nil}, podCIDRs(t, kube))

		time.Sleep(3 * checkInterval)
		list, err := kube.EventsV1().Events(metav1.NamespaceDefault).List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		require.Len(t, list.Items, 1, "one Event for each Node")
		require.Equal(t, "third", list.Items[0].Regarding.Name)
		require.Equal(t, "No Pod network for this Node: all 2 networks /24 of 10.10.0.0/23 are in use; enlarge nodeIPAM.clusterCIDRs, or delete Nodes", list.Items[0].Note)

		require.NoError(t, kube.CoreV1().Nodes().Delete(t.Context(), "old", metav1.DeleteOptions{}))
		time.Sleep(gatherTime + time.Second)
		require.Equal(t, map[string][]string{"young": {"10.10.1.0/24"}, "third": {"10.10.0.0/24"}}, podCIDRs(t, kube))
	})
}

// TestRefusedWrites: the request names the Node's UID, and what the API refuses is tried again with what the Nodes then have.
func TestRefusedWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kube := fake.NewClientset(object("a", 2), object("b", 1))
		var patches []string
		kube.PrependReactor("patch", "nodes", func(action kubetesting.Action) (bool, runtime.Object, error) {
			p := action.(kubetesting.PatchAction)
			patches = append(patches, fmt.Sprint(p.GetName(), " ", string(p.GetPatch())))
			if len(patches) > 1 {
				return false, nil, nil
			}
			// Another allocator was faster.
			require.NoError(t, kube.Tracker().Update(corev1.SchemeGroupVersion.WithResource("nodes"), object("a", 2, "10.10.1.0/24"), ""))
			return true, nil, errors.New("podCIDRs may not be changed")
		})
		start(t, kube, func() error { return nil })
		time.Sleep(settleTime + 10*time.Second)
		synctest.Wait()
		require.Equal(t, `a {"metadata":{"uid":"uid-a"},"spec":{"podCIDR":"10.10.0.0/24","podCIDRs":["10.10.0.0/24"]}}`, patches[0])
		got := podCIDRs(t, kube)
		require.Equal(t, []string{"10.10.1.0/24"}, got["a"])
		require.Equal(t, []string{"10.10.0.0/24"}, got["b"], "not the network that a has")
	})
}

// TestOneNodeRefused: it does not keep others from their networks.
func TestOneNodeRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kube := fake.NewClientset(object("a", 2), object("b", 1))
		kube.PrependReactor("patch", "nodes", func(action kubetesting.Action) (bool, runtime.Object, error) {
			return action.(kubetesting.PatchAction).GetName() == "a", nil, errors.New("a webhook refuses this")
		})
		start(t, kube, func() error { return nil })
		time.Sleep(settleTime + 10*time.Second)
		synctest.Wait()
		require.Empty(t, podCIDRs(t, kube)["a"])
		require.NotEmpty(t, podCIDRs(t, kube)["b"])
	})
}

// TestManyNodesJoin: they do not cost a list each, and what was known about Nodes that are gone is forgotten.
func TestManyNodesJoin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kube := fake.NewClientset()
		lists := 0
		c := start(t, kube, func() error { return nil })
		time.Sleep(settleTime + 2*time.Second)
		synctest.Wait()
		kube.PrependReactor("list", "nodes", func(kubetesting.Action) (bool, runtime.Object, error) { lists++; return false, nil, nil })
		for i := range 20 {
			_, err := kube.CoreV1().Nodes().Create(t.Context(), object(fmt.Sprint("node-", i), i), metav1.CreateOptions{})
			require.NoError(t, err)
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(2 * gatherTime)
		synctest.Wait()
		require.Equal(t, 1, lists)
		require.Len(t, c.refused, 18)
		c.failed["gone"] = true
		c.forget([]node{{uid: "uid-node-0"}})
		require.Equal(t, []int{1, 0}, []int{len(c.refused), len(c.failed)})
	})
}

// TestListFromBefore: what a list shows that another controller may have outdated is not used.
func TestListFromBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kube := fake.NewClientset(object("a", 1))
		var lost atomic.Bool
		c := start(t, kube, func() error {
			if lost.Load() {
				return errors.New("another one serves")
			}
			return nil
		})
		time.Sleep(time.Second)
		synctest.Wait()
		kube.PrependReactor("list", "nodes", func(kubetesting.Action) (bool, runtime.Object, error) {
			lost.Store(true)
			time.Sleep(2 * time.Second)
			lost.Store(false)
			return false, nil, nil
		})
		_, err := c.list(t.Context())
		require.ErrorIs(t, err, context.Canceled)
	})
}

// TestOverlapReported: once, about the younger Node.
func TestOverlapReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kube := fake.NewClientset(object("young", 1, "10.10.0.0/24"), object("old", 9, "10.10.0.0/24"), object("new", 0))
		start(t, kube, func() error { return nil })
		time.Sleep(settleTime + 5*time.Second)
		synctest.Wait()
		require.NoError(t, kube.CoreV1().Nodes().Delete(t.Context(), "new", metav1.DeleteOptions{}))
		for i := range 3 {
			_, err := kube.CoreV1().Nodes().Create(t.Context(), object(fmt.Sprint("new-", i), 0), metav1.CreateOptions{})
			require.NoError(t, err)
			time.Sleep(5 * time.Second)
		}
		list, err := kube.EventsV1().Events(metav1.NamespaceDefault).List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		var notes []string
		for _, e := range list.Items {
			if e.Reason == overlaps {
				require.Nil(t, e.Series, "sent again")
				notes = append(notes, e.Regarding.Name+": "+e.Note)
			}
		}
		require.Equal(t, []string{"young: Node old also has addresses of the Pod network 10.10.0.0/24: does kube-controller-manager allocate as well " +
			"(--allocate-node-cidrs)? Delete this Node, and let it join again"}, notes)
	})
}
