// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package packets

import (
	"fmt"
	"net"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
)

// localService is a connection of one Pod of the Node to another one, through a Service.
type localService struct {
	*harness.World
	client, server *harness.Pod
	harness.Exchange
}

// eachLocalService runs a test for both IP versions, and for TCP and UDP.
func eachLocalService(t *testing.T, test func(t *testing.T, s *localService)) {
	for _, six := range []bool{false, true} {
		for _, udp := range []bool{false, true} {
			t.Run(fmt.Sprintf("IPv6=%v udp=%v", six, udp), func(t *testing.T) {
				test(t, newLocalService(harness.NewWorldOf(t, harness.Family{Inner6: six}), udp))
			})
		}
	}
}

func newLocalService(w *harness.World, udp bool) *localService {
	s := &localService{World: w}
	s.client, s.server = w.LocalPeer()
	s.Exchange = s.client.ThroughServiceTo(s.server, udp)
	return s
}

func (s *localService) learnThere() string {
	return s.client.LearnChanged(s.server, s.Sent, s.SentOn).Reason
}

func (s *localService) learnBack() string {
	return s.server.LearnChanged(s.client, s.Received, s.ReceivedOn).Reason
}

func (s *localService) learnBoth(t *testing.T) {
	t.Helper()
	require.Equal(t, "learned", s.learnThere())
	require.Equal(t, "learned", s.learnBack())
	s.KeepLeases()
}

func (s *localService) there() string { return s.client.Egress(0, s.Sent.Bytes(s.T)).Reason }
func (s *localService) back() string  { return s.server.Egress(0, s.Received.Bytes(s.T)).Reason }

// delete makes the cache forget the connection by the addresses that conntrack has.
func (s *localService) delete(t *testing.T) {
	end := netip.AddrPortFrom
	for _, protocol := range []uint8{6, 17} {
		require.NoError(t, s.DeleteFlow(protocol, end(s.Sent.Src, s.Sent.SrcPort), end(s.Sent.Dst, s.Sent.DstPort), end(s.SentOn.Dst, s.SentOn.DstPort)))
	}
	require.Empty(t, s.Entries())
}

// TestLocalServiceIsLearnedThenHit: both directions of a connection within the Node are repeated as Open vSwitch translates and routes
// them.
func TestLocalServiceIsLearnedThenHit(t *testing.T) {
	eachLocalService(t, func(t *testing.T, s *localService) {
		require.Equal(t, "learned", s.learnThere())
		if !s.Sent.UDP {
			require.Equal(t, "not_proved", s.there())
		}
		require.Equal(t, "learned", s.learnBack())
		s.KeepLeases()
		for _, p := range []*harness.Packet{&s.Sent, &s.SentOn, &s.Received, &s.ReceivedOn} {
			p.ID, p.Payload, p.ToS = 9, 33, 3
		}
		for _, hit := range []struct {
			from          *harness.Pod
			sent, arrives harness.Packet
		}{{s.client, s.Sent, s.SentOn}, {s.server, s.Received, s.ReceivedOn}} {
			r := hit.from.Egress(1<<31, hit.sent.Bytes(t))
			require.Equal(t, "hit_local", r.Reason)
			require.Equal(t, harness.Redirect, r.Verdict)
			require.Zero(t, r.Mark)
			require.Empty(t, cmp.Diff(hit.arrives.Bytes(t), r.Packet))
		}
		s.requireEnds(t)
		require.Equal(t, [2]int64{1, 0}, s.client.Counts())
		require.Equal(t, [2]int64{1, 0}, s.server.Counts())
	})
}

// requireEnds checks the addresses that the agent sees.
func (s *localService) requireEnds(t *testing.T) {
	t.Helper()
	end := netip.AddrPortFrom
	client, service, endpoint := end(s.Sent.Src, s.Sent.SrcPort), end(s.Sent.Dst, s.Sent.DstPort), end(s.SentOn.Dst, s.SentOn.DstPort)
	entries := s.Entries()
	require.Len(t, entries, 2)
	for _, f := range entries {
		require.True(t, f.Local && f.Proved() && f.CurrentEndpoint && f.CurrentNode, "%+v", f)
		require.EqualValues(t, 1, f.Packets)
		ends, other := [3]netip.AddrPort{client, service, endpoint}, [2]netip.AddrPort{endpoint, client}
		if f.SourceTranslated {
			ends, other = [3]netip.AddrPort{endpoint, client, service}, [2]netip.AddrPort{client, service}
		}
		require.Equal(t, ends, [3]netip.AddrPort{f.Source, f.Destination, f.Translated})
		source, destination := f.Sent()
		require.Equal(t, [2]netip.AddrPort{f.Source, f.Destination}, [2]netip.AddrPort{source, destination})
		source, destination = f.Received()
		require.Equal(t, other, [2]netip.AddrPort{source, destination})
		opposite, err := s.Opposite(&f)
		require.NoError(t, err)
		require.NotEqual(t, f.SourceTranslated, opposite.SourceTranslated)
	}
}

