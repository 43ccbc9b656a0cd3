// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package packets

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
)

// TestDirectServiceOfNodeThatMoves: a connection through a Service is learned again after its Node has moved behind the tunnel, or from there,
// although no further packet of the answers has data.
func TestDirectServiceOfNodeThatMoves(t *testing.T) {
	for _, behind := range []bool{false, true} {
		t.Run(fmt.Sprintf("behind the tunnel=%v", behind), func(t *testing.T) {
			d := harness.NewDirectWorld(t, false)
			tunnel := d.ThroughService(false)
			plain := tunnel
			plain.SentOn = tunnel.SentOn.BehindOVS(harness.UplinkMAC, harness.PeerMAC)
			plain.Received.SrcMAC, plain.Received.DstMAC, plain.Received.TTL = harness.PeerMAC, harness.UplinkMAC, 62
			plain.ReceivedOn.TTL = 61
			ways := []func(){
				func() {
					d.ReachDirectly()
					require.Equal(t, "learned", d.LearnSent(plain.Sent, plain.SentOn).Reason)
					require.Equal(t, "learned", d.LearnReceived(plain.Received, plain.ReceivedOn).Reason)
				},
				func() {
					d.SetNode(harness.PeerSlot, harness.PeerIP)
					d.SetNodeMTU(harness.PeerSlot, 1500)
					d.LearnExchange(tunnel)
				},
			}
			if behind {
				slices.Reverse(ways)
			}
			for _, learn := range append(ways, ways...) {
				learn()
				forgetTickets(&d.World)
				for _, e := range []*harness.Exchange{&plain, &tunnel} {
					e.Received.Payload, e.ReceivedOn.Payload = 0, 0
				}
			}
		})
	}
}

// TestDirectEpochOfTheOtherPacket: of two packets of a flow that nothing tells apart, the one that Open vSwitch has let pass under older rules
// teaches nothing.
func TestDirectEpochOfTheOtherPacket(t *testing.T) {
	d := harness.NewDirectWorld(t, false)
	out := d.FromPod()
	behind, passed := out.OnTheWire().Bytes(t), out.OnTheWire().AtGateway().Bytes(t)
	ticket := d.Egress(0, out.Bytes(t)).Mark
	older := d.EnterHost(ticket|harness.Epoch<<20, passed)
	generation, _ := d.EndpointState(harness.PodSlot)
	d.PublishEndpoint(harness.PodSlot, generation, harness.Epoch+1)
	newer := d.EnterHost(ticket|(harness.Epoch+1)<<20, passed)
	require.NotZero(t, newer)
	require.Equal(t, "stale_epoch", d.LeaveHost(older, 0, behind).Reason)
	require.Equal(t, "no_ticket", d.LeaveHost(newer, 0, behind).Reason)
	require.Empty(t, d.Entries())
	forgetTickets(&d.World)
	ticket = d.Egress(0, out.Bytes(t)).Mark
	require.Equal(t, "learned", d.LeaveHost(d.EnterHost(ticket|(harness.Epoch+1)<<20, passed), 0, behind).Reason)
}

// TestDirectForgetsNumbers: the number in skb->tc_index with which a packet comes from a Pod, Open vSwitch or the network does not enter the
// host, and no number enters Open vSwitch.
func TestDirectForgetsNumbers(t *testing.T) {
	for _, six := range []bool{false, true} {
		t.Run(fmt.Sprintf("IPv6=%v", six), func(t *testing.T) {
			d := harness.NewDirectWorld(t, six)
			g := d.AddGateway()
			out, in := d.FromPod(), d.ToPod()
			in.Dst = map[bool]netip.Addr{false: harness.NodeIP, true: harness.NodeIP6}[six] // it gets no number of ours
			const number = 0x1234
			for _, c := range []struct {
				from    string
				prog    *ebpf.Program
				ifindex int
				packet  harness.Packet
			}{
				{"a Pod", d.Programs.OncacheEgress, d.PodIf, out},
				{"Open vSwitch", d.Programs.OncacheGatewayIngressInit, g.If, out.OnTheWire().AtGateway()},
				{"the network", d.Programs.OncacheIngress, d.UplinkIf, in},
				{"the host, to Open vSwitch", d.Programs.OncacheGatewayEgress, g.If, in.Arrived().AtGateway()},
				{"the host, to the network", d.Programs.OncacheEgressInit, d.UplinkIf, out.OnTheWire()},
			} {
				require.Zero(t, d.NumberAfter(c.prog, c.ifindex, number, c.packet.Bytes(t)), "from %s", c.from)
			}
			require.EqualValues(t, number, d.NumberAfter(d.Programs.OncacheIngressInit, d.PodIf, number, out.Bytes(t)), "this program ignores it")
		})
	}
}

