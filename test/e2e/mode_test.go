// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
	"github.com/antrea-oncache/antrea/test/tools/traffic/report"
)

// testMode changes the mode of the cache under traffic: no packet may be lost, and only mode enforce may use the fast path.
func testMode(t *testing.T, s *suite) {
	r := s.startStream(t)
	r.waitFastIfGate(t)
	s.setMode(t, "observe", api.StateObserving)
	after := s.requireOnlyOpenVSwitch(t, r)
	require.Positive(t, after.Egress.WouldHit, "hits are counted in mode observe")
	require.Positive(t, after.Egress.Active, "flows are learned in mode observe")

	s.setMode(t, "off", api.StateOff)
	before := s.requireOnlyOpenVSwitch(t, r)
	require.Equal(t, before.Egress.WouldHit, s.requireOnlyOpenVSwitch(t, r).Egress.WouldHit)

	s.setMode(t, "enforce", api.StateActive)
	r.waitFastIfGate(t)
	r.end(t, 0)

	exit := fails(t, s.node1.Space, "antctl", "oncache", "mode", "sometimes")
	require.Contains(t, exit.Stderr, "sometimes")
	require.Equal(t, api.StateActive, oncacheStatus(t, s.node1).State)
}

func (s *suite) setMode(t *testing.T, mode, state string) {
	t.Helper()
	for _, n := range s.Nodes {
		succeeds(t, n.Space, "antctl", "oncache", "mode", mode)
		require.Equal(t, state, oncacheStatus(t, n).State)
	}
}

// requireOnlyOpenVSwitch waits for packets to flow and fails if any uses the fast path on the client's Node.
func (s *suite) requireOnlyOpenVSwitch(t *testing.T, r *stream) api.Status {
	t.Helper()
	r.requireFlowing(t)
	before := oncacheStatus(t, s.node1)
	sent, _ := s.slowPackets(t, s.node1)
	eventually(t, "packets to use "+s.slowDevice(), func() error {
		if now, _ := s.slowPackets(t, s.node1); now < sent+100 {
			return notYet("too few have")
		}
		return nil
	})
	after := oncacheStatus(t, s.node1)
	require.Equal(t, before.Egress.Hits, after.Egress.Hits)
	require.Equal(t, before.Ingress.Hits, after.Ingress.Hits)
	return after
}

// testBandwidthAnnotation makes a Pod whose traffic is shaped on its host-side interface, which the fast path would bypass.
func testBandwidthAnnotation(t *testing.T, s *suite) {
	ctx, cancel := context.WithTimeout(t.Context(), setupTimeout)
	defer cancel()
	shaped, err := s.CreatePod(ctx, s.node1, namespace, "shaped", func(p *corev1.Pod) {
		p.Annotations = map[string]string{"kubernetes.io/egress-bandwidth": "1G"}
	})
	require.NoError(t, err)
	defer deletePod(t, shaped)
	startEcho(t, s.server.Space, s.server.IP)
	ping := runTraffic[report.Ping](t, shaped.Space, execTimeout, "udp-ping", "--from=:4901", to(s.server.IP, udpEchoPort), "--rate=100", "--duration=2s")
	requireNoLoss(t, ping)
	for _, e := range askAgent[[]api.EndpointInfo](t, s.node1, "/oncache?view=endpoints") {
		require.NotEqual(t, namespace+"/shaped", e.Pod)
	}
	f := flow{proto: "UDP", client: netip.AddrPortFrom(shaped.IP, 4901), server: netip.AddrPortFrom(s.server.IP, udpEchoPort)}
	e, err := s.entriesOf(t, f, true)
	require.NoError(t, err)
	require.Equal(t, entries{}, e)
}
