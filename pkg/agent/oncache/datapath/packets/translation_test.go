// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package packets

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
)

// eachService runs a test for all IP versions, and for TCP and UDP.
func eachService(t *testing.T, test func(t *testing.T, w *harness.World, e harness.Exchange)) {
	for name, f := range harness.Families {
		for _, udp := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s udp=%v", name, udp), func(t *testing.T) {
				w := harness.NewWorldOf(t, f)
				test(t, w, w.ThroughService(udp))
			})
		}
	}
}

// TestServiceIsLearnedThenHit: both directions of a connection through a Service are repeated as Open vSwitch translates them.
func TestServiceIsLearnedThenHit(t *testing.T) {
	eachService(t, func(t *testing.T, w *harness.World, e harness.Exchange) {
		r := w.LearnSent(e)
		require.Equal(t, "learned", r.Reason)
		if !e.Sent.UDP {
			require.Equal(t, "not_proved", w.Egress(0, e.Sent.Bytes(t)).Reason)
		}
		require.Equal(t, "learned", w.LearnReceived(e).Reason)
		w.KeepLeases()

		e.Sent.ID, e.Sent.Payload, e.Sent.ToS = 9, 33, 3
		e.SentOn.ID, e.SentOn.Payload, e.SentOn.ToS = 9, 33, 3
		r = w.Egress(0, e.Sent.Bytes(t))
		require.Equal(t, "hit", r.Reason)
		require.Equal(t, harness.Redirect, r.Verdict)
		w.RequireSent(t, e.SentOn, r.Packet)

		e.Received.Payload, e.ReceivedOn.Payload = 0, 0
		frame := w.FromPeer().Wrap(t, e.Received.Bytes(t))
		r = w.Ingress(0, frame)
		require.Equal(t, w.Decapsulated(), r.Reason)
		if r.Reason == "hit" {
			require.Empty(t, cmp.Diff(e.ReceivedOn.Bytes(t), r.Packet))
		}
		requireEnds(t, w, e)
	})
}

// requireEnds checks the addresses that the agent sees.
func requireEnds(t *testing.T, w *harness.World, e harness.Exchange) {
	t.Helper()
	end := netip.AddrPortFrom
	pod, service, endpoint := end(e.Sent.Src, e.Sent.SrcPort), end(e.Sent.Dst, e.Sent.DstPort), end(e.SentOn.Dst, e.SentOn.DstPort)
	entries := w.Entries()
	require.Len(t, entries, 2)
	for _, f := range entries {
		ends := [3]netip.AddrPort{f.Source, f.Destination, f.Translated}
		if f.Direction == datapath.DirectionEgress {
			require.Equal(t, [3]netip.AddrPort{pod, service, endpoint}, ends)
		} else {
			require.Equal(t, [3]netip.AddrPort{endpoint, pod, service}, ends)
		}
		source, destination := f.Sent()
		require.Equal(t, [2]netip.AddrPort{pod, service}, [2]netip.AddrPort{source, destination})
		source, destination = f.Received()
		require.Equal(t, [2]netip.AddrPort{endpoint, pod}, [2]netip.AddrPort{source, destination})
		other, err := w.Opposite(&f)
		require.NoError(t, err)
		require.NotEqual(t, f.Direction, other.Direction)
	}
}

// TestServiceChecksums: UDP without a checksum stays without, and one that becomes 0 is written as 0xffff (RFC 768). A wrong one stays
// wrong. Every checksum of a TCP segment comes out right.
func TestServiceChecksums(t *testing.T) {
	w := harness.NewWorld(t)
	e := w.ThroughService(true)
	require.Equal(t, "learned", w.LearnSent(e).Reason)
	w.KeepLeases()
	sent, sentOn := e.Sent.Bytes(t), e.SentOn.Bytes(t)
	const checksum, payload, outer = 14 + 26, 14 + 28, 50
	through := func(sum, word uint16) (after uint16) {
		b := append([]byte{}, sent...)
		b[checksum], b[checksum+1] = byte(sum>>8), byte(sum)
		b[payload+8], b[payload+9] = byte(word>>8), byte(word)
		r := w.Egress(0, b)
		require.Equal(t, "hit", r.Reason)
		return uint16(r.Packet[outer+checksum])<<8 | uint16(r.Packet[outer+checksum+1])
	}
	right := uint16(sentOn[checksum])<<8 | uint16(sentOn[checksum+1])
	original := uint16(sent[checksum])<<8 | uint16(sent[checksum+1])
	word := uint16(sent[payload+8])<<8 | uint16(sent[payload+9])
	require.Equal(t, right, through(original, word))
	require.Zero(t, through(0, word), "no checksum")
	for sum := range uint16(0xffff) {
		// The payload changes by what the checksum changes, so that both agree.
		if sum%257 != 0 && sum < 0xff00 {
			continue
		}
		after := through(sum+1, word)
		require.NotZero(t, after, "checksum %#x", sum+1)
		// after - right == before - original, in one's complement.
		require.Equal(t, (uint32(sum)+1+0xffff-uint32(original))%0xffff, (uint32(after)+0xffff-uint32(right))%0xffff, "checksum %#x", sum+1)
	}
}

