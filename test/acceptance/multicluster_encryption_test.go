// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// seenAs is the address that the other cluster sees of a cluster whose gateway Node this is, as the source of connections and the destination of tunnel
// packets: the Node's, or, with encryption, the first one of the Service network.
func (s *clusterSet) seenAs(t *testing.T, m *member, node string) string {
	t.Helper()
	if !s.encrypted {
		return m.address(t, node)
	}
	return netip.MustParsePrefix(s.services(t, s.other(m))).Masked().Addr().String()
}

// testEncryption: nothing for the other cluster leaves the gateway Node but packets of WireGuard, while Pods of both Nodes reach a Service there.
func (s *clusterSet) testEncryption(t *testing.T) {
	if !s.encrypted {
		t.Skip("without encryption; MULTICLUSTER_ENCRYPTION=wireGuard")
	}
	count := s.countLeaving(t)
	address := s.imported(t, s.a, s.b)
	for _, client := range s.mcClients(t, s.a) {
		s.a.expectAnswers(t, client, address, "west-0", "west-1")
	}
	leaving := count()
	require.Positive(t, leaving["udp dpt:51821"], "%v", leaving)
	require.Zero(t, leaving["udp dpt:6081"], "%v", leaving)
}

// countLeaving counts packets from the first cluster's gateway Node to the second one's, after all rules that could drop them, by port, until the returned
// function is called.
func (s *clusterSet) countLeaving(t *testing.T) func() map[string]int {
	t.Helper()
	agent, err := s.a.agentPod(t.Context(), s.a.nodes[0])
	require.NoError(t, err)
	to := s.b.address(t, s.b.nodes[0])
	rule := func(action, port string) string {
		return s.a.exec(t, agent, agentContainer, "iptables", "-w", "-t", "mangle", action, "POSTROUTING", "-d", to, "-p", "udp", "--dport", port)
	}
	for _, port := range []string{"51821", "6081"} {
		rule("-A", port)
	}
	return func() map[string]int {
		counts := map[string]int{}
		list := s.a.exec(t, agent, agentContainer, "iptables", "-w", "-t", "mangle", "-nvxL", "POSTROUTING")
		for line := range strings.Lines(list) {
			fields := strings.Fields(line)
			if len(fields) < 3 || !strings.Contains(line, to) || !strings.Contains(line, "udp dpt:") {
				continue
			}
			var packets int
			_, err := fmt.Sscan(fields[0], &packets)
			require.NoError(t, err)
			counts[strings.Join(fields[len(fields)-2:], " ")] = packets
		}
		for _, port := range []string{"51821", "6081"} {
			rule("-D", port)
		}
		return counts
	}
}