// TestLocalServiceRefuses lists packets of learned flows that must not be hits.
func TestLocalServiceRefuses(t *testing.T) {
	for _, tc := range []struct {
		name   string
		packet func(there, back *harness.Packet)
		world  func(s *localService)
		reason string
	}{
		{name: "the client has changed", world: func(s *localService) { s.client.Evict() }, reason: "stale_endpoint"},
		{name: "the server has changed", world: func(s *localService) { s.server.Evict() }, reason: "stale_endpoint"},
		{name: "everything is void", world: func(s *localService) { s.BumpAll() }, reason: "stale_all"},
		{name: "source MAC of another Pod", packet: func(there, back *harness.Packet) {
			there.SrcMAC, back.SrcMAC = harness.LocalMAC, harness.PodMAC
		}, reason: "spoof"},
		{name: "sent to the other kind of MAC", packet: func(there, back *harness.Packet) {
			there.DstMAC, back.DstMAC = harness.LocalMAC, harness.GatewayMAC
		}, reason: "spoof"},
		{name: "sent to another MAC", packet: func(there, back *harness.Packet) {
			there.DstMAC, back.DstMAC = net.HardwareAddr{2, 0, 0, 0, 9, 9}, net.HardwareAddr{2, 0, 0, 0, 9, 9}
		}, reason: "spoof"},
		{name: "larger than the receiver's MTU", packet: func(there, back *harness.Packet) { there.Payload, back.Payload = 1461, 1461 }, reason: "mtu"},
		{name: "TTL 1", packet: func(there, back *harness.Packet) { there.TTL, back.TTL = 1, 1 }, reason: "ttl"},
		{name: "observe", world: func(s *localService) { s.SetMode(datapath.ModeObserve) }, reason: "observed"},
		{name: "entry recycled", world: func(s *localService) {
			s.ChangeEntries(func(v *object.BpfOncValidity) { v.Tag++ })
		}, reason: "no_entry"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newLocalService(harness.NewWorld(t), false)
			s.learnBoth(t)
			if tc.world != nil {
				tc.world(s)
			}
			if tc.packet != nil {
				tc.packet(&s.Sent, &s.Received)
			}
			for _, way := range []struct {
				from   *harness.Pod
				packet harness.Packet
			}{{s.client, s.Sent}, {s.server, s.Received}} {
				frame := way.packet.Bytes(t)
				r := way.from.Egress(0, frame)
				require.Equal(t, tc.reason, r.Reason)
				require.Equal(t, harness.Next, r.Verdict)
				require.Equal(t, frame, r.Packet, "untouched")
			}
		})
	}
}

