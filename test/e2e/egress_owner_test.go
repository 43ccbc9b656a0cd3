// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/antrea-oncache/antrea/pkg/client/crd"
	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
)

// moveLimit is for an address to move when an agent is paused or runs again, when its pool selects other Nodes, and when agents see each other again. Agents
// need 3 s, less than 1 s, and 16 s; on an emulated machine one of them may be late. The log has the times.
const moveLimit = 30 * time.Second

// gossipPort is the port by which agents see each other.
const gossipPort = "10351"

// testEgressOwner: one Node has the address of a pool also after its agent was paused, after the pool has selected another Node, and after agents have not
// seen each other: then both have had it.
func testEgressOwner(t *testing.T, s *suite) {
	s.label(t, s.client, map[string]string{"egress": "owner"})
	s.label(t, s.far, map[string]string{"egress": "owner"})
	defer s.label(t, s.client, nil)
	defer s.label(t, s.far, nil)
	e := s.newEgressPool(t, "owner", s.egressAddress(206))
	e.create(t)
	t.Run("Paused", e.testPaused)
	t.Run("Selector", e.testSelector)
	t.Run("Partition", e.testPartition)
}

// testPaused: the other Node has the address while the owner's agent is paused, and hands it back.
func (e *egressPool) testPaused(t *testing.T) {
	owner, other, pod := e.settled(t)
	began := time.Now()
	require.NoError(t, owner.PauseAgent())
	resumed := false
	defer func() {
		if !resumed {
			_ = owner.ResumeAgent()
		}
	}()
	e.moved(t, other, pod)
	took := time.Since(began)
	t.Logf("failover: %s after %s's agent was paused", took.Round(10*time.Millisecond), owner.Name)
	require.LessOrEqual(t, took, moveLimit)
	e.eventuallyAt(t, e.addr, other)
	resumed = true
	began = time.Now()
	require.NoError(t, owner.ResumeAgent())
	e.eventuallyOnlyOn(t, owner, other, moveLimit)
	t.Logf("back at %s after %s", owner.Name, time.Since(began).Round(10*time.Millisecond))
	e.eventuallyAt(t, e.addr, owner)
	e.settled(t)
}

// testSelector: the address is on the other Node while the pool selects only that one.
func (e *egressPool) testSelector(t *testing.T) {
	owner, other, _ := e.settled(t)
	selectNodes := func(labels string) {
		_, err := e.objects.Resource(crd.ExternalIPPools).Patch(t.Context(), e.name, types.MergePatchType,
			fmt.Appendf(nil, `{"spec":{"nodeSelector":{"matchLabels":%s}}}`, labels), metav1.PatchOptions{})
		require.NoError(t, err)
	}
	began := time.Now()
	selectNodes(fmt.Sprintf(`{%q:%q}`, corev1.LabelHostname, other.Name))
	e.eventuallyOnlyOn(t, other, owner, moveLimit)
	t.Logf("at %s after %s", other.Name, time.Since(began).Round(10*time.Millisecond))
	e.eventuallySeenAs(t, e.client.Space, e.outside, e.addr)
	e.eventuallySeenAs(t, e.far.Space, e.outside, e.addr)
	e.eventuallyAt(t, e.addr, other)
	began = time.Now()
	selectNodes("null")
	e.eventuallyOnlyOn(t, owner, other, moveLimit)
	t.Logf("back at %s after %s", owner.Name, time.Since(began).Round(10*time.Millisecond))
	e.eventuallyAt(t, e.addr, owner)
	e.settled(t)
}

// testPartition: both Nodes have the address while their agents do not see each other, and soon afterwards only the one that both choose.
func (e *egressPool) testPartition(t *testing.T) {
	owner, other, _ := e.settled(t)
	filter := func(verb string) {
		for _, n := range e.Nodes {
			for _, protocol := range []string{"tcp", "udp"} {
				for _, program := range []string{"iptables", "ip6tables"} {
					succeeds(t, n.Space, program, "-w", verb, "INPUT", "-p", protocol, "--dport", gossipPort, "-j", "DROP")
				}
			}
		}
	}
	filter("-I")
	cut := true
	defer func() {
		if cut {
			filter("-D")
		}
	}()
	eventually(t, "both Nodes to have the address", func() error {
		if !e.has(t, owner) || !e.has(t, other) {
			return errors.New("one has it")
		}
		return nil
	})
	// They keep it: no one learns that the other agent lives.
	for range 5 {
		time.Sleep(time.Second)
		require.True(t, e.has(t, owner))
		require.True(t, e.has(t, other))
	}
	cut = false
	began := time.Now()
	filter("-D")
	e.eventuallyOnlyOn(t, owner, other, moveLimit)
	t.Logf("one owner %s after the partition", time.Since(began).Round(10*time.Millisecond))
	e.eventuallyAt(t, e.addr, owner)
	e.settled(t)
}

// eventuallyOnlyOn waits until one Node has the address and the other Node does not.
func (e *egressPool) eventuallyOnlyOn(t *testing.T, node, former *cluster.Node, limit time.Duration) {
	t.Helper()
	require.Eventually(t, func() bool { return e.has(t, node) && !e.has(t, former) }, limit, 20*time.Millisecond, "only %s has %s", node.Name, e.addr)
}

// eventuallyAt waits until a Node answers for an address. Neighbors learn that without asking.
func (s *suite) eventuallyAt(t *testing.T, addr netip.Addr, node *cluster.Node) {
	t.Helper()
	mac := strings.TrimSpace(succeeds(t, node.Space, "cat", "/sys/class/net/"+cluster.Uplink+"/address"))
	eventually(t, fmt.Sprintf("%s to be at %s", addr, node.Name), func() error {
		if entry := succeeds(t, s.Fabric, "ip", "neigh", "show", addr.String()); !strings.Contains(entry, mac) {
			return fmt.Errorf("the neighbor is %q, want %s", entry, mac)
		}
		return nil
	})
}
