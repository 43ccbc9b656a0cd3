// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cniserver

import (
	"context"
	"errors"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
)

func podLister(t *testing.T, pods ...*corev1.Pod) corelisters.PodLister {
	t.Helper()
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	for _, p := range pods {
		require.NoError(t, indexer.Add(p))
	}
	return corelisters.NewPodLister(indexer)
}

func apiPod(name, node string, ips ...string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "test", Name: name}, Spec: corev1.PodSpec{NodeName: node}}
	for _, ip := range ips {
		p.Status.PodIPs = append(p.Status.PodIPs, corev1.PodIP{IP: ip})
	}
	return p
}

func synced() bool { return true }

// restart replaces the server by one that knows only the state in OVSDB, kernel and host-local.
func (h *harness) restart() {
	h.t.Helper()
	h.server.stop()
	h.server.background.Wait()
	ports, err := h.ports.ListPorts()
	require.NoError(h.t, err)
	var interfaces []*interfacestore.InterfaceConfig
	for _, port := range ports {
		c, err := InterfaceFromPort(&port)
		require.NoError(h.t, err)
		interfaces = append(interfaces, c)
	}
	h.store = interfacestore.NewInterfaceStore()
	h.store.Initialize(interfaces)
	h.flows.set(func(f *fakeFlows) { f.flows = map[string]podFlow{} })
	h.ready = make(chan struct{})
	h.server, err = New(h.server.cfg, h.ports, h.flows, h.store, h.ready)
	require.NoError(h.t, err)
}

func (h *harness) lease(ip, owner string) {
	h.t.Helper()
	require.NoError(h.t, os.WriteFile(filepath.Join(h.leases, ip), []byte(owner+"\r\neth0"), 0o600))
}

func (h *harness) leasedIPs() []string {
	return slices.Sorted(maps.Keys(h.leaseOwners()))
}

func TestReconcile(t *testing.T) {
	h := newReadyHarness(t)
	var pods []*pod
	for _, name := range []string{"kept", "vanished", "moved", "hostnet", "dead"} {
		p := h.newPod(name)
		h.mustAdd(p)
		pods = append(pods, p)
	}
	kept, vanished, moved, hostnet, dead := pods[0], pods[1], pods[2], pods[3], pods[4]
	flowsBefore := h.flows.all()
	h.restart()
	require.NoError(t, deleteHostLink(dead.hostInterface()))
	h.lease("10.10.1.100", "in-a-pod-status")
	h.lease("10.10.1.101", "nobody")
	h.lease("10.10.1.102", "pod-of-another-node")
	onHostNetwork := apiPod("hostnet", testNodeName, "10.10.1.101")
	onHostNetwork.Spec.HostNetwork = true

	require.NoError(t, h.server.Reconcile(t.Context(), podLister(t,
		apiPod("kept", testNodeName), apiPod("dead", testNodeName, "10.10.1.6"), apiPod("starting", testNodeName, "10.10.1.100"),
		apiPod("moved", "node-b", "10.10.1.102"), onHostNetwork), synced))

	for _, p := range []*pod{vanished, moved, hostnet} {
		h.requireNothing(p)
	}
	name := kept.hostInterface()
	require.Equal(t, map[string]podFlow{name: flowsBefore[name]}, h.flows.all())
	require.Len(t, h.store.ListInterfaces(), 1)
	require.Equal(t, []string{"10.10.1.100", "10.10.1.2", "10.10.1.6"}, h.leasedIPs(),
		"kept: the addresses of the interface, of the status, and of the Pod whose interface does not work")
	require.FileExists(t, filepath.Join(h.leases, "last_reserved_ip.0"))

	// The runtime's DEL of the broken one releases its address; the survivor keeps working.
	close(h.ready)
	h.mustDel(dead)
	h.requireNothing(dead)
	h.mustDel(kept)
	h.requireNothing(kept)
}

func TestReconcileRemovesPortThatOVSCannotUse(t *testing.T) {
	h := newReadyHarness(t)
	p := h.newPod("web")
	h.mustAdd(p)
	h.restart()
	h.ports.PortErrors = map[string]string{p.hostInterface(): "no such device"}
	// GetPort of a port in error has no number.
	require.NoError(t, h.ports.Fake.DeletePort(p.hostInterface()))
	_, err := h.ports.Fake.CreatePort(p.hostInterface(), map[string]string{"container-id": p.containerID})
	require.NoError(t, err)
	require.NoError(t, h.server.Reconcile(t.Context(), podLister(t, apiPod("web", testNodeName, "10.10.1.2")), synced))
	requireNoLink(t, p.hostInterface())
	require.Empty(t, h.store.ListInterfaces())
	require.Empty(t, h.flows.all())
	require.Equal(t, []string{"10.10.1.2"}, h.leasedIPs())
}

