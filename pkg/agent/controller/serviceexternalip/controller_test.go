// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package serviceexternalip

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/antrea-oncache/antrea/pkg/agent/apis"
	"github.com/antrea-oncache/antrea/pkg/agent/dependency/occupied"
	"github.com/antrea-oncache/antrea/pkg/agent/memberlist"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
)

// changing are members that a test changes.
type changing struct {
	mu      sync.Mutex
	now     *memberlist.Snapshot
	seen    *memberlist.Snapshot
	changed func()
}

func (c *changing) Snapshot() *memberlist.Snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen = c.now
	return c.now
}

func (c *changing) Subscribe(changed func()) { c.changed = changed }

// set waits until the Controller has asked for the new members: it decides before it asks again.
func (c *changing) set(t *testing.T, now *memberlist.Snapshot) {
	t.Helper()
	c.mu.Lock()
	c.now = now
	c.mu.Unlock()
	c.changed()
	require.Eventually(t, func() bool { c.mu.Lock(); defer c.mu.Unlock(); return c.seen == now }, 30*time.Second, time.Millisecond)
}

// network records what would be announced and answered.
type network struct {
	mu        sync.Mutex
	announced map[netip.Addr]int
	answered  sets.Set[netip.Addr]
}

func (n *network) Announce(a netip.Addr) { n.mu.Lock(); n.announced[a]++; n.mu.Unlock() }
func (n *network) Forget(netip.Addr)     {}
func (n *network) Run(ctx context.Context) {
	<-ctx.Done()
}

func (n *network) Watch(context.Context) {}

func (n *network) Set(addrs sets.Set[netip.Addr]) {
	n.mu.Lock()
	n.answered = addrs.Clone()
	n.mu.Unlock()
}

func (n *network) state() (answered, announced int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, count := range n.announced {
		announced += count
	}
	return len(n.answered), announced
}

// TestController: the Node answers for what is its own while it is, and announces it whenever another Node may have had it.
func TestController(t *testing.T) {
	client := fake.NewClientset(service("b", "p", "169.254.100.1", local, 1), service("a", "p", "169.254.100.2", cluster, 1), service("c", "", "169.254.100.3", cluster, 1),
		service("d", "p", "169.254.100.4", cluster, 1))
	factory := informers.NewSharedInformerFactory(client, 0)
	crds := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		crd.Egresses: "EgressList", crd.ExternalIPPools: "ExternalIPPoolList",
	})
	objects, err := crd.NewEgressObjects(crds)
	require.NoError(t, err)
	setPool := func(last string) {
		pool := crd.New(v1beta1.ExternalIPPoolKind, "p")
		require.NoError(t, crd.Fill(pool, &v1beta1.ExternalIPPool{Spec: v1beta1.ExternalIPPoolSpec{IPRanges: []v1beta1.IPRange{{Start: "169.254.100.1", End: last}}}}))
		_, err := crds.Resource(crd.ExternalIPPools).Create(t.Context(), pool, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	setPool("169.254.100.2")
	all := &changing{now: members("node-1", "node-2")}
	c, err := New(Config{
		NodeName: "node-1", Uplink: "none", Members: all, Services: factory.Core().V1().Services(), Endpoints: factory.Discovery().V1().EndpointSlices(),
		Pools: objects.ExternalIPPools, Occupied: occupied.New(), OccupiedSynced: func() bool { return true },
	})
	require.NoError(t, err)
	n := &network{announced: map[netip.Addr]int{}}
	c.announcer, c.responders = n, []responder{n, n}
	factory.Start(t.Context().Done())
	var running sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	running.Go(func() { objects.Run(ctx) })
	running.Go(func() { c.Run(ctx) })
	defer running.Wait()
	defer cancel()
	eventually := func(answered, announced int) {
		t.Helper()
		require.Eventually(t, func() bool { a, b := n.state(); return a == answered && b == announced }, 30*time.Second, time.Millisecond)
	}
	eventually(1, 1)
	list, err := c.Addresses()
	require.NoError(t, err)
	require.Equal(t, []apis.ServiceExternalIP{
		{ServiceName: "a", Namespace: "ns", ExternalIPPool: "p", ExternalIP: "169.254.100.2", AssignedNode: "node-1"},
		{ServiceName: "b", Namespace: "ns", ExternalIPPool: "p", ExternalIP: "169.254.100.1"},
		{ServiceName: "d", Namespace: "ns", ExternalIPPool: "p", ExternalIP: "169.254.100.4"},
	}, list, "the pool does not contain what d shows")

	_, err = client.DiscoveryV1().EndpointSlices("ns").Create(t.Context(), endpoints("b", ipv4, "node-1"), metav1.CreateOptions{})
	require.NoError(t, err)
	eventually(2, 2)
	all.set(t, members("node-1"))
	all.set(t, members("node-1", "node-2"))
	eventually(2, 4) // all again: the other may have had them while the network was divided
	all.set(t, &memberlist.Snapshot{Unknown: errors.New("no key")})
	require.NoError(t, client.DiscoveryV1().EndpointSlices("ns").Delete(t.Context(), "b-x", metav1.DeleteOptions{}))
	eventually(1, 4)
	all.set(t, members("node-1"))
	eventually(1, 5) // other Nodes may have taken the address before
	require.NoError(t, crds.Resource(crd.ExternalIPPools).Delete(t.Context(), "p", metav1.DeleteOptions{}))
	eventually(0, 5)
	setPool("169.254.100.4")
	eventually(2, 7)
	require.NoError(t, client.CoreV1().Services("ns").Delete(t.Context(), "a", metav1.DeleteOptions{}))
	eventually(1, 7)
}
