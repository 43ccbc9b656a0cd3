// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/pkg/apis/stats/v1alpha1"
	"github.com/antrea-oncache/antrea/test/tools/traffic/report"
)

// reportPatience is two intervals of the agents' reports, and some time for a slow machine.
const reportPatience = 3 * time.Minute

// testClusterStatistics checks the sums of antrea-controller: both Nodes of a connection report all of its packets,
// also on the fast path and on either side of a restart of an agent.
func testClusterStatistics(t *testing.T, s *suite) {
	s.applyPolicy(t, ingressTo("stats-in", "server", networkingv1.NetworkPolicyIngressRule{
		From: []networkingv1.NetworkPolicyPeer{{PodSelector: selector("client")}},
	}))
	s.applyPolicy(t, &networkingv1.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "stats-out"},
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: *selector("client"), PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeEgress},
			Egress: []networkingv1.NetworkPolicyEgressRule{{To: []networkingv1.NetworkPolicyPeer{{PodSelector: selector("server")}}}},
		},
	})
	startEcho(t, s.server.Space, s.server.IP)
	packets := int64(0)
	for round, port := range []uint16{4731, 4732} {
		f := s.flow("UDP", port, udpEchoPort)
		ping := start(t, s.client.Space, "udp-ping", f.from(), f.to(), "--rate=100", "--progress=100ms")
		waitReceived(t, ping, 200, patience)
		s.waitFastIfGate(t, f)
		result := stop[report.Ping](t, ping)
		requireNoLoss(t, result)
		packets += int64(result.Sent + result.Received)
		if round == 0 {
			require.NoError(t, s.server.Node.StopAgent())
			s.startAgent(t, s.server.Node)
		}
		eventuallyWithin(t, reportPatience, "the statistics of both policies", func() error {
			return s.compareStats(t, int64(round+1), packets)
		})
	}
}

// compareStats returns an error unless the statistics of both policies are the same, with all packets. On a slow machine several packets
// pass before the first answer, and each counts as a session.
func (s *suite) compareStats(t *testing.T, sessions, packets int64) error {
	t.Helper()
	in, err := s.statsOf(t, "stats-in")
	if err != nil {
		return err
	}
	out, err := s.statsOf(t, "stats-out")
	if err != nil {
		return err
	}
	if in.TrafficStats != out.TrafficStats || in.TrafficStats.Packets != packets || in.TrafficStats.Sessions < sessions {
		return fmt.Errorf("want sessions >= %d, packets = %d of both, got %+v and %+v", sessions, packets, in.TrafficStats, out.TrafficStats)
	}
	return nil
}

// statsOf asks antrea-controller.
func (s *suite) statsOf(t *testing.T, policy string) (stats v1alpha1.NetworkPolicyStats, err error) {
	body, err := s.AskController(t.Context(), "/apis/stats.antrea.io/v1alpha1/namespaces/"+namespace+"/networkpolicystats/"+policy)
	if err == nil {
		err = json.Unmarshal(body, &stats)
	}
	return stats, err
}
