// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/stretchr/testify/require"
)

// tcpPacket is a TCP segment from 10.0.0.1:sport to 10.0.0.2:80.
func tcpPacket(t *testing.T, sport uint16) []byte {
	t.Helper()
	ip := &layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolTCP, SrcIP: net.IP{10, 0, 0, 1}, DstIP: net.IP{10, 0, 0, 2}}
	tcp := &layers.TCP{SrcPort: layers.TCPPort(sport), DstPort: 80, SYN: true}
	require.NoError(t, tcp.SetNetworkLayerForChecksum(ip))
	b := gopacket.NewSerializeBuffer()
	require.NoError(t, gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true},
		&layers.Ethernet{SrcMAC: macA, DstMAC: mac("0a:00:00:00:00:02"), EthernetType: layers.EthernetTypeIPv4}, ip, tcp))
	return b.Bytes()
}

// next is the next packet of p.
func next(t *testing.T, p *PacketIns) *PacketIn {
	t.Helper()
	select {
	case _, ok := <-p.Ready():
		require.True(t, ok, "the queue was closed")
		return p.Next()
	case <-time.After(waitTime):
		t.Fatal("no packet-in")
		return nil
	}
}

func subscribe(t *testing.T, s Switch, id uint16, capacity int) *PacketIns {
	t.Helper()
	p, err := s.PacketIns(t.Context(), id, capacity, nil)
	require.NoError(t, err)
	return p
}

// eachVersion runs f with a client of each version on a fresh bridge with the ports 1 and 2.
func eachVersion(t *testing.T, f func(t *testing.T, s Switch)) {
	for _, options := range [][]Option{nil, {WithOpenFlow15()}} {
		t.Run(fmt.Sprintf("OpenFlow 1.%d", 3+2*len(options)), func(t *testing.T) {
			ovs, _, _ := connectOVS(t)
			for port := 1; port <= 2; port++ {
				ovs.Vsctl("add-port", testBridge, fmt.Sprint("p", port), "--", "set", "interface", fmt.Sprint("p", port), "type=dummy", fmt.Sprint("ofport_request=", port))
			}
			f(t, connect(t, ovs.MgmtSocket(testBridge), options...))
		})
	}
}

// TestPacketsOnOVS sends a packet through the flows, has it paused, resumes it with other metadata, and gets it again.
func TestPacketsOnOVS(t *testing.T) {
	eachVersion(t, func(t *testing.T, s Switch) {
		eight, nine := subscribe(t, s, 8, 10), subscribe(t, s, 9, 10)
		require.NoError(t, s.Commit(t.Context(), adds(
			Flow{Table: 5, Priority: 1, Cookie: 0x500, Match: []Match{InPort(2), Reg(0, Range{0, 15}, 0xabcd)}, Actions: []Action{
				LoadField{reg(1), all, 0x11}, Controller{ID: 8, UserData: []byte{1, 2, 3}, Pause: true}, Resubmit{6}}},
			Flow{Table: 6, Priority: 1, Cookie: 0x600, Match: []Match{Reg(1, all, 0x22), Reg(0, Range{0, 15}, 0xabcd)}, Actions: []Action{
				Controller{ID: 9, MaxLen: 20}}},
		)))
		data := tcpPacket(t, 1000)
		require.NoError(t, s.PacketOut(t.Context(), PacketOut{InPort: 2, Data: data, Actions: []Action{
			LoadField{reg(0), Range{0, 15}, 0xabcd}, LoadField{FieldPktMark, all, 77}, ResubmitFrom{Port: PortInPort, Table: 5}}}))

		p := next(t, eight)
		require.Equal(t, data, p.Data)
		require.Equal(t, uint32(len(data)), p.Length)
		require.Zero(t, p.Table, "OVS does not send the table of a paused packet")
		require.Zero(t, p.Cookie, "nor the cookie")
		require.Equal(t, uint8(1), p.Reason)
		require.Equal(t, []byte{1, 2, 3}, p.UserData)
		require.Equal(t, uint32(2), p.InPort())
		require.Equal(t, uint32(0xabcd), p.Reg(0))
		require.Equal(t, uint32(0x11), p.Reg(1))
		require.Zero(t, p.Reg(2))
		require.Zero(t, p.Reg(200))
		require.Equal(t, []byte{0, 0, 0, 77}, p.Field(FieldPktMark))
		require.True(t, p.Paused())
		require.NoError(t, s.Barrier(t.Context()))
		require.Zero(t, nine.Waiting(), "the packet is paused")

		require.NoError(t, s.Resume(t.Context(), p, Reg(1, all, 0x22)))
		q := next(t, nine)
		require.GreaterOrEqual(t, len(q.Data), 20)
		require.Equal(t, data[:len(q.Data)], q.Data)
		require.Equal(t, uint32(len(data)), q.Length)
		require.Equal(t, uint8(6), q.Table)
		require.Equal(t, uint64(0x600), q.Cookie)
		require.Equal(t, uint32(0xabcd), q.Reg(0))
		require.Equal(t, uint32(0x22), q.Reg(1))
		require.Equal(t, uint32(2), q.InPort())
		require.False(t, q.Paused())
		require.Zero(t, eight.Waiting(), "each id has its own queue")
		require.ErrorContains(t, s.Resume(t.Context(), q), "table 6 and cookie 0x600: packet-in of table 6 and cookie 0x600: the switch does not wait for it")
		require.ErrorContains(t, s.Resume(t.Context(), p, Reg(1, Range{0, 3}, 2)), "want a change of the whole field")
		require.Zero(t, eight.Dropped()+nine.Dropped())
	})
}

