// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"fmt"
	"net"
	"net/netip"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
)

// Neighbor returns the world as seen from the n-th other Pod of the Node (from 1 on).
func (w *World) Neighbor(n int) *Pod {
	slot := PodSlot + n
	a, b := PodIP.As4(), PodIP6.As16()
	a[3] += byte(n)
	b[15] += byte(n)
	p := &Pod{World: *w, Slot: slot, IPv4: netip.AddrFrom4(a), IPv6: netip.AddrFrom16(b), MAC: PodMAC, Gateway: GatewayMAC}
	p.PodIf = NewDevice(w.T, fmt.Sprintf("pod%d", n), PodMAC)
	p.Announce()
	return p
}

// Pod is the world as seen from one Pod.
type Pod struct {
	World
	Slot       int
	IPv4, IPv6 netip.Addr
	// MAC is the Pod's address, Gateway its gateway's.
	MAC, Gateway net.HardwareAddr
	// Netkit is set for a Pod whose Egress runs when it transmits.
	Netkit bool
}

// Pod returns the world as seen from the world's own Pod.
func (w *World) Pod() *Pod {
	return &Pod{World: *w, Slot: PodSlot, IPv4: PodIP, IPv6: PodIP6, MAC: PodMAC, Gateway: GatewayMAC}
}

// Announce writes the Pod into its slot, with a new generation.
func (p *Pod) Announce() {
	generation, _ := p.EndpointState(p.Slot)
	p.PublishEndpoint(p.Slot, generation+1, 0)
	require.NoError(p.T, p.SetEndpoint(p.Slot, datapath.Endpoint{IfIndex: p.PodIf, IPv4: p.IPv4, IPv6: p.IPv6, MAC: p.MAC, GatewayMAC: p.Gateway, Netkit: p.Netkit}))
	p.PublishEndpoint(p.Slot, generation+1, Epoch)
}

// Packets returns a packet of the Pod's n-th flow and its answer.
func (p *Pod) Packets(n int, udp bool) (out, in Packet) {
	out, in = p.FromPod(), p.ToPod()
	out.Src, in.Dst = p.IPv4, p.IPv4
	if p.Family.Inner6 {
		out.Src, in.Dst = p.IPv6, p.IPv6
	}
	out.UDP, in.UDP = udp, udp
	out.SrcPort, out.DstPort = uint16(1000+n%60000), uint16(2000+n/60000)
	in.SrcPort, in.DstPort = out.DstPort, out.SrcPort
	return out, in
}

// Counts returns the programs' counts of the Pod's entries in the maps of its IP version: egress and ingress.
func (p *Pod) Counts() [2]int64 {
	m := object.Egress4
	if p.Family.Inner6 {
		m = object.Egress6
	}
	return [2]int64{p.CountAt(m, p.Slot).Entries, p.CountAt(m+1, p.Slot).Entries}
}

// Totals returns the programs' counts of all entries in these maps.
func (p *Pod) Totals() [2]int64 {
	m := object.Egress4
	if p.Family.Inner6 {
		m = object.Egress6
	}
	return [2]int64{p.LimitOf(m).Entries, p.LimitOf(m + 1).Entries}
}
