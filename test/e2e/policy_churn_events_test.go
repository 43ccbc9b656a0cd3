// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
	"github.com/antrea-oncache/antrea/test/policy"
)

// replace deletes a Pod and creates it again, with the same addresses or on the other Node. Until the change is enforced
// the observer counts it as absent.
func (c *churn) replace(t *testing.T, pod *policy.Pod) {
	t.Helper()
	old := c.f.place(pod)
	c.o.mu.Lock()
	c.o.absent[podKey(pod)] = append(c.o.absent[podKey(pod)], span{from: time.Now()})
	c.o.mu.Unlock()
	c.mu.Lock() // nothing is sent from a Pod that does not exist
	defer c.mu.Unlock()
	deletePod(t, old.Pod)
	for _, ip := range old.IPs {
		require.NoError(t, old.Node.SetNextAddress(ip))
	}
	p, err := c.f.createPod(t.Context(), pod)
	require.NoError(t, err)
	if pod.Node == old.Node.Name {
		require.Equal(t, old.IPs, p.IPs, "the test needs the same addresses")
	}
	c.f.setPlace(t, podKey(pod), p)
	pod.IPv4, pod.IPv6 = p.IPs[0], p.IPs[len(p.IPs)-1]
	for i, probe := range c.tried {
		moved := *probe
		if podKey(probe.From) == podKey(pod) {
			moved.From = pod
		}
		if podKey(probe.To) == podKey(pod) {
			moved.To = pod
		}
		c.tried[i] = &moved
	}
}

func (s *suite) otherNode(name string) string {
	if name == s.node1.Name {
		return s.node2.Name
	}
	return s.node1.Name
}

// toggleNode adds or removes a Node that consists only of its object: the agents make routes and flows to it, and evict.
func (c *churn) toggleNode(t *testing.T) {
	t.Helper()
	if c.thirdNode = !c.thirdNode; !c.thirdNode {
		c.removeNode()
		return
	}
	address := c.f.s.node1.IPv4.As4()
	address[3] = 200
	networks := []string{"10.10.200.0/24", "fd00:10:10:200::/64"}[:len(c.f.s.node1.PodCIDRs)]
	c.removeNode = c.f.s.createNode(t, "churn", netip.AddrFrom4(address), networks...)
}

// kill kills agents of random Nodes and starts them again. The agents of one Node are killed one after the other, with a
// pause each time; Nodes do not wait for each other. It returns when all agents are ready.
func (c *churn) kill(t *testing.T, times int) {
	t.Helper()
	pauses := map[*cluster.Node][]time.Duration{}
	for range times {
		// An agent takes some seconds to start here: most of the pauses are within that, one in eight is up to 16 s.
		within := 2 * time.Second
		if c.rng.IntN(8) == 0 {
			within = 16 * time.Second
		}
		n := c.f.s.Nodes[c.rng.IntN(len(c.f.s.Nodes))]
		pauses[n] = append(pauses[n], time.Duration(c.rng.Int64N(int64(within))))
	}
	if times == 0 {
		return
	}
	require.NoError(t, c.f.s.EachNode(func(n *cluster.Node) error {
		for _, pause := range pauses[n] {
			<-time.After(pause)
			if err := n.KillAgent(); err != nil {
				return err
			}
			if err := n.StartAgent(); err != nil {
				return err
			}
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), setupTimeout)
		defer cancel()
		return n.WaitAgentReady(ctx)
	}))
}
