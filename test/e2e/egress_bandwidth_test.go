// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
	"github.com/antrea-oncache/antrea/test/tools/traffic/report"
)

// The datagrams of loads are frames of 10,000 bits; each Pod offers twice the rate of the Egress.
const (
	shapedRate, shapedBurst = 1000, 200 // kbit/s, kbit
	shapedFrame             = 10        // kbit
	shapedSize              = 1250 - 14 - 20 - 8
	shapedLoad              = "--rate=200"
)

// testEgressBandwidth: Pods of both Nodes together have the rate of an Egress, whose address the second Node has. A Pod without the Egress loses
// nothing, and without the limit no Pod does.
func testEgressBandwidth(t *testing.T, s *suite) {
	s.setEgressShaping(t, true)
	defer s.setEgressShaping(t, false)
	addr := s.egressAddress(202)
	addAddress(t, s.node2, addr)
	outside := s.askWhoOutside(t)
	startEcho(t, s.Internet, outside.Addr())
	e := s.createStaticEgress(t, "shaped", "shaped", addr)
	e.eventuallyOn(t, s.node2, addr)
	for _, p := range []*cluster.Pod{s.client, s.far} {
		s.label(t, p, map[string]string{"egress": "shaped"})
		defer s.label(t, p, nil)
		s.eventuallySeenAs(t, p.Space, outside, addr)
	}
	load := func(p *cluster.Pod) *cluster.Process {
		return start(t, p.Space, "udp-ping", "--from=:4961", to(outside.Addr(), udpEchoPort), shapedLoad, fmt.Sprint("--size=", shapedSize), "--duration=8s")
	}
	// offer returns the number of answers to the Pods of both Nodes, the kilobits that the limit allows in the time, and what the other Pod lost.
	offer := func() (answers, sent int, allowed float64, lost int) {
		began := time.Now()
		loads := []*cluster.Process{load(s.client), load(s.far)}
		free := result[report.Ping](t, load(s.neighbor), patience)
		for _, p := range loads {
			r := result[report.Ping](t, p, patience)
			answers, sent = answers+r.Received, sent+r.Sent
		}
		return answers, sent, shapedRate*time.Since(began).Seconds() + shapedBurst, free.Lost
	}
	answers, sent, _, lost := offer()
	require.Equal(t, sent, answers, "without a limit")
	require.Zero(t, lost)

	limit := func(bandwidth string) {
		_, err := e.egresses.Patch(t.Context(), e.name, types.MergePatchType, []byte(`{"spec":{"bandwidth":`+bandwidth+`}}`), metav1.PatchOptions{})
		require.NoError(t, err)
	}
	// The meter itself stays until the agent's next start.
	waitMeter := func(want bool) {
		t.Helper()
		eventually(t, fmt.Sprintf("a flow of %s that leads to a meter: %t", s.node2.Name, want), func() error {
			flows := succeeds(t, s.node2.Space, "ovs-ofctl", "-O", "OpenFlow15", "dump-flows", "br-int")
			if strings.Contains(flows, "/0xff actions=meter:") != want {
				return notYet("not so")
			}
			return nil
		})
	}
	limit(fmt.Sprintf(`{"rate":"%dk","burst":"%dk"}`, shapedRate, shapedBurst))
	waitMeter(true)
	answers, sent, allowed, lost := offer()
	t.Logf("%d of %d datagrams passed, %.0f kbit of %.0f", answers, sent, shapedFrame*float64(answers), allowed)
	require.Zero(t, lost, "of a Pod without the Egress")
	require.Less(t, shapedFrame*float64(answers), 1.2*allowed)
	require.Greater(t, shapedFrame*float64(answers), 0.6*allowed, "the time contains the programs' start and end")

	limit("null")
	waitMeter(false)
	answers, sent, _, _ = offer()
	require.Equal(t, sent, answers, "without the limit again")
}

// setEgressShaping restarts all agents with the gate on or off.
func (s *suite) setEgressShaping(t *testing.T, on bool) {
	t.Helper()
	for _, n := range s.Nodes {
		require.NoError(t, n.SetFeatureGates(map[string]bool{"EgressTrafficShaping": on}))
	}
	s.restartAgents(t)
}