// TestPacketInQueue fills a queue: more packets must neither block nor take memory. Then it kills vswitchd.
func TestPacketInQueue(t *testing.T) {
	ovs, s, reconnected := connectOVS(t)
	p, copied := subscribe(t, s, 8, 3), subscribe(t, s, 8, 100)
	flood := func(n int) {
		t.Helper()
		require.NoError(t, s.Commit(t.Context(), adds(to(5, Controller{ID: 8}))))
		for i := range n {
			require.NoError(t, s.PacketOut(t.Context(), PacketOut{Data: tcpPacket(t, uint16(i)), Actions: []Action{Resubmit{5}}}))
		}
	}
	flood(10)
	for i := range 10 {
		packet := next(t, copied)
		require.Equal(t, tcpPacket(t, uint16(i)), packet.Data, "in order")
		require.Equal(t, PortController, packet.InPort(), "the port of a packet-out without one")
	}
	require.Eventually(t, func() bool { return p.Dropped() == 7 }, waitTime, time.Millisecond)
	for range 3 {
		next(t, p)
	}

	ovs.KillVswitchd()
	require.Eventually(t, func() bool { return !s.IsConnected() }, waitTime, time.Millisecond)
	require.ErrorIs(t, s.PacketOut(t.Context(), PacketOut{Actions: []Action{Output{1}}}), ErrDisconnected)
	_, err := s.DumpGroups(t.Context())
	require.ErrorIs(t, err, ErrDisconnected)
	ovs.StartVswitchd()
	<-reconnected
	// The subscription has a connection of its own, which may come back later.
	require.Eventually(t, func() bool {
		flood(1)
		select {
		case <-p.Ready():
			p.Next()
			return true
		case <-time.After(10 * time.Millisecond):
			return false
		}
	}, waitTime, time.Millisecond)

	p.Close()
	p.Close()
	drain(t, p)
	require.NoError(t, s.Close())
	drain(t, copied)
	_, err = s.PacketIns(t.Context(), 8, 1, nil)
	require.ErrorContains(t, err, "packet-ins for the controller id 8: the client is closed")
}

// drain reads what is left in a closed queue.
func drain(t *testing.T, p *PacketIns) {
	t.Helper()
	for {
		select {
		case _, ok := <-p.Ready():
			if !ok {
				return
			}
		case <-time.After(waitTime):
			t.Fatal("the queue is not closed")
		}
	}
}