// TestServiceAddressIsKnown: packets to an address that is not a Service's get no ticket, unless their flow is in the cache.
func TestServiceAddressIsKnown(t *testing.T) {
	for name, f := range harness.Families {
		t.Run(name, func(t *testing.T) {
			w := harness.NewWorldOf(t, f)
			e := w.ThroughService(false)
			w.LearnExchange(e)
			withdraw := func() {
				require.NoError(t, w.RemoveServiceAddress(harness.ServiceIP))
				require.NoError(t, w.RemoveServiceAddress(harness.ServiceIP6))
			}
			withdraw()
			require.Equal(t, "hit", w.Egress(0, e.Sent.Bytes(t)).Reason, "the Service is gone, its connections continue")
			w.EndLeases()
			require.Equal(t, "renewed", w.LearnSent(e).Reason)
			e.Sent.SrcPort++
			r := w.Egress(0, e.Sent.Bytes(t))
			require.Equal(t, "not_remote", r.Reason)
			require.Zero(t, r.Mark)
		})
	}
}

// TestServiceOtherEndpoint: when Open vSwitch translates the flow to another Endpoint, as it may do with datagrams after the connection
// has ended in conntrack, the entry follows.
func TestServiceOtherEndpoint(t *testing.T) {
	w := harness.NewWorld(t)
	e := w.ThroughService(true)
	w.LearnExchange(e)
	w.EndLeases()
	other := e
	other.SentOn.Dst, other.SentOn.DstPort = netip.MustParseAddr("10.10.2.3"), 9000
	require.Equal(t, "learned", w.LearnSent(other).Reason)
	w.KeepLeases()
	r := w.Egress(0, e.Sent.Bytes(t))
	require.Equal(t, "hit", r.Reason)
	w.RequireSent(t, other.SentOn, r.Packet)
}

// TestServiceOutsideTheCluster: an Endpoint that is not in the Pod network of a Node is not reached through the tunnel.
func TestServiceOutsideTheCluster(t *testing.T) {
	eachService(t, func(t *testing.T, w *harness.World, e harness.Exchange) {
		e.SentOn.Dst = netip.MustParseAddr("203.0.113.9")
		if e.Sent.Src.Is6() {
			e.SentOn.Dst = netip.MustParseAddr("2001:db8::9")
		}
		require.Equal(t, "not_remote", w.LearnSent(e).Reason)
		require.Empty(t, w.Entries())
	})
}

// TestServiceAndDirectConnection: the Pod has talked to the Endpoint itself, and then does so through its Service with the same ports.
// Neither proves the other.
func TestServiceAndDirectConnection(t *testing.T) {
	w := harness.NewWorld(t)
	e := w.ThroughService(false)
	direct := e.SentOn
	direct.TTL++
	direct.SrcMAC, direct.DstMAC = harness.PodMAC, harness.GatewayMAC
	w.Learn(direct, e.Received)
	require.Equal(t, "hit", w.Egress(0, direct.Bytes(t)).Reason)
	require.Equal(t, "learned", w.LearnSent(e).Reason)
	require.Equal(t, "not_proved", w.Egress(0, e.Sent.Bytes(t)).Reason, "the answers belong to the other connection")
	expireDirection(w, datapath.DirectionIngress)
	require.Equal(t, "learned", w.LearnReceived(e).Reason, "another translation is another entry")
	require.Equal(t, "hit", w.Egress(0, e.Sent.Bytes(t)).Reason)
}

// TestServiceEnds: FIN and RST of either end both entries, and so does the start of another connection.
func TestServiceEnds(t *testing.T) {
	for name, f := range harness.Families {
		for _, flags := range []string{"F", "R", "-S", "S"} {
			t.Run(name+" "+flags, func(t *testing.T) {
				w := harness.NewWorldOf(t, f)
				e := w.ThroughService(false)
				last := e
				last.Sent.Flags, last.Received.Flags = flags, flags
				w.LearnExchange(e)
				require.Equal(t, "tcp_flags", w.Egress(0, last.Sent.Bytes(t)).Reason)
				require.Empty(t, w.Entries())
				forgetTickets(w) // of a SYN-ACK
				w.LearnExchange(e)
				require.Equal(t, "tcp_flags", w.Ingress(0, w.FromPeer().Wrap(t, last.Received.Bytes(t))).Reason)
				require.Empty(t, w.Entries())
				require.Equal(t, [2]int64{}, w.Pod().Counts())
			})
		}
	}
}

