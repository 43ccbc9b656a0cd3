// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package packets

import (
	"net"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
)

// TestLocalFlow: packets between two Pods of the Node are learned in both directions, and then delivered as they were sent.
func TestLocalFlow(t *testing.T) {
	for name, tc := range map[string]struct{ six, udp bool }{
		"TCP, IPv4": {false, false}, "TCP, IPv6": {true, false}, "UDP, IPv4": {false, true}, "UDP, IPv6": {true, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := harness.NewWorldOf(t, harness.Family{Inner6: tc.six})
			own, peer := w.LocalPeer()
			there, back := own.To(peer, tc.udp)
			r := own.LearnTo(peer, there)
			require.Equal(t, harness.Result{Verdict: harness.Next, Packet: there.Bytes(t), Reason: "learned"}, r)
			if !tc.udp {
				require.Equal(t, "not_proved", own.Egress(0, there.Bytes(t)).Reason)
			}
			require.Equal(t, "learned", peer.LearnTo(own, back).Reason)
			for _, hit := range []struct {
				from   *harness.Pod
				packet harness.Packet
			}{{own, there}, {peer, back}} {
				r := hit.from.Egress(1<<31, hit.packet.Bytes(t))
				require.Equal(t, harness.Result{Verdict: harness.Redirect, Packet: hit.packet.Bytes(t), Reason: "hit_local"}, r)
			}
			require.Equal(t, [2]int64{1, 0}, own.Counts())
			require.Equal(t, [2]int64{1, 0}, peer.Counts())
			for _, f := range w.Entries() {
				require.True(t, f.Local)
				require.True(t, f.Active(), "%+v", f)
				require.Equal(t, datapath.DirectionEgress, f.Direction)
				require.EqualValues(t, 1, f.Packets)
				require.ElementsMatch(t, []int{own.Slot, peer.Slot}, []int{f.EndpointSlot, f.PeerSlot})
				require.Equal(t, f.Source.Addr() == there.Src, f.EndpointSlot == own.Slot)
			}
		})
	}
}

// TestLocalEgressRefuses lists packets of a learned local flow that must not be hits.
func TestLocalEgressRefuses(t *testing.T) {
	for _, tc := range []struct {
		name   string
		packet func(*harness.Packet)
		skb    func(*harness.SKB)
		world  func(own, peer *harness.Pod)
		reason string
	}{
		{name: "the sender has changed", world: func(own, _ *harness.Pod) { own.Evict() }, reason: "stale_endpoint"},
		{name: "the receiver has changed", world: func(_, peer *harness.Pod) { peer.Evict() }, reason: "stale_endpoint"},
		{name: "everything is void", world: func(own, _ *harness.Pod) { own.BumpAll() }, reason: "stale_all"},
		{name: "the receiver is gone", world: func(_, peer *harness.Pod) {
			peer.Evict()
			require.NoError(peer.T, peer.ClearEndpoint(peer.Slot))
		}, reason: "not_remote"},
		{name: "another interface", skb: func(s *harness.SKB) { s.Ifindex = 1 }, reason: "spoof"},
		{name: "source MAC of another Pod", packet: func(p *harness.Packet) { p.SrcMAC = harness.LocalMAC }, reason: "spoof"},
		{name: "to be routed", packet: func(p *harness.Packet) { p.DstMAC = harness.GatewayMAC }, reason: "spoof"},
		{name: "to another MAC", packet: func(p *harness.Packet) { p.DstMAC = net.HardwareAddr{2, 0, 0, 0, 9, 9} }, reason: "spoof"},
		{name: "larger than the receiver's MTU", packet: func(p *harness.Packet) { p.Payload = 1461 }, reason: "mtu"},
		{name: "as large as the receiver's MTU", packet: func(p *harness.Packet) { p.Payload = 1460 }, reason: "hit_local"},
		{name: "TTL 1", packet: func(p *harness.Packet) { p.TTL = 1 }, reason: "ttl"},
		{name: "lease over", world: func(own, _ *harness.Pod) { own.EndLeases() }, reason: "lease"},
		{name: "observe", world: func(own, _ *harness.Pod) { own.SetMode(datapath.ModeObserve) }, reason: "observed"},
		{name: "off", world: func(own, _ *harness.Pod) { own.SetMode(datapath.ModeOff) }, reason: "off"},
		{name: "one direction lost to the LRU and not yet back", world: func(own, _ *harness.Pod) {
			own.ChangeEntries(func(v *object.BpfOncValidity) { v.Proved = 1 })
		}, reason: "not_proved"},
		{name: "entry recycled", world: func(own, _ *harness.Pod) {
			own.ChangeEntries(func(v *object.BpfOncValidity) { v.Tag++ })
		}, reason: "no_entry"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := harness.NewWorld(t)
			own, peer := w.LocalPeer()
			there, back := own.To(peer, false)
			own.LearnTo(peer, there)
			peer.LearnTo(own, back)
			if tc.world != nil {
				tc.world(own, peer)
			}
			if tc.packet != nil {
				tc.packet(&there)
			}
			var tweaks []func(*harness.SKB)
			if tc.skb != nil {
				tweaks = append(tweaks, tc.skb)
			}
			r := own.Egress(0, there.Bytes(t), tweaks...)
			require.Equal(t, tc.reason, r.Reason)
			require.Equal(t, there.Bytes(t), r.Packet)
			require.Equal(t, tc.reason == "hit_local", r.Verdict == harness.Redirect)
		})
	}
}

