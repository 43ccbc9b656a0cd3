// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/memberlist"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
)

// egressPool is an Egress with an address of a pool.
type egressPool struct {
	*suite
	// name is the name of the Egress and its pool, and the label of its Pods.
	name    string
	objects dynamic.Interface
	outside netip.AddrPort
	addr    netip.Addr
	// subnet is nil for the Nodes' subnet.
	subnet *v1beta1.SubnetInfo
}

// newEgressPool returns a pool with one address, which is not made yet.
func (s *suite) newEgressPool(t *testing.T, name string, addr netip.Addr) *egressPool {
	t.Helper()
	objects, err := dynamic.NewForConfig(s.Config)
	require.NoError(t, err)
	return &egressPool{suite: s, name: name, objects: objects, outside: s.askWhoOutside(t), addr: addr}
}

// testEgressFailover: an address of a pool has one Node; when that Node's agent is killed or ends, the other Node has it soon, and so have its
// Pods' connections; when the agent is back, one Node has the address.
func testEgressFailover(t *testing.T, s *suite) {
	s.label(t, s.client, map[string]string{"egress": "pool"})
	s.label(t, s.far, map[string]string{"egress": "pool"})
	defer s.label(t, s.client, nil)
	defer s.label(t, s.far, nil)
	e := s.newEgressPool(t, "pool", s.egressAddress(210))
	e.create(t)
	var kills, ends []time.Duration
	for i := range failovers(t) {
		owner, other, pod := e.settled(t)
		began := time.Now()
		require.NoError(t, owner.KillAgent())
		e.moved(t, other, pod)
		kills = append(kills, time.Since(began))
		t.Logf("failover %d: %s after the death of %s's agent", i, kills[i].Round(10*time.Millisecond), owner.Name)
		s.eventuallyAt(t, e.addr, other)
		e.back(t, owner)
		owner, other, pod = e.settled(t)
		began = time.Now()
		require.NoError(t, owner.StopAgent())
		e.moved(t, other, pod)
		ends = append(ends, time.Since(began))
		t.Logf("failover %d: %s after the end of %s's agent", i, ends[i].Round(10*time.Millisecond), owner.Name)
		require.False(t, e.has(t, owner), "an agent that ends gives the address up")
		s.eventuallyAt(t, e.addr, other)
		e.back(t, owner)
	}
	logTimes(t, "ends", ends)
	// A single failover can be late on an emulated machine; half of many cannot.
	if median := logTimes(t, "deaths", kills); os.Getenv(failoversVariable) != "" {
		require.LessOrEqual(t, median, failoverLimit, "the median of the failovers after a death")
	}
	e.settled(t)
	require.NoError(t, e.objects.Resource(crd.Egresses).Delete(t.Context(), "pool", metav1.DeleteOptions{}))
	require.Eventually(t, func() bool { return !e.has(t, s.node1) && !e.has(t, s.node2) }, 20*time.Second, 50*time.Millisecond, "no Node has the address")
	s.eventuallySeenAs(t, s.client.Space, e.outside, s.node1.IP)
}

// failoversVariable is the environment variable with the number of failovers.
const failoversVariable = "E2E_FAILOVERS"

// failoverLimit is for the time from the death of the owner's agent until a Pod is seen with the address of the other Node.
const failoverLimit = 3 * time.Second

// logTimes returns the median.
func logTimes(t *testing.T, causes string, times []time.Duration) time.Duration {
	t.Helper()
	slices.Sort(times)
	median, worst := times[len(times)/2], times[len(times)-1]
	t.Logf("failovers after %d %s: median %s, worst %s", len(times), causes, median.Round(10*time.Millisecond), worst.Round(10*time.Millisecond))
	return median
}

// failovers is the number of deaths, and of ends, of an owner's agent.
func failovers(t *testing.T) int {
	t.Helper()
	if text := os.Getenv(failoversVariable); text != "" {
		n, err := strconv.Atoi(text)
		require.NoError(t, err, failoversVariable)
		require.Positive(t, n, failoversVariable)
		return n
	}
	if all {
		return 10
	}
	return 1
}

