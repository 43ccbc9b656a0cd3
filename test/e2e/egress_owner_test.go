// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/antrea-oncache/antrea/pkg/client/crd"
	agentconfig "github.com/antrea-oncache/antrea/pkg/config/agent"
	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
)

// Time limits of Egress addresses that move. They hold with all areas only: on an emulated machine that is busy a single move can be late, and the log has its
// time.
const (
	// pauseLimit is for an address to leave a Node whose agent is paused, and to come back.
	pauseLimit = 10 * time.Second
	// moveLimit is for an address to move when its pool selects other Nodes, and for a status to name the Node with it.
	moveLimit = 3 * time.Second
	// healLimit is for one Node to have an address when agents see each other again: they try every 15 s.
	healLimit = 20 * time.Second
)

// requireWithin logs a time, and with all areas requires a limit.
func requireWithin(t *testing.T, limit, took time.Duration, what string) {
	t.Helper()
	t.Logf("%s after %s", what, took.Round(10*time.Millisecond))
	if all {
		require.LessOrEqual(t, took, limit, what)
	}
}

// gossipPort is the port by which agents see each other.
var gossipPort = strconv.Itoa(agentconfig.DefaultClusterPort)

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
	requireWithin(t, pauseLimit, time.Since(began), "failover from "+owner.Name)
	e.eventuallyAt(t, e.addr, other)
	resumed = true
	began = time.Now()
	require.NoError(t, owner.ResumeAgent())
	e.eventuallyOnlyOn(t, owner, other)
	requireWithin(t, pauseLimit, time.Since(began), "back at "+owner.Name)
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
	e.eventuallyOnlyOn(t, other, owner)
	requireWithin(t, moveLimit, time.Since(began), "at "+other.Name)
	e.eventuallySeenAs(t, e.client.Space, e.outside, e.addr)
	e.eventuallySeenAs(t, e.far.Space, e.outside, e.addr)
	e.eventuallyAt(t, e.addr, other)
	began = time.Now()
	selectNodes("null")
	e.eventuallyOnlyOn(t, owner, other)
	requireWithin(t, moveLimit, time.Since(began), "back at "+owner.Name)
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
	e.eventuallyOnlyOn(t, owner, other)
	requireWithin(t, healLimit, time.Since(began), "one owner")
	e.eventuallyAt(t, e.addr, owner)
	e.settled(t)
}

// eventuallyOnlyOn waits until one Node has the address and the other Node does not.
func (e *egressPool) eventuallyOnlyOn(t *testing.T, node, former *cluster.Node) {
	t.Helper()
	require.Eventually(t, func() bool { return e.has(t, node) && !e.has(t, former) }, patience, 20*time.Millisecond, "only %s has %s", node.Name, e.addr)
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