// TestLocalUDPSuperPacket: such a packet is left to Open vSwitch, as one from the tunnel is.
func TestLocalUDPSuperPacket(t *testing.T) {
	for name, f := range harness.Families {
		t.Run(name, func(t *testing.T) {
			own, peer := harness.NewWorldOf(t, f).LocalPeer()
			there, _ := own.To(peer, true)
			require.Equal(t, "learned", own.LearnTo(peer, there).Reason)
			own.KeepLeases()
			require.Equal(t, "hit_local", own.Egress(0, there.Bytes(t)).Reason)
			r := own.Egress(0, there.Bytes(t), func(s *harness.SKB) { s.GSOSize, s.GSOSegs = 50, 2 })
			require.Equal(t, "offload", r.Reason)
			require.Equal(t, harness.Next, r.Verdict)
			require.Equal(t, there.Bytes(t), r.Packet)
		})
	}
}

// TestLocalInitLearnsNothing lists packets from which Ingress-Init must not learn a local flow.
func TestLocalInitLearnsNothing(t *testing.T) {
	other := netip.MustParseAddr("10.10.1.9")
	const epochs = harness.Epoch << 20
	for _, tc := range []struct {
		name   string
		mark   func(ticket uint32) uint32
		queue  uint32 // 0: the right one
		packet func(*harness.Packet)
		skb    func(*harness.SKB)
		world  func(own, peer *harness.Pod)
		reason string
	}{
		{name: "no epoch", mark: func(m uint32) uint32 { return m }, reason: "not_established"},
		{name: "no queue", skb: func(s *harness.SKB) { s.Priority = 0 }, reason: "not_established"},
		{name: "queue 0", skb: func(s *harness.SKB) { s.Priority = harness.QueuePriority }, reason: "not_established"},
		{name: "queue that is no epoch", queue: 512, reason: "not_established"},
		{name: "older epoch of the sender", mark: func(m uint32) uint32 { return m | (harness.Epoch-1)<<20 }, reason: "stale_epoch"},
		{name: "older epoch of the receiver", queue: harness.LocalEpoch - 1, reason: "stale_epoch"},
		{name: "the sender's epoch twice", queue: harness.Epoch, reason: "stale_epoch"},
		{name: "stamp left over", mark: func(m uint32) uint32 { return m | epochs | harness.StampBit }, reason: "stale_epoch"},
		{name: "the sender changes in between", world: func(own, _ *harness.Pod) { own.SetEpoch(harness.Epoch + 1) }, reason: "stale_epoch"},
		{name: "the receiver changes in between", world: func(_, peer *harness.Pod) { peer.SetEpoch(harness.LocalEpoch + 1) }, reason: "stale_epoch"},
		{name: "the sender may learn nothing", world: func(own, _ *harness.Pod) { own.SetEpoch(0) }, reason: "stale_epoch"},
		{name: "the receiver may learn nothing", world: func(_, peer *harness.Pod) { peer.SetEpoch(0) }, reason: "stale_epoch"},
		{name: "forged mark: another ticket", mark: func(m uint32) uint32 { return m ^ 0x100 | epochs }, reason: "no_ticket"},
		{name: "another packet of the flow", packet: func(p *harness.Packet) { p.ID++ }, reason: "no_ticket"},
		{name: "destination port translated", packet: func(p *harness.Packet) { p.DstPort++ }, reason: "rewritten"},
		{name: "source address translated", packet: func(p *harness.Packet) { p.Src = other }, reason: "rewritten"},
		{name: "DSCP changed", packet: func(p *harness.Packet) { p.ToS = 0x20 }, reason: "rewritten"},
		{name: "routed", packet: func(p *harness.Packet) { p.TTL-- }, reason: "rewritten"},
		{name: "VLAN tag", packet: func(p *harness.Packet) { p.VLAN = true }, reason: "not_ip"},
		{name: "a FIN merged into it", packet: func(p *harness.Packet) { p.Flags = "F" }, reason: "tcp_flags"},
		{name: "another source MAC", packet: func(p *harness.Packet) { p.SrcMAC = harness.GatewayMAC }, reason: "no_endpoint"},
		{name: "another destination MAC", packet: func(p *harness.Packet) { p.DstMAC = harness.GatewayMAC }, reason: "no_endpoint"},
		{name: "delivered to an interface of no Pod", skb: func(s *harness.SKB) { s.Ifindex = 1 }, reason: "no_endpoint"},
		{name: "back to the sender", skb: func(s *harness.SKB) { s.Ifindex = 0 }, reason: "no_endpoint"},
		{name: "the sender's slot is another Pod's", world: func(own, _ *harness.Pod) {
			require.NoError(own.T, own.SetEndpoint(own.Slot, datapath.Endpoint{IfIndex: own.PodIf, IPv4: other, MAC: harness.PodMAC}))
		}, reason: "no_endpoint"},
		{name: "the receiver's slot is another Pod's", world: func(_, peer *harness.Pod) {
			require.NoError(peer.T, peer.SetEndpoint(peer.Slot, datapath.Endpoint{IfIndex: peer.PodIf, IPv4: other, MAC: harness.LocalMAC}))
		}, reason: "no_endpoint"},
		{name: "no agent maintains conntrack", world: func(own, _ *harness.Pod) { own.Control().Until = 0 }, reason: "no_agent"},
		{name: "switched off with a ticket under way", world: func(own, _ *harness.Pod) { own.SetMode(datapath.ModeOff) }, reason: "off"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := harness.NewWorld(t)
			own, peer := w.LocalPeer()
			there, _ := own.To(peer, false)
			mark := own.Egress(0, there.Bytes(t)).Mark
			require.NotZero(t, mark, "a ticket")
			if tc.mark == nil {
				mark |= epochs
			} else {
				mark = tc.mark(mark)
			}
			if tc.packet != nil {
				tc.packet(&there)
			}
			if tc.world != nil {
				tc.world(own, peer)
			}
			queue := uint32(harness.LocalEpoch)
			if tc.queue != 0 {
				queue = tc.queue
			}
			tweaks := []func(*harness.SKB){harness.WithQueue(queue), func(s *harness.SKB) {
				if tc.skb == nil {
					return
				}
				tc.skb(s)
				if s.Ifindex == 0 {
					s.Ifindex = uint32(own.PodIf)
				}
			}}
			frame := there.Bytes(t)
			r := peer.IngressInit(mark, frame, tweaks...)
			require.Equal(t, harness.Result{Verdict: harness.Next, Packet: frame, Reason: tc.reason}, r)
			require.Empty(t, w.Entries())
		})
	}
}

