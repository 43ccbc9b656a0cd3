// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// round reads the number of the flows' round from the bridge's external_ids.
func (c *cluster) round(t *testing.T, agent *corev1.Pod) uint64 {
	t.Helper()
	query := fmt.Sprintf(`["Open_vSwitch",{"op":"select","table":"Bridge","where":[["name","==",%q]],"columns":["external_ids"]}]`, bridge)
	out := c.exec(t, agent, ovsContainer, "ovsdb-client", "query", query)
	var answers []struct {
		Rows []struct {
			IDs [2]json.RawMessage `json:"external_ids"`
		} `json:"rows"`
	}
	require.NoError(t, json.Unmarshal([]byte(out), &answers), out)
	require.Len(t, answers, 1, out)
	require.Len(t, answers[0].Rows, 1, out)
	var pairs [][2]string
	require.NoError(t, json.Unmarshal(answers[0].Rows[0].IDs[1], &pairs), out)
	for _, pair := range pairs {
		if pair[0] == "roundNum" {
			round, err := strconv.ParseUint(pair[1], 10, 16)
			require.NoError(t, err)
			return round
		}
	}
	require.Fail(t, "the bridge has no roundNum", out)
	return 0
}

// testPreviousRound kills the agent's process, which makes the kubelet start the container again, and expects it to
// remove an obsolete flow of the former round.
func (c *cluster) testPreviousRound(t *testing.T) {
	agent := c.agentOn(t, c.nodes[0])
	before := c.round(t, agent)
	// An address of the documentation's network, and the former round in the cookie's highest 16 bits.
	flow := fmt.Sprintf("table=0,cookie=%#x,priority=0,ip,nw_dst=192.0.2.77,actions=drop", before<<48)
	count := func() int {
		out := c.exec(t, agent, ovsContainer, "ovs-ofctl", "dump-flows", bridge, fmt.Sprintf("table=0,cookie=%#x/0xffff000000000000", before<<48))
		return strings.Count(out, "nw_dst=192.0.2.77")
	}
	c.exec(t, agent, ovsContainer, "ovs-ofctl", "add-flow", bridge, flow)
	require.Equal(t, 1, count())

	c.exec(t, agent, agentContainer, "kill", "1")
	eventually(t, podTimeout, func() error {
		pod, err := c.client.CoreV1().Pods(systemNamespace).Get(t.Context(), agent.Name, metav1.GetOptions{})
		if err == nil && (!isReady(pod) || restartsOf(pod, agentContainer) == restartsOf(agent, agentContainer)) {
			err = fmt.Errorf("the agent has not started again: %s", containerStates(pod))
		}
		return err
	})
	eventually(t, policyDelay, func() error {
		if n := count(); n != 0 {
			return fmt.Errorf("%d flows of the former round are left", n)
		}
		return nil
	})
	require.Equal(t, (before+1)%(1<<16), c.round(t, agent))
}

func restartsOf(pod *corev1.Pod, container string) int32 {
	for _, s := range pod.Status.ContainerStatuses {
		if s.Name == container {
			return s.RestartCount
		}
	}
	return 0
}

// testUnknownKeys starts agents and controller with a key of a later version.
func (c *cluster) testUnknownKeys(t *testing.T) {
	c.configure(t, func(files map[string]string) {
		for _, key := range []string{agentConfigKey, controllerConfigKey} {
			files[key] += "\nkeyOfALaterVersion: {a: 1}\n"
		}
	})
}

func TestReconcileGatewayRoutesOnStartup(t *testing.T) {
	suite.test(t, "routes", suite.testRoutes)
}

// testRoutes expects an agent that starts to remove a route that leads nowhere, and to add one that is missing.
func (c *cluster) testRoutes(t *testing.T) {
	node := c.nodes[0]
	c.requireWay(t)
	before := c.nodeRoutes(t, node)
	require.Len(t, before, len(c.nodes)-1, "one route for each of the other Nodes")
	network, rest, _ := strings.Cut(before[0], " ")
	if c.mode == encap {
		for _, r := range before {
			network, err := netip.ParsePrefix(strings.Fields(r)[0])
			require.NoError(t, err)
			require.Contains(t, r, " via "+network.Addr().Next().String()+" ", "the other Node's gateway")
		}
	}
	if c.mode == encap || c.mode == wireGuard {
		rest = strings.Replace(rest, ownProtocol, "", 1)
	}
	agent := c.agentOn(t, node)
	stale := "198.51.100.0/24 " + rest
	c.exec(t, agent, agentContainer, "ip", "route", "del", network)
	c.exec(t, agent, agentContainer, append([]string{"ip", "route", "add"}, strings.Fields(stale)...)...)
	require.Contains(t, c.nodeRoutes(t, node), stale, "the running agent removes no foreign route; a missing one it may have added again")
	c.restartAgent(t, node)
	eventually(t, policyDelay, func() error {
		if now := c.nodeRoutes(t, node); !slices.Equal(now, before) {
			return fmt.Errorf("routes %v, want %v", now, before)
		}
		return nil
	})
}