func TestReconcileUpdatesOFPort(t *testing.T) {
	h := newReadyHarness(t)
	p := h.newPod("web")
	h.mustAdd(p)
	h.restart()
	port, _, err := h.ports.Fake.GetPort(p.hostInterface())
	require.NoError(t, err)
	require.NoError(t, h.ports.Fake.DeletePort(p.hostInterface()))
	_, err = h.ports.Fake.CreatePort(p.hostInterface(), port.ExternalIDs)
	require.NoError(t, err)
	require.NoError(t, h.server.Reconcile(t.Context(), podLister(t, apiPod("web", testNodeName)), synced))
	c, found := h.store.GetInterfaceByOFPort(2)
	require.True(t, found)
	require.Equal(t, port.UUID, c.PortUUID)
	require.Equal(t, uint32(2), h.flows.all()[p.hostInterface()].OFPort)
	require.Equal(t, uint32(2), h.ports.OFPortRequest(p.hostInterface()))
}

func TestReconcileErrors(t *testing.T) {
	boom := errors.New("boom")
	setUp := func(t *testing.T) (*harness, *pod, *pod) {
		h := newReadyHarness(t)
		kept, vanished := h.newPod("kept"), h.newPod("vanished")
		h.mustAdd(kept)
		h.mustAdd(vanished)
		h.restart()
		return h, kept, vanished
	}
	t.Run("flows fail, the second call repairs", func(t *testing.T) {
		h, kept, vanished := setUp(t)
		h.flows.set(func(f *fakeFlows) { f.installErr = boom })
		lister := podLister(t, apiPod("kept", testNodeName))
		err := h.server.Reconcile(t.Context(), lister, synced)
		require.ErrorIs(t, err, boom)
		require.ErrorContains(t, err, "Pod test/kept")
		h.requireNothing(vanished)
		require.Equal(t, []string{"10.10.1.2"}, h.leasedIPs(), "an address in the store is kept")
		h.flows.set(func(f *fakeFlows) { f.installErr = nil })
		require.NoError(t, h.server.Reconcile(t.Context(), lister, synced))
		require.Contains(t, h.flows.all(), kept.hostInterface())
	})
	t.Run("removing fails, the address stays", func(t *testing.T) {
		h, _, vanished := setUp(t)
		h.ports.fail("DeletePort", boom)
		err := h.server.Reconcile(t.Context(), podLister(t, apiPod("kept", testNodeName)), synced)
		require.ErrorIs(t, err, boom)
		require.Len(t, h.leasedIPs(), 2)
		h.ports.fail("DeletePort", nil)
		require.NoError(t, h.server.Reconcile(t.Context(), podLister(t, apiPod("kept", testNodeName)), synced))
		h.requireNothing(vanished)
	})
	t.Run("OVSDB contradicts itself, nothing is removed", func(t *testing.T) {
		h, _, _ := setUp(t)
		h.ports.fail("GetOFPort", boom)
		err := h.server.Reconcile(t.Context(), podLister(t, apiPod("kept", testNodeName), apiPod("vanished", testNodeName)), synced)
		require.ErrorIs(t, err, boom)
		require.Len(t, h.store.ListInterfaces(), 2)
	})
	t.Run("OVSDB does not answer, nothing is removed", func(t *testing.T) {
		h, kept, _ := setUp(t)
		h.ports.fail("GetOFPort", boom)
		h.ports.fail("GetPort", boom)
		err := h.server.Reconcile(t.Context(), podLister(t, apiPod("kept", testNodeName), apiPod("vanished", testNodeName)), synced)
		require.ErrorIs(t, err, boom)
		require.Len(t, h.store.ListInterfaces(), 2)
		_, found := h.store.GetInterfaceByName(kept.hostInterface())
		require.True(t, found)
	})
	t.Run("Pods are not known yet", func(t *testing.T) {
		h, _, _ := setUp(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err := h.server.Reconcile(ctx, podLister(t), func() bool { return false })
		require.ErrorIs(t, err, context.Canceled)
		require.Len(t, h.store.ListInterfaces(), 2)
	})
	t.Run("too late", func(t *testing.T) {
		h, _, _ := setUp(t)
		close(h.ready)
		err := h.server.Reconcile(t.Context(), podLister(t), synced)
		require.ErrorContains(t, err, "ready already")
		require.Len(t, h.store.ListInterfaces(), 2)
	})
}

func TestReconcileOfANewNode(t *testing.T) {
	h := newHarness(t)
	require.NoError(t, h.server.Reconcile(t.Context(), podLister(t), synced))
	require.NoDirExists(t, h.leases)
}

func TestReconcileOfDualStackLeases(t *testing.T) {
	h := newReadyHarness(t, func(c *Config) { c.Node.PodIPv6CIDR = netip.MustParsePrefix("fd00:10:1::/64") })
	p := h.newPod("web")
	h.mustAdd(p)
	h.restart()
	h.lease("fd00:10:1::99", "nobody")
	require.NoError(t, h.server.Reconcile(t.Context(), podLister(t, apiPod("web", testNodeName)), synced))
	require.Equal(t, []string{"10.10.1.2", "fd00:10:1::2"}, h.leasedIPs())
}