// TestDirectPassesTheHost: only a Pod's packet to a Node that is reached directly enters the host with the number of its ticket. Whatever the
// host does to marks and numbers, a packet teaches only by its own ticket.
func TestDirectPassesTheHost(t *testing.T) {
	for _, six := range []bool{false, true} {
		t.Run(fmt.Sprintf("IPv6=%v", six), func(t *testing.T) {
			d := harness.NewDirectWorld(t, six)
			g := d.AddGateway()
			out := d.FromPod()
			behind := out.OnTheWire()
			passed := behind.AtGateway().Bytes(t)
			const foreign = 1 << 31
			mark := d.Egress(0, out.Bytes(t)).Mark | harness.Epoch<<20 | foreign
			require.Zero(t, d.EnterHost(mark&^harness.TicketBits, passed), "no ticket")
			require.Zero(t, d.EnterHost(mark^0x100, passed), "another ticket")
			elsewhere := behind.AtGateway()
			elsewhere.Dst = map[bool]netip.Addr{false: netip.MustParseAddr("203.0.113.10"), true: netip.MustParseAddr("2001:db8::1")}[six]
			require.Zero(t, d.EnterHost(mark, elsewhere.Bytes(t)), "to another destination")
			d.SetMode(datapath.ModeOff)
			require.Zero(t, d.EnterHost(mark, passed), "switched off")
			d.SetMode(datapath.ModeEnforce)
			forgetTickets(&d.World)
			mark = d.Egress(0, out.Bytes(t)).Mark | harness.Epoch<<20
			number := d.EnterHost(mark, passed)
			require.NotZero(t, number)
			require.Empty(t, d.LeaveHost(number^1, 0, behind.Bytes(t)).Reason, "another number")
			require.Empty(t, d.LeaveHost(0, 0, behind.Bytes(t)).Reason, "no number")
			require.Empty(t, d.LeaveHost(0xfc00, 0, behind.Bytes(t)).Reason, "no ticket's number")
			require.NotEqual(t, "learned", d.EgressInit(mark, behind.Bytes(t)).Reason, "a mark that the host has given")
			forgetTickets(&d.World)
			other := out
			other.Seq, other.ID = other.Seq+1, other.ID+1
			require.NotZero(t, d.Egress(0, other.Bytes(t)).Mark)
			require.Equal(t, "not_established", d.LeaveHost(number, 0, other.OnTheWire().Bytes(t)).Reason, "it has not come from Open vSwitch")
			require.Empty(t, d.Entries())
			forgetTickets(&d.World)
			number = d.EnterHost(d.Egress(0, out.Bytes(t)).Mark|harness.Epoch<<20, passed)
			for _, device := range []int{0, 1, g.If} { // 0: sent by the host
				require.Empty(t, d.LeaveHost(number, 0, behind.Bytes(t), harness.ReceivedOn(device)).Reason, "it came in by device %d", device)
			}
			require.Equal(t, "learned", d.LeaveHost(number, 0, behind.Bytes(t)).Reason)

			// The host's own packet, which Open vSwitch has sent back to the host.
			sent := g.FromHost()
			require.Zero(t, d.EnterHost(g.Egress(0, sent.Bytes(t)).Mark|harness.Epoch<<20, sent.Bytes(t)))

			in := d.ToPod()
			d.Ingress(0, in.Bytes(t))
			number = d.Issued()
			arrived := in.Arrived().AtGateway().Bytes(t)
			for _, device := range []int{0, 1, g.If} {
				require.Zero(t, d.ReachOVS(number, arrived, harness.ReceivedOn(device))&harness.TicketBits, "it came in by device %d", device)
			}
			r := d.RunWithTCIndex(d.Programs.OncacheGatewayEgress, g.If, number, foreign, arrived, harness.ReceivedOn(d.UplinkIf))
			require.Equal(t, "not_remote", r.Reason)
			require.NotZero(t, r.Stamp)
			require.EqualValues(t, foreign, r.Mark&^harness.TicketBits)
			require.Zero(t, d.ReachOVS(number^1, arrived)&harness.TicketBits, "no ticket of Ingress")
			require.Zero(t, d.ReachOVS(0xffff, arrived)&harness.TicketBits)
			require.Equal(t, "learned", d.IngressInit(r.Mark|harness.Epoch<<20, in.Arrived().Bytes(t)).Reason)
		})
	}
}