// TestNoLocalTicket lists packets to the Node's own Pods of which Egress must not let Ingress-Init learn.
func TestNoLocalTicket(t *testing.T) {
	for _, tc := range []struct {
		name   string
		packet func(*harness.Packet)
		world  func(own, peer *harness.Pod)
		reason string
	}{
		{name: "to itself", packet: func(p *harness.Packet) { p.Dst, p.DstMAC = p.Src, p.SrcMAC }, reason: "not_remote"},
		{name: "the receiver stays on Open vSwitch", world: func(_, peer *harness.Pod) { require.NoError(peer.T, peer.ClearEndpoint(peer.Slot)) }, reason: "not_remote"},
		{name: "the sender stays on Open vSwitch", world: func(own, _ *harness.Pod) { require.NoError(own.T, own.ClearEndpoint(own.Slot)) }, reason: "no_endpoint"},
		{name: "forged source", packet: func(p *harness.Packet) { p.Src = netip.MustParseAddr("10.10.1.9") }, reason: "no_entry"},
		{name: "forged source MAC", packet: func(p *harness.Packet) { p.SrcMAC = harness.LocalMAC }, reason: "no_entry"},
		{name: "to the gateway's MAC", packet: func(p *harness.Packet) { p.DstMAC = harness.GatewayMAC }, reason: "not_remote"},
		{name: "SYN", packet: func(p *harness.Packet) { p.Flags = "-S" }, reason: "tcp_flags"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := harness.NewWorld(t)
			own, peer := w.LocalPeer()
			there, _ := own.To(peer, false)
			if tc.packet != nil {
				tc.packet(&there)
			}
			if tc.world != nil {
				tc.world(own, peer)
			}
			r := own.Egress(0, there.Bytes(t))
			require.Equal(t, tc.reason, r.Reason)
			require.Zero(t, r.Mark, "no ticket")
		})
	}
}

