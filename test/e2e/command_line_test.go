// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/antrea-oncache/antrea/pkg/agent/apis"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
)

// mostResidentMemory is the maximum resident memory of an agent, in bytes.
const mostResidentMemory = 120e6

var residentMemory = regexp.MustCompile(`(?m)^process_resident_memory_bytes ([0-9.e+]+)$`)

// testCommandLine runs antctl as in the agent's Pod, and checks the agent's own metrics.
func testCommandLine(t *testing.T, s *suite) {
	run := func(t *testing.T, args string) string {
		t.Helper()
		return succeeds(t, s.node1.Space, append([]string{"antctl"}, strings.Fields(args)...)...)
	}
	if s.oncache {
		t.Run("ONCache", func(t *testing.T) { s.testONCacheCommands(t, run) })
	} else {
		t.Run("ONCacheIsNotEnabled", func(t *testing.T) {
			for _, view := range []string{"", "flows", "nodes", "endpoints"} {
				args := append([]string{"antctl", "get", "oncache"}, strings.Fields(view)...)
				exit := fails(t, s.node1.Space, args...)
				require.True(t, strings.HasSuffix(strings.TrimSpace(exit.Stderr), "not enabled"), "%q", exit.Stderr)
				require.Empty(t, exit.Stdout)
			}
		})
	}
	t.Run("Memory", func(t *testing.T) { testMemory(t, s) })
	t.Run("PodInterface", func(t *testing.T) { testPodInterface(t, s, run) })
	t.Run("AgentInfo", func(t *testing.T) { testAgentInfo(t, s, run) })
	t.Run("OVSFlows", func(t *testing.T) {
		require.Contains(t, run(t, "get ovsflows"), "table=Output")
		require.Contains(t, run(t, "get ovsflows -T L3Forwarding"), s.node2.PodCIDR.String())
		require.Contains(t, run(t, "get ovsflows -p client -n "+namespace), s.client.IP.String())
		require.Equal(t, s.oncache, strings.Contains(run(t, "get ovsflows --table-names-only"), "ONCacheMark"))
	})
	t.Run("Problems", func(t *testing.T) { require.NotNil(t, antctl[[]apis.Problem](t, s.node1, "get", "problems")) })
	t.Run("FeatureGates", func(t *testing.T) {
		state := "Disabled"
		if s.oncache {
			state = "Enabled"
		}
		var line string
		for l := range strings.Lines(run(t, "get featuregates")) {
			if strings.HasPrefix(strings.TrimSpace(l), gate) {
				line = l
			}
		}
		require.Contains(t, line, state)
		require.Contains(t, line, "ALPHA")
	})
	t.Run("Version", func(t *testing.T) {
		out := run(t, "version")
		require.Contains(t, out, "antctlVersion:")
		require.Contains(t, out, "agentVersion:")
	})
	t.Run("UnknownThings", func(t *testing.T) {
		for _, args := range []string{"get nothing", "get podinterface nosuchpod -n " + namespace, "get agentinfo -o xml"} {
			exit := fails(t, s.node1.Space, append([]string{"antctl"}, strings.Fields(args)...)...)
			require.NotEmpty(t, exit.Stderr, args)
		}
	})
}

func testMemory(t *testing.T, s *suite) {
	for _, n := range s.Nodes {
		m := residentMemory.FindStringSubmatch(metrics(t, n))
		require.Len(t, m, 2, "the metric process_resident_memory_bytes")
		resident, err := strconv.ParseFloat(m[1], 64)
		require.NoError(t, err)
		printer.Printf("%s: the agent of %s has %.0f MB of resident memory", t.Name(), n.Name, resident/1e6)
		require.LessOrEqual(t, resident, float64(mostResidentMemory))
	}
}