// TestLocalServiceInitLearnsNothing lists what Open vSwitch does not do to a connection through a Service.
func TestLocalServiceInitLearnsNothing(t *testing.T) {
	another := netip.MustParseAddr("10.10.1.9")
	for _, tc := range []struct {
		name   string
		behind func(there, back *harness.Packet)
		reason string
	}{
		{name: "not routed", behind: func(there, back *harness.Packet) { there.TTL++; back.TTL++ }, reason: "rewritten"},
		{name: "routed twice", behind: func(there, back *harness.Packet) { there.TTL--; back.TTL-- }, reason: "rewritten"},
		{name: "both ends translated", behind: func(there, back *harness.Packet) { there.SrcPort++; back.DstPort++ }, reason: "rewritten"},
		{name: "the client's end translated", behind: func(there, back *harness.Packet) { there.Src, back.Dst = another, another }, reason: "rewritten"},
		{name: "not from the gateway", behind: func(there, back *harness.Packet) {
			there.SrcMAC, back.SrcMAC = harness.PodMAC, harness.LocalMAC
		}, reason: "no_endpoint"},
		{name: "not to the receiver", behind: func(there, back *harness.Packet) {
			there.DstMAC, back.DstMAC = harness.GatewayMAC, harness.GatewayMAC
		}, reason: "no_endpoint"},
		{name: "DSCP changed", behind: func(there, back *harness.Packet) { there.ToS, back.ToS = 0x20, 0x20 }, reason: "rewritten"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newLocalService(harness.NewWorld(t), false)
			there, back := s.SentOn, s.ReceivedOn
			tc.behind(&there, &back)
			require.Equal(t, tc.reason, s.client.LearnChanged(s.server, s.Sent, there).Reason)
			require.Equal(t, tc.reason, s.server.LearnChanged(s.client, s.Received, back).Reason)
			require.Empty(t, s.Entries())
		})
	}
	t.Run("to a Pod that is not the receiver", func(t *testing.T) {
		s := newLocalService(harness.NewWorld(t), false)
		there := s.SentOn
		there.Dst = another
		require.Equal(t, "no_endpoint", s.client.LearnChanged(s.server, s.Sent, there).Reason)
	})
	t.Run("back to the client", func(t *testing.T) {
		s := newLocalService(harness.NewWorld(t), false)
		require.Equal(t, "no_endpoint", s.client.LearnChanged(s.client, s.Sent, s.SentOn).Reason)
	})
}

// TestLocalServiceOfStrangers: the first packets of a connection gain nothing. Once one direction has been learned, a segment without
// data of the opposite direction gets a ticket.
func TestLocalServiceOfStrangers(t *testing.T) {
	for _, six := range []bool{false, true} {
		for _, first := range []string{"there", "back"} {
			t.Run(fmt.Sprintf("IPv6=%v %s", six, first), func(t *testing.T) {
				s := newLocalService(harness.NewStrangersWorld(t, harness.Family{Inner6: six}), false)
				one, other := s.learnThere, s.learnBack
				acknowledges, acknowledged := &s.Received, &s.ReceivedOn
				if first == "back" {
					one, other = other, one
					acknowledges, acknowledged = &s.Sent, &s.SentOn
				}
				acknowledges.Payload, acknowledged.Payload = 0, 0
				require.Equal(t, "", other(), "no data, and nothing is known: no ticket")
				require.Equal(t, "", one(), "the first packet")
				require.Equal(t, "learned", one())
				require.Equal(t, "learned", other(), "expected")
				s.KeepLeases()
				require.Equal(t, [2]string{"hit_local", "hit_local"}, [2]string{s.there(), s.back()})
			})
		}
	}
}

// TestLocalServiceEnds: SYN, FIN and RST of either end delete both entries.
func TestLocalServiceEnds(t *testing.T) {
	for _, six := range []bool{false, true} {
		for _, flags := range []string{"F", "R", "-S", "S"} {
			t.Run(fmt.Sprintf("IPv6=%v %s", six, flags), func(t *testing.T) {
				s := newLocalService(harness.NewWorldOf(t, harness.Family{Inner6: six}), false)
				last := *s
				last.Sent.Flags, last.Received.Flags = flags, flags
				for _, end := range []func() string{last.there, last.back} {
					s.learnBoth(t)
					require.Equal(t, "tcp_flags", end())
					require.Empty(t, s.Entries())
					require.Equal(t, [2][2]int64{}, [2][2]int64{s.client.Counts(), s.server.Counts()})
					forgetTickets(s.World) // of a SYN-ACK
				}
				s.learnBoth(t)
				require.Equal(t, "tcp_flags", s.server.Egress(0, last.Sent.Bytes(t)).Reason)
				require.Len(t, s.Entries(), 2, "not its address")
			})
		}
	}
}

// TestLocalServiceIsDeleted: the agent can end both entries, knowing the addresses that conntrack has.
func TestLocalServiceIsDeleted(t *testing.T) {
	eachLocalService(t, func(t *testing.T, s *localService) {
		s.learnBoth(t)
		s.delete(t)
	})
}

