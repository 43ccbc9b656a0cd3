// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/test/tools/traffic/report"
)

const (
	// longFlowBytes makes sequence numbers wrap around before the eviction.
	longFlowBytes      = 4700 << 20
	quickLongFlowBytes = 300 << 20
	longFlowTimeout    = 6 * time.Minute
)

// testLongFlow transfers more bytes than there are sequence numbers, while conntrack sees only one packet per lease. It
// then returns the flow to Open vSwitch by evicting it.
func testLongFlow(t *testing.T, s *suite) {
	total := uint64(longFlowBytes)
	if quick {
		total = quickLongFlowBytes
	}
	sink := startSink(t, s.server.Space)
	f := s.flow("TCP", 4801, sinkPort)
	sender := start(t, s.client.Space, "tcp-send", f.from(), f.to())
	waitForStatus(t, sender, "connected")
	s.waitFastIfGate(t, f)
	begun := time.Now()
	waitReceived(t, sink, total, longFlowTimeout)
	e, err := s.entriesOf(t, f, true)
	require.NoError(t, err)
	t.Logf("%d MB in %s, %.0f MB on the fast path", lastReceived(sink)>>20, time.Since(begun).Round(time.Second), float64(e.egress.Bytes)/(1<<20))

	s.restartAgents(t) // evicts everything
	s.waitFastIfGate(t, f)
	sent := stop[report.Send](t, sender)
	requireIntact(t, sent)
	t.Logf("%.0f Mbit/s, longest stall %.0f ms", sent.MbitPerSecond, sent.Received.LongestStallMs)
}