func testPodInterface(t *testing.T, s *suite, run func(*testing.T, string) string) {
	table := run(t, "get podinterface")
	for _, p := range s.node1.Pods() {
		require.Contains(t, table, p.PodName)
		require.Contains(t, table, p.IP.String())
	}
	list := antctl[[]apis.PodInterface](t, s.node1, "get", "podinterface", "client", "-n", namespace)
	require.Len(t, list, 1)
	require.Equal(t, []string{s.client.IP.String()}, list[0].IPs)
	require.Equal(t, macOf(t, s.client.Space, "eth0"), list[0].MAC)
	require.Equal(t, s.client.ContainerID, list[0].ContainerID)
	require.Positive(t, list[0].OFPort)
}

func testAgentInfo(t *testing.T, s *suite, run func(*testing.T, string) string) {
	info := antctl[apis.AgentInfo](t, s.node1, "get", "agentinfo")
	require.Equal(t, s.node1.Name, info.NodeRef.Name)
	require.Equal(t, []string{s.node1.PodCIDR.String()}, info.NodeSubnets)
	require.EqualValues(t, len(s.node1.Pods()), info.LocalPodNum)
	require.Equal(t, "br-int", info.OVSInfo.BridgeName)
	require.Positive(t, info.OVSInfo.FlowTable["L3Forwarding"])
	require.Contains(t, run(t, "get agentinfo"), "Healthy")
}

func (s *suite) testONCacheCommands(t *testing.T, run func(*testing.T, string) string) {
	r := s.startStream(t)
	r.waitFastIfGate(t)
	for view, want := range map[string][]string{
		"":          {"state", api.StateActive, "eth0", s.tunnel, "hit rate"},
		"flows":     {"DIRECTION", r.tcp.client.String(), r.tcp.server.String(), "active", namespace + "/client", s.node2.Name},
		"nodes":     {"TUNNEL-IP", s.node2.Name, s.node2.IP.String(), s.node2.PodCIDR.String()},
		"endpoints": {"EPOCH", namespace + "/client", namespace + "/neighbor", s.client.IP.String()},
	} {
		table := run(t, "get oncache "+view)
		for _, word := range want {
			require.Contains(t, table, word)
		}
		var fromJSON, fromYAML any
		require.NoError(t, json.Unmarshal([]byte(run(t, "get oncache "+view+" -o json")), &fromJSON))
		require.NoError(t, yaml.Unmarshal([]byte(run(t, "get oncache "+view+" -o yaml")), &fromYAML))
		require.NotEmpty(t, fromJSON)
		require.IsType(t, fromJSON, fromYAML)
	}
	require.Len(t, antctl[[]api.FlowInfo](t, s.node1, "get", "oncache", "flows", "--limit=1"), 1)
	ofClient := antctl[[]api.FlowInfo](t, s.node1, "get", "oncache", "flows", "-n", namespace, "-p", "client")
	require.NotEmpty(t, ofClient)
	for _, f := range ofClient {
		require.Contains(t, f.Source+" "+f.Destination, s.client.IP.String()+":")
	}
	require.Empty(t, antctl[[]api.FlowInfo](t, s.node1, "get", "oncache", "flows", "-n", namespace, "-p", "nobody"))
	require.NotEmpty(t, antctl[[]api.FlowInfo](t, s.node1, "get", "oncache", "flows", "--remote-node="+s.node2.Name))
	exit := fails(t, s.node1.Space, "antctl", "get", "oncache", "nonsense")
	require.Contains(t, exit.Stderr, "nonsense")
	all := metrics(t, s.node1)
	for _, line := range []string{
		"antrea_agent_oncache_packet_count{program=\"egress\",reason=\"hit\"}", "antrea_agent_oncache_state_info{mode=\"enforce\",state=\"Active\"} 1",
		"antrea_agent_oncache_entry_count{map=\"egress_flows4\"}", "antrea_agent_oncache_pods_on_ovs{reason=\"bandwidth\"} 0",
		"antrea_agent_oncache_pods_not_learning 0", "antrea_agent_oncache_error_count{operation=\"marks\"} 0", "antrea_agent_oncache_learning_delay_seconds_count",
	} {
		require.Contains(t, all, line)
	}
	r.end(t, 0)
}