func TestPacketInsAreRefused(t *testing.T) {
	_, s, _ := connectOVS(t)
	_, err := s.PacketIns(t.Context(), 8, 0, nil)
	require.ErrorContains(t, err, "a queue of 0 packets, want at least 1")
	late := NewSwitch(t.TempDir() + "/none")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err = late.PacketIns(ctx, 8, 1, nil)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NoError(t, late.Close())

	for name, tc := range map[string]struct {
		p   PacketOut
		err string
	}{
		"no action":        {PacketOut{Data: tcpPacket(t, 1)}, "packet-out without actions"},
		"goto":             {PacketOut{Actions: []Action{GotoTable{1}}}, "only a flow can have it"},
		"too long":         {PacketOut{Actions: []Action{Output{1}}, Data: make([]byte, 65536)}, "at most 65535 in the message"},
		"an unknown group": {PacketOut{Actions: []Action{Group{99}}, Data: tcpPacket(t, 1)}, "one of the groups [99] does not exist"},
	} {
		require.ErrorContains(t, s.PacketOut(t.Context(), tc.p), tc.err, name)
		fake := NewFake()
		_, err := fake.Connect(t.Context())
		require.NoError(t, err)
		require.ErrorContains(t, fake.PacketOut(t.Context(), tc.p), tc.err, name)
		require.Empty(t, fake.PacketOuts())
	}
}

// TestServiceOnOVS sends connections through a group and a learn action, as Antrea's Services do: a client gets the same endpoint
// again, and the counters show it.
func TestServiceOnOVS(t *testing.T) {
	eachVersion(t, func(t *testing.T, s Switch) {
		chosen := subscribe(t, s, 8, 100)
		learn := Learn{Table: 10, Priority: 200, HardTimeout: 300, Cookie: 7, Specs: []LearnSpec{
			LearnValue(FieldEthType, uint64(EthTypeIPv4)), LearnValue(FieldIPProto, uint64(IPProtoTCP)),
			LearnField(FieldTCPDst), LearnField(FieldIPv4Dst), LearnField(FieldIPv4Src),
			LearnLoadField(reg(3), all, reg(3), all), LearnLoadField(reg(4), Range{0, 15}, reg(4), Range{0, 15}), LearnLoadValue(reg(4), Range{16, 18}, 2)}}
		service := GroupEntry{ID: 1, Type: GroupSelect, Buckets: []Bucket{endpoint(0x0a0000f1, 1), endpoint(0x0a0000f2, 3)}}
		require.NoError(t, s.Apply(t.Context(), Transaction{
			Groups: groupMods(GroupAdd, service),
			Flows: adds(
				Flow{Table: 5, Priority: 1, Actions: []Action{Resubmit{10}, Resubmit{20}}},
				Flow{Table: 20, Priority: 2, Match: []Match{Reg(4, Range{16, 18}, 2)}, Actions: []Action{Resubmit{40}}},
				Flow{Table: 20, Priority: 1, Match: tcp4, Actions: []Action{Group{1}}},
				Flow{Table: 30, Priority: 1, Match: tcp4, Actions: []Action{learn, Resubmit{40}}},
				Flow{Table: 40, Priority: 1, Match: tcp4, Actions: []Action{Controller{ID: 8}}},
			),
		}))
		data := tcpPacket(t, 1000)
		var first uint32
		for i := range 5 {
			require.NoError(t, s.PacketOut(t.Context(), PacketOut{InPort: 1, Data: data, Actions: []Action{Resubmit{5}}}))
			p := next(t, chosen)
			if i == 0 {
				first = p.Reg(3)
			}
			require.Equal(t, first, p.Reg(3), "the choice was learned")
			require.Contains(t, []uint32{0x0a0000f1, 0x0a0000f2}, p.Reg(3))
			require.Equal(t, uint32(80), p.Reg(4)&0xffff)
			require.Equal(t, i > 0, p.Reg(4)>>16&7 == 2)
		}
		learned, err := s.DumpFlows(t.Context(), 10)
		require.NoError(t, err)
		require.Len(t, learned, 1)
		require.Equal(t, uint64(4), learned[0].Packets)
		require.Equal(t, uint64(4*len(data)), learned[0].Bytes)
		require.Equal(t, "table=10,priority=200,tcp,nw_src=10.0.0.1,nw_dst=10.0.0.2,tp_dst=80", learned[0].Flow.Key())
		require.Equal(t, uint64(7), learned[0].Flow.Cookie)
		require.Equal(t, uint16(300), learned[0].Flow.HardTimeout)
		stats, err := s.DumpGroupStats(t.Context())
		require.NoError(t, err)
		require.Len(t, stats, 1)
		require.Equal(t, uint32(1), stats[0].References)
		require.Equal(t, Counters{1, uint64(len(data))}, stats[0].Counters)
		require.Len(t, stats[0].Buckets, 2)
		require.Equal(t, uint64(1), stats[0].Buckets[first-0x0a0000f1].Packets)
	})
}