// TestServiceIsDeleted: the agent can end both entries, knowing the addresses that conntrack has.
func TestServiceIsDeleted(t *testing.T) {
	eachService(t, func(t *testing.T, w *harness.World, e harness.Exchange) {
		w.LearnExchange(e)
		end := netip.AddrPortFrom
		protocol := uint8(6)
		if e.Sent.UDP {
			protocol = 17
		}
		require.NoError(t, w.DeleteFlow(protocol, end(e.Sent.Src, e.Sent.SrcPort), end(e.Sent.Dst, e.Sent.DstPort), end(e.SentOn.Dst, e.SentOn.DstPort)))
		require.Empty(t, w.Entries())
	})
}

// TestServiceProbesBothDirections: when the lease of one direction ends, both directions probe.
func TestServiceProbesBothDirections(t *testing.T) {
	eachService(t, func(t *testing.T, w *harness.World, e harness.Exchange) {
		ingress := func() string { return w.Ingress(0, w.FromPeer().Wrap(t, e.Received.Bytes(t))).Reason }
		egress := func() string { return w.Egress(0, e.Sent.Bytes(t)).Reason }
		for _, first := range []datapath.Direction{datapath.DirectionEgress, datapath.DirectionIngress} {
			w.LearnExchange(e)
			w.ChangeValidities(func(d datapath.Direction, v *object.BpfOncValidity) {
				v.Lease, v.Probed = w.Jiffies(t)+w.Control().Lease, uint32(w.Jiffies(t)-w.Control().Lease)
				if d == first {
					v.Lease = w.Jiffies(t) + w.Control().Lease/8
				}
			})
			one, other := egress, ingress
			if first == datapath.DirectionIngress {
				one, other = ingress, egress
			}
			require.Equal(t, "lease", one())
			require.Equal(t, "lease", other(), "first %s", first)
			require.NoError(t, w.DeleteFlow(6, netip.AddrPortFrom(e.Sent.Src, e.Sent.SrcPort), netip.AddrPortFrom(e.Sent.Dst, e.Sent.DstPort), netip.AddrPortFrom(e.SentOn.Dst, e.SentOn.DstPort)))
			require.NoError(t, w.DeleteFlow(17, netip.AddrPortFrom(e.Sent.Src, e.Sent.SrcPort), netip.AddrPortFrom(e.Sent.Dst, e.Sent.DstPort), netip.AddrPortFrom(e.SentOn.Dst, e.SentOn.DstPort)))
		}
	})
}

// TestServiceOtherDirectionIsExpected: once one direction has been learned, a segment without data of the opposite direction gets a
// ticket.
func TestServiceOtherDirectionIsExpected(t *testing.T) {
	for name, f := range harness.Families {
		t.Run(name, func(t *testing.T) {
			w := harness.NewStrangersWorld(t, f)
			e := w.ThroughService(false)
			egress := func(payload int) harness.Result {
				p := e.Sent
				p.Payload = payload
				return w.Egress(0, p.Bytes(t))
			}
			acknowledged := e
			acknowledged.Received.Payload, acknowledged.ReceivedOn.Payload = 0, 0
			ingress := func() harness.Result { return w.Ingress(0, w.FromPeer().Wrap(t, acknowledged.Received.Bytes(t))) }
			require.Zero(t, egress(100).Mark)
			require.Zero(t, ingress().Mark, "no data, and nothing is known")
			r := egress(100)
			require.NotZero(t, r.Mark)
			require.Equal(t, "learned", w.EgressInit(r.Mark|harness.Epoch<<20, w.ToPeer().Wrap(t, e.SentOn.Bytes(t))).Reason)
			r = ingress()
			require.NotZero(t, r.Mark, "the other direction was learned")
			require.Equal(t, "learned", w.IngressInit(r.Mark|harness.Epoch<<20, acknowledged.ReceivedOn.Bytes(t)).Reason)
			require.Equal(t, "hit", egress(0).Reason)
		})
	}
}

// TestServiceSegmentsThatConntrackHasSeen: the agent is told the addresses by which conntrack knows the connection.
func TestServiceSegmentsThatConntrackHasSeen(t *testing.T) {
	for name, f := range harness.Families {
		t.Run(name, func(t *testing.T) {
			w := harness.NewWorldOf(t, f)
			e := w.ThroughService(false)
			w.LearnExchange(e)
			w.EndLeases()
			require.Equal(t, "renewed", w.LearnSent(e).Reason)
			require.Equal(t, "renewed", w.LearnReceived(e).Reason)
			passed, err := harness.Passed(w.Datapath)
			require.NoError(t, err)
			require.Len(t, passed, 3)
			for _, c := range passed {
				require.Equal(t, datapath.Connection{
					Source: netip.AddrPortFrom(e.Sent.Src, e.Sent.SrcPort), Destination: netip.AddrPortFrom(e.Sent.Dst, e.Sent.DstPort),
				}, c)
			}
		})
	}
}
