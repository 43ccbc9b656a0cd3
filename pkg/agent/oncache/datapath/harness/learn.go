// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"encoding/binary"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

// Learn teaches the cache both directions of the flow by passing one packet each through all four programs.
func (w *World) Learn(egress, ingress Packet) {
	w.T.Helper()
	w.LearnEgress(egress)
	w.LearnIngress(ingress)
}

// LearnEgress passes a packet through Egress, where it must miss, and Egress-Init, and returns the result of Egress-Init.
func (w *World) LearnEgress(p Packet) Result {
	w.T.Helper()
	r := w.Egress(0, p.Bytes(w.T))
	require.Equal(w.T, Next, r.Verdict, r.Reason)
	return w.EgressInit(r.Mark|Epoch<<20, w.ToPeer().Wrap(w.T, p.BehindOVS(GatewayMAC, VirtualMAC).Bytes(w.T)))
}

// LearnIngress is LearnEgress for Ingress and Ingress-Init.
func (w *World) LearnIngress(p Packet) Result {
	w.T.Helper()
	r := w.Ingress(0, w.FromPeer().Wrap(w.T, p.Bytes(w.T)))
	require.Equal(w.T, Next, r.Verdict, r.Reason)
	return w.IngressInit(r.Mark|Epoch<<20, p.BehindOVS(GatewayMAC, PodMAC).Bytes(w.T))
}

// RequireEncapsulated compares a packet of the fast path with the one that the slow path sends, except for source port and IP ID.
func (w *World) RequireEncapsulated(t *testing.T, inner Packet, got []byte) {
	t.Helper()
	w.RequireSent(t, inner.BehindOVS(GatewayMAC, VirtualMAC), got)
}

// RequireSent does the same for the inner packet behind Open vSwitch.
func (w *World) RequireSent(t *testing.T, inner Packet, got []byte) {
	t.Helper()
	o := w.ToPeer()
	if w.Family.Outer6 {
		o.SrcPort = binary.BigEndian.Uint16(got[14+40:])
	} else {
		o.ID = binary.BigEndian.Uint16(got[14+4:])
		o.SrcPort = binary.BigEndian.Uint16(got[14+20:])
	}
	o.ToS = inner.ToS & 3
	if o.ToS == 3 {
		o.ToS = 2
	}
	require.NotZero(t, o.SrcPort)
	require.Empty(t, cmp.Diff(o.Wrap(t, inner.Bytes(t)), got))
}
