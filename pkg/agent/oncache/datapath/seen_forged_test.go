// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath

import (
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"
)

// TestSeenIsNotForgedWhenTheLeaseEnds: a packet with the addresses of somebody else's idle connection says nothing about it either when
// it would have to ask Open vSwitch anyway.
func TestSeenIsNotForgedWhenTheLeaseEnds(t *testing.T) {
	w := newWorld(t)
	out, in := fromPod(), toPod()
	w.SetLease(0) // over at once
	w.learn(out, in)
	require.Eventually(t, func() bool {
		idle := true
		require.NoError(t, w.Flows(func(f Flow) bool { idle = idle && f.LeaseLeft < 0; return true }))
		return idle
	}, 5*time.Second, time.Millisecond)
	before := w.lastSeen()

	forged := out
	forged.srcMAC, forged.seq, forged.ack = peerMAC, 77, 88
	w.egress(0, forged.bytes(t))
	injected := in
	injected.seq, injected.ack = 77, 88
	o := fromPeer()
	o.src = netip.MustParseAddr("192.168.77.99")
	w.ingress(0, o.wrap(t, injected.bytes(t)))
	require.Empty(t, cmp.Diff(before, w.lastSeen(), cmpopts.IgnoreFields(Seen{}, "Ago")))
}