// TestLocalServiceProbes: when the lease of one direction ends, both directions probe, and each is renewed.
func TestLocalServiceProbes(t *testing.T) {
	eachLocalService(t, func(t *testing.T, s *localService) {
		for _, answers := range []bool{false, true} {
			s.learnBoth(t)
			const lease = 1 << 20
			s.Control().Lease = lease
			now := s.Jiffies(t)
			first := s.client.Slot
			if answers {
				first = s.server.Slot
			}
			s.ChangeValidities(func(_ datapath.Direction, v *object.BpfOncValidity) {
				v.Lease, v.Probed = now+lease, uint32(now)-lease
				if int(v.Endpoint) == first {
					v.Lease = now + lease/8
				}
			})
			one, other := s.there, s.back
			if answers {
				one, other = other, one
			}
			require.Equal(t, "lease", one())
			require.Equal(t, "hit_local", one(), "the probe is in flight")
			require.Equal(t, "lease", other(), "asked too")
			s.EndLeases()
			require.Equal(t, [2]string{"renewed", "renewed"}, [2]string{s.learnThere(), s.learnBack()})
			s.delete(t)
		}
	})
}

// TestLocalServiceAndDirectConnection: the client has talked to the server itself, and then does so through the Service with the same
// ports. Neither proves the other.
func TestLocalServiceAndDirectConnection(t *testing.T) {
	s := newLocalService(harness.NewWorld(t), false)
	there, back := s.client.To(s.server, false)
	there.DstPort, back.SrcPort = harness.EndpointPort, harness.EndpointPort
	require.Equal(t, "learned", s.client.LearnTo(s.server, there).Reason)
	require.Equal(t, "learned", s.server.LearnTo(s.client, back).Reason)
	require.Equal(t, "learned", s.learnThere())
	require.Equal(t, "not_proved", s.there(), "the answers belong to the other connection")
	s.EndLeases()
	require.Equal(t, "learned", s.learnBack(), "another translation is another entry")
	require.Equal(t, "hit_local", s.back())
	require.Equal(t, "renewed", s.learnThere())
	require.Equal(t, "hit_local", s.there())
}

// TestLocalServiceOtherEndpoint: when Open vSwitch translates the flow to an Endpoint on another Node, the entry follows, and back.
func TestLocalServiceOtherEndpoint(t *testing.T) {
	s := newLocalService(harness.NewWorld(t), true)
	s.learnBoth(t)
	remote := s.World.ThroughService(true)
	s.EndLeases()
	require.Equal(t, "learned", s.LearnSent(remote).Reason)
	s.KeepLeases()
	require.Equal(t, "hit", s.there())
	s.EndLeases()
	require.Equal(t, "learned", s.learnThere())
	s.KeepLeases()
	require.Equal(t, "hit_local", s.there())
}

// TestLocalServiceAddressIsKnown: packets to an address that is not a Service's get no ticket, unless their flow is in the cache.
func TestLocalServiceAddressIsKnown(t *testing.T) {
	eachLocalService(t, func(t *testing.T, s *localService) {
		s.learnBoth(t)
		require.NoError(t, s.RemoveServiceAddress(harness.ServiceIP))
		require.NoError(t, s.RemoveServiceAddress(harness.ServiceIP6))
		require.Equal(t, "hit_local", s.there(), "the Service is gone, its connections continue")
		s.EndLeases()
		require.Equal(t, [2]string{"renewed", "renewed"}, [2]string{s.learnThere(), s.learnBack()})
		s.Sent.SrcPort++
		require.Equal(t, "not_remote", s.there())
	})
}

// TestLocalServiceSegmentsThatConntrackHasSeen: the agent is told addresses by which conntrack knows the connection.
func TestLocalServiceSegmentsThatConntrackHasSeen(t *testing.T) {
	s := newLocalService(harness.NewWorld(t), false)
	s.learnBoth(t)
	s.EndLeases()
	require.Equal(t, [2]string{"renewed", "renewed"}, [2]string{s.learnThere(), s.learnBack()})
	passed, err := harness.Passed(s.Datapath)
	require.NoError(t, err)
	end := netip.AddrPortFrom
	original := datapath.Connection{Source: end(s.Sent.Src, s.Sent.SrcPort), Destination: end(s.Sent.Dst, s.Sent.DstPort)}
	reply := datapath.Connection{Source: end(s.Received.Src, s.Received.SrcPort), Destination: end(s.Received.Dst, s.Received.DstPort)}
	require.Equal(t, []datapath.Connection{reply, original, reply}, passed)
}