// create makes the pool and the Egress, until the test ends.
func (e *egressPool) create(t *testing.T) {
	pool := crd.New(v1beta1.ExternalIPPoolKind, e.name)
	require.NoError(t, crd.Fill(pool, &v1beta1.ExternalIPPool{Spec: v1beta1.ExternalIPPoolSpec{
		IPRanges: []v1beta1.IPRange{{Start: e.addr.String(), End: e.addr.String()}}, SubnetInfo: e.subnet,
	}}))
	pool.Object["status"] = nil
	_, err := e.objects.Resource(crd.ExternalIPPools).Create(t.Context(), pool, metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = e.objects.Resource(crd.Egresses).Delete(context.Background(), e.name, metav1.DeleteOptions{})
		_ = e.objects.Resource(crd.ExternalIPPools).Delete(context.Background(), e.name, metav1.DeleteOptions{})
	})
	egress := crd.New(v1beta1.EgressKind, e.name)
	require.NoError(t, crd.Fill(egress, &v1beta1.Egress{Spec: v1beta1.EgressSpec{
		ExternalIPPool: e.name, AppliedTo: v1beta1.AppliedTo{PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"egress": e.name}}},
	}}))
	egress.Object["status"] = nil
	_, err = e.objects.Resource(crd.Egresses).Create(t.Context(), egress, metav1.CreateOptions{})
	require.NoError(t, err)
}

// status returns the Egress's status.
func (e *egressPool) status(t *testing.T) v1beta1.EgressStatus {
	shown, err := e.objects.Resource(crd.Egresses).Get(t.Context(), e.name, metav1.GetOptions{})
	require.NoError(t, err)
	egress, err := crd.Read[v1beta1.Egress](shown)
	require.NoError(t, err)
	return egress.Status
}

// has reports whether a Node has the address.
func (e *egressPool) has(t *testing.T, node *cluster.Node) bool {
	family := "inet"
	if e.addr.Is6() {
		family = "inet6"
	}
	place := fmt.Sprintf("%s    %s %s/%d", config.EgressDevice, family, e.addr, e.addr.BitLen())
	if e.subnet != nil {
		place = fmt.Sprintf("%s%d    inet %s/%d", config.EgressVLANPrefix, e.subnet.VLAN, e.addr, e.subnet.PrefixLength)
	}
	return strings.Contains(succeeds(t, node.Space, "ip", "-o", "address", "show"), place)
}

// settled waits until the Node that both agents choose has the address and the status says so, and Pods of both Nodes are seen with it: an agent that
// is back has joined the other agent. It returns the Nodes, and the other Node's Pod.
func (e *egressPool) settled(t *testing.T) (owner, other *cluster.Node, pod *cluster.Pod) {
	t.Helper()
	owner, other, pod = e.node1, e.node2, e.far
	ring := memberlist.NewRing([]string{owner.Name, other.Name})
	if chosen, _ := ring.Owner(e.addr.String(), func(string) bool { return true }); chosen == e.node2.Name {
		owner, other, pod = e.node2, e.node1, e.client
	}
	require.Eventually(t, func() bool {
		status := e.status(t)
		good := func(c v1beta1.EgressCondition) bool { return c.Status == "True" }
		return e.has(t, owner) && !e.has(t, other) && status.EgressNode == owner.Name && status.EgressIP == e.addr.String() &&
			len(status.Conditions) == 2 && status.Conditions[0].Type == v1beta1.IPAssigned && !slices.ContainsFunc(status.Conditions, func(c v1beta1.EgressCondition) bool { return !good(c) })
	}, 30*time.Second, 50*time.Millisecond, "one Node has the address")
	e.eventuallySeenAs(t, e.client.Space, e.outside, e.addr)
	e.eventuallySeenAs(t, e.far.Space, e.outside, e.addr)
	return owner, other, pod
}

// moved waits until a Node has the address, and its Pod is seen with it.
func (e *egressPool) moved(t *testing.T, to *cluster.Node, pod *cluster.Pod) {
	t.Helper()
	began := time.Now()
	require.Eventually(t, func() bool { return e.has(t, to) }, 20*time.Second, 20*time.Millisecond, "%s has the address", to.Name)
	t.Logf("%s has the address after %s", to.Name, time.Since(began).Round(10*time.Millisecond))
	// A long attempt would hide when the first one would have succeeded.
	require.Eventually(t, func() bool {
		addr, err := whoAmI(pod.Space, e.outside, 200*time.Millisecond)
		return err == nil && addr == e.addr
	}, 20*time.Second, 10*time.Millisecond, "Pods of %s have the address", to.Name)
}

// back starts the agent of a Node again.
func (e *egressPool) back(t *testing.T, node *cluster.Node) {
	t.Helper()
	require.NoError(t, node.StartAgent())
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	require.NoError(t, node.WaitAgentReady(ctx))
}