// TestFakePackets uses the Fake as tests of other packages do.
func TestFakePackets(t *testing.T) {
	s := NewFake()
	_, err := s.PacketIns(t.Context(), 8, 1, nil)
	require.ErrorIs(t, err, ErrDisconnected)
	_, err = s.Connect(t.Context())
	require.NoError(t, err)
	p := subscribe(t, s, 8, 1)
	paused, err := PausedPacketIn(PacketIn{Data: []byte{1}, Metadata: []Match{Reg(1, all, 5).exact(), InPort(3).exact()}})
	require.NoError(t, err)
	require.Zero(t, s.SendPacketIn(9, paused))
	require.Equal(t, 1, s.SendPacketIn(8, paused))
	require.Equal(t, 1, s.SendPacketIn(8, PacketIn{}))
	require.Equal(t, uint64(1), p.Dropped())
	packet := next(t, p)
	require.Equal(t, uint32(5), packet.Reg(1))
	require.NoError(t, s.Resume(t.Context(), packet, Reg(1, all, 6)))
	require.ErrorContains(t, s.Resume(t.Context(), &PacketIn{}), "does not wait")
	require.Equal(t, []FakeResume{{packet, []Match{Reg(1, all, 6)}}}, s.Resumed())
	out := PacketOut{Actions: []Action{Output{1}}, Data: []byte{1}}
	require.NoError(t, s.PacketOut(t.Context(), out))
	require.Equal(t, []PacketOut{out}, s.PacketOuts())
	p.Close()
	require.Zero(t, s.SendPacketIn(8, paused))
	q := subscribe(t, s, 8, 1)
	require.NoError(t, s.Close())
	drain(t, q)
}

// TestResumeReplacesMetadata decodes the answer to a message with an unknown field and a 64-bit register.
func TestResumeReplacesMetadata(t *testing.T) {
	unknown := []byte{0x00, 0x01, 0x90, 1, 9}
	xreg0 := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(nil, uint32(xregID)|8), 0x0000000100000002)
	metadata := append(append(append([]byte{}, unknown...), xreg0...), appendOXM(nil, InPort(3).exact())...)
	body := appendProperty(nil, packetInMetadata, metadata)
	body = appendProperty(body, packetInUserData, []byte{1})
	body = appendProperty(body, packetInContinuation, []byte{0, 0, 0, 0})
	in := append(appendNicira(nil, version15, nxtPacketIn2, len(body), 1), body...)
	p, err := parsePacketIn(message{version: version15, typ: typeExperimenter, body: in[headerSize:]})
	require.NoError(t, err)
	require.Equal(t, uint32(1), p.Reg(0))
	require.Equal(t, uint32(2), p.Reg(1))
	b, err := encodeResume(p, []Match{Reg(1, all, 7), TunnelDst(netip.MustParseAddr("192.0.2.1"))}, version15, 9)
	require.NoError(t, err)
	require.Equal(t, len(b), int(binary.BigEndian.Uint16(b[2:])))
	binary.BigEndian.PutUint32(b[12:], nxtPacketIn2)
	back, err := parsePacketIn(message{version: version15, typ: typeExperimenter, body: b[headerSize:]})
	require.NoError(t, err)
	require.Equal(t, []uint32{1, 7, 3}, []uint32{back.Reg(0), back.Reg(1), back.InPort()})
	require.Equal(t, []byte{192, 0, 2, 1}, back.Field(FieldTunnelIPv4Dst))
	require.Nil(t, back.UserData)
	require.Contains(t, string(b), string(unknown))
}