// TestLocalFlowOfStrangers: as between Nodes, a flow gets a ticket from its second packet on, or when its other half has an entry.
func TestLocalFlowOfStrangers(t *testing.T) {
	w := harness.NewStrangersWorld(t, harness.Family{})
	own, peer := w.LocalPeer()
	there, back := own.To(peer, false)
	require.Zero(t, own.Egress(0, there.Bytes(t)).Mark, "the first packet")
	require.Equal(t, "learned", own.LearnTo(peer, there).Reason)
	back.Payload = 0
	require.Equal(t, "learned", peer.LearnTo(own, back).Reason)
}

// TestLocalFlowEnds: SYN, FIN and RST of either end, and of no other sender, delete both entries.
func TestLocalFlowEnds(t *testing.T) {
	for _, flag := range []string{"S", "F", "R"} {
		for name, byPeer := range map[string]bool{"by the client": false, "by the server": true} {
			t.Run(flag+" "+name, func(t *testing.T) {
				w := harness.NewWorld(t)
				own, peer := w.LocalPeer()
				there, back := own.To(peer, false)
				own.LearnTo(peer, there)
				peer.LearnTo(own, back)
				there.Flags, back.Flags = flag, flag
				require.Equal(t, "tcp_flags", peer.Egress(0, there.Bytes(t)).Reason)
				require.Len(t, w.Entries(), 2, "not its address")
				if byPeer {
					require.Equal(t, "tcp_flags", peer.Egress(0, back.Bytes(t)).Reason)
				} else {
					require.Equal(t, "tcp_flags", own.Egress(0, there.Bytes(t)).Reason)
				}
				require.Empty(t, w.Entries())
				require.Zero(t, own.Counts())
				require.Zero(t, peer.Counts())
			})
		}
	}
}

