// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/test/env/sandbox"
)

// Direct is a world in which the host routes packets to the Pods of the remote Node as they are.
type Direct struct{ World }

// NewDirectWorld makes such a world for one IP version.
func NewDirectWorld(t testing.TB, six bool) *Direct {
	d := newDirectWorld(t, six)
	d.ReachDirectly()
	return d
}

// NewHybridWorld makes a world whose programs know Nodes without a tunnel, and whose Node is behind the tunnel.
func NewHybridWorld(t testing.TB) *Direct { return newDirectWorld(t, false) }

func newDirectWorld(t testing.TB, six bool) *Direct {
	sandbox.RequireRoot(t)
	d, in := direct.borrow(t)
	return &Direct{*populate(t, d, in, direct.pins, Family{Inner6: six, Outer6: six})}
}

// ReachDirectly announces the Node again, as one that is reached without the tunnel.
func (d *Direct) ReachDirectly() {
	d.SetDirectNode(PeerSlot, d.ToPeer().Dst)
	d.SetNodeMTU(PeerSlot, 1500)
}

// ToPod returns a packet of the remote Pod as it arrives on the uplink.
func (d *Direct) ToPod() Packet {
	p := d.World.ToPod()
	p.SrcMAC, p.DstMAC, p.TTL = PeerMAC, UplinkMAC, 62
	return p
}

// OnTheWire returns a packet of the Pod as Open vSwitch and the host send it on the uplink.
func (p Packet) OnTheWire() Packet {
	p.TTL -= 2
	p.SrcMAC, p.DstMAC = UplinkMAC, PeerMAC
	return p
}

// Arrived returns a packet from the uplink as the host and Open vSwitch deliver it to the Pod: only the host decrements the TTL.
func (p Packet) Arrived() Packet { return p.BehindOVS(GatewayMAC, PodMAC) }

// Ingress passes a packet that arrives on the uplink through Ingress.
func (d *Direct) Ingress(mark uint32, packet []byte, tweak ...func(*SKB)) Result {
	d.Note(d.T, packet, 14)
	return d.Run(d.Programs.OncacheIngress, d.UplinkIf, mark, packet, tweak...)
}

// AtGateway returns a packet that leaves by the uplink as Open vSwitch gives it to the host.
func (p Packet) AtGateway() Packet {
	p.TTL++
	return p
}

// LearnSent passes a packet of the Pod through Egress, where it must miss, then into the host, and the packet that the host makes of it
// through Egress-Init, and returns the result of Egress-Init.
func (d *Direct) LearnSent(sent, behind Packet) Result {
	d.T.Helper()
	r := d.Egress(0, sent.Bytes(d.T))
	require.Equal(d.T, Next, r.Verdict, r.Reason)
	number := d.EnterHost(r.Mark|Epoch<<20, behind.AtGateway().Bytes(d.T))
	return d.LeaveHost(number, 0, behind.Bytes(d.T))
}

// LearnReceived is LearnSent for Ingress and Ingress-Init.
func (d *Direct) LearnReceived(received, behind Packet) Result {
	d.T.Helper()
	r := d.Ingress(0, received.Bytes(d.T))
	require.Equal(d.T, Next, r.Verdict, r.Reason)
	require.Zero(d.T, r.Mark|r.Stamp, "rules of others match marks")
	mark := d.ReachOVS(d.Issued(), behind.AtGateway().Bytes(d.T))
	return d.IngressInit(mark|Epoch<<20, behind.Bytes(d.T))
}

// Learn teaches the cache both directions of the flow.
func (d *Direct) Learn(out, in Packet) {
	d.T.Helper()
	require.Equal(d.T, "learned", d.LearnSent(out, out.OnTheWire()).Reason)
	require.Equal(d.T, "learned", d.LearnReceived(in, in.Arrived()).Reason)
	d.KeepLeases()
}