// TestLocalFlowEndsByHalf: the end of a connection deletes the entry of the other direction, even if the LRU has evicted its own.
func TestLocalFlowEndsByHalf(t *testing.T) {
	for name, f := range harness.Families {
		t.Run(name, func(t *testing.T) {
			w := harness.NewWorldOf(t, f)
			own, peer := w.LocalPeer()
			there, back := own.To(peer, false)
			peer.LearnTo(own, back)
			require.Len(t, w.Entries(), 1)
			there.Flags = "F"
			require.Equal(t, "tcp_flags", own.Egress(0, there.Bytes(t)).Reason)
			require.Empty(t, w.Entries())
			require.Zero(t, peer.Counts())
		})
	}
}

// TestLocalLease: a probe renews its entry, asks the other direction for one, and a lost half recovers.
func TestLocalLease(t *testing.T) {
	w := harness.NewWorld(t)
	own, peer := w.LocalPeer()
	there, back := own.To(peer, false)
	own.LearnTo(peer, there)
	peer.LearnTo(own, back)
	const lease = 1 << 20
	w.Control().Lease = lease
	now := w.Jiffies(t)
	w.ChangeEntries(func(v *object.BpfOncValidity) { v.Lease, v.Probed = now+lease, uint32(now)-lease })
	w.ChangeEntries(func(v *object.BpfOncValidity) {
		if int(v.Endpoint) == own.Slot {
			v.Lease = now + lease/8
		}
	})
	require.Equal(t, "lease", own.Egress(0, there.Bytes(t)).Reason)
	require.Equal(t, "hit_local", own.Egress(0, there.Bytes(t)).Reason, "the probe is in flight")
	require.Equal(t, "lease", peer.Egress(0, back.Bytes(t)).Reason, "asked too")
	require.Equal(t, "hit_local", peer.Egress(0, back.Bytes(t)).Reason)

	w.EndLeases()
	require.Equal(t, "renewed", own.LearnTo(peer, there).Reason)
	require.Equal(t, "renewed", peer.LearnTo(own, back).Reason)
	require.Equal(t, "hit_local", own.Egress(0, there.Bytes(t)).Reason)

	require.NoError(t, w.DeleteFlow(6, netip.AddrPortFrom(there.Src, there.SrcPort), netip.AddrPortFrom(there.Dst, there.DstPort), netip.AddrPortFrom(there.Dst, there.DstPort)))
	require.Empty(t, w.Entries(), "both halves")
}

// TestQueueIsForgotten: no queueing discipline of the Pod's device sees the epoch, and other priorities stay.
func TestQueueIsForgotten(t *testing.T) {
	w := harness.NewWorld(t)
	for priority, want := range map[uint32]uint32{harness.QueuePriority: 0, harness.QueuePriority + 511: 0, harness.QueuePriority - 1: harness.QueuePriority - 1, harness.QueuePriority + 512: harness.QueuePriority + 512, 6: 6} {
		r := harness.NewTestRun(w.Programs.OncacheIngressInit, 1<<12)
		r.Context = harness.SKB{Ifindex: uint32(w.PodIf), Priority: priority}
		require.NoError(t, r.Run(harness.ToPod().Bytes(t)))
		require.Equal(t, want, r.ContextOut.Priority)
	}
}

// TestLocalNextPod: a Pod that gets slot, interface and address of another one inherits none of its flows.
func TestLocalNextPod(t *testing.T) {
	w := harness.NewWorld(t)
	own, peer := w.LocalPeer()
	there, back := own.To(peer, false)
	own.LearnTo(peer, there)
	peer.LearnTo(own, back)
	peer.Announce()
	peer.SetEpoch(harness.LocalEpoch)
	require.Equal(t, "stale_endpoint", own.Egress(0, there.Bytes(t)).Reason)
	require.Equal(t, "stale_endpoint", peer.Egress(0, back.Bytes(t)).Reason)
	require.Equal(t, "learned", own.LearnTo(peer, there).Reason)
	require.Equal(t, "not_proved", own.Egress(0, there.Bytes(t)).Reason, "the other half is still of the former Pod")
}
