// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package traceflow

import (
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/ippacket"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

var (
	begun      = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	clientIP   = netip.MustParseAddr("10.10.0.11")
	serverIP   = netip.MustParseAddr("10.10.1.20")
	serviceIP  = netip.MustParseAddr("10.96.0.10")
	gatewayMAC = net.HardwareAddr{2, 0, 0, 0, 0, 1}
	client     = &pod{name: "ns/client", interfaceName: "client-1", ofPort: 11, mac: net.HardwareAddr{2, 0, 0, 0, 0, 11}, ips: []netip.Addr{clientIP}}
	server     = &pod{name: "ns/server", interfaceName: "server-1", ofPort: 20, mac: net.HardwareAddr{2, 0, 0, 0, 0, 20}, ips: []netip.Addr{serverIP}}
)

// outline is the packet of the tests' traces.
func outline(dst netip.Addr, port uint16) ippacket.Outline {
	return ippacket.Outline{
		SrcMAC: client.mac, DstMAC: gatewayMAC, Src: clientIP, Dst: dst, TTL: 64, Protocol: ippacket.TCP, SrcPort: 40001, DstPort: port, TCPFlags: flagSYN, DSCP: 5,
	}
}

func frame(t *testing.T, o ippacket.Outline) []byte {
	t.Helper()
	b, err := ippacket.Build(o)
	require.NoError(t, err)
	return b
}

func sending() *plan {
	return &plan{name: "tf", uid: "u", tag: 5, timeout: 20 * time.Second, sender: client, packet: outline(serverIP, 80)}
}

func receiving() *plan {
	return &plan{
		name: "tf", uid: "u", tag: 5, timeout: 20 * time.Second, receiver: server, sourceNamespace: "ns", sourceName: "client",
		packet: ippacket.Outline{Protocol: ippacket.TCP, DstPort: 80},
	}
}

// kinds names operations.
func kinds(ops []operation) (names []string) {
	for _, op := range ops {
		names = append(names, fmt.Sprintf("%T", op)[len("traceflow."):])
	}
	return names
}

func TestSenderSendsUntilTheEnd(t *testing.T) {
	c := newCore()
	ops := c.begin(sending(), begun)
	require.Equal(t, []string{"hold", "install"}, kinds(ops))
	require.Equal(t, hold{"tf", []string{"client-1"}}, ops[0])
	next, ok := c.next()
	require.True(t, ok)
	require.Equal(t, firstSend, next.Sub(begun))
	require.Empty(t, c.tick(begun))
	require.Equal(t, []operation{send{"tf", 5, outline(serverIP, 80), 11}}, c.tick(next))
	require.Equal(t, []string{"send"}, kinds(c.tick(next.Add(sendInterval))))

	left := openflow.TraceReport{Tag: 5, Table: "Output", Outcome: openflow.TraceLeft, FromPod: true, InPort: 11, Frame: frame(t, outline(serverIP, 80))}
	ops = c.report(left)
	require.Equal(t, []string{"publish"}, kinds(ops))
	require.Equal(t, v1beta1.RoleSender, ops[0].(publish).result.role)
	require.Equal(t, serverIP, ops[0].(publish).result.original)
	require.Empty(t, c.report(left), "the first one counts")
	require.Equal(t, []string{"send"}, kinds(c.tick(next.Add(3*sendInterval))), "the other Node may not have seen one yet")

	require.Equal(t, []operation{uninstall{5}, release{"tf"}}, c.end("tf"))
	require.Empty(t, c.end("tf"))
	_, ok = c.next()
	require.False(t, ok)
}

func TestTraceEndsByItself(t *testing.T) {
	c := newCore()
	c.begin(receiving(), begun)
	require.Empty(t, c.tick(begun.Add(20*time.Second)), "the controller ends it")
	require.Equal(t, []string{"uninstall", "release"}, kinds(c.tick(begun.Add(20*time.Second+grace))))
	object := &v1beta1.Traceflow{ObjectMeta: metav1.ObjectMeta{Name: "tf", UID: "u"}, Status: v1beta1.TraceflowStatus{DataplaneTag: 5}}
	require.True(t, c.has(object), "it does not begin again, however long its object says that it runs")
	require.Empty(t, c.finish("tf", begun))
	require.False(t, c.has(object))
}

// A Node that only removes the tag of live traffic does so a little longer than the one that gives it.
func TestTagIsRemovedLast(t *testing.T) {
	c := newCore()
	live := receiving()
	live.live = true
	require.Equal(t, openflow.TraceflowFlows{Live: true}, c.begin(live, begun)[1].(install).flows)
	require.Empty(t, c.finish("tf", begun.Add(time.Second)))
	require.Empty(t, c.finish("tf", begun.Add(2*time.Second)), "again")
	left := openflow.TraceReport{Tag: 5, Table: "Output", Outcome: openflow.TraceLeft, FromTunnel: true, OutPort: 20, Frame: frame(t, outline(serverIP, 80))}
	require.Empty(t, c.report(left), "the trace is no longer asked for")
	next, ok := c.next()
	require.True(t, ok)
	require.Equal(t, time.Second+linger, next.Sub(begun))
	require.Equal(t, []string{"uninstall", "release"}, kinds(c.tick(next)))
	require.Empty(t, c.over)

	tagging := sending()
	tagging.live, tagging.filter = true, &openflow.TraceflowFilter{}
	c.begin(tagging, begun)
	require.Equal(t, []string{"uninstall", "release"}, kinds(c.finish("tf", begun.Add(time.Second))))
}

// The sender says where its packet was lost before the time has passed.
func TestLostPacket(t *testing.T) {
	for want, seen := range map[string][][]string{
		"Open vSwitch has reported nothing": nil,
		"behind the table L3DecTTL":         {{"SpoofGuard"}, {"SpoofGuard", "ConntrackState", "L3DecTTL"}, {"SpoofGuard", "ConntrackState"}},
	} {
		c := newCore()
		c.begin(sending(), begun)
		for _, tables := range seen {
			require.Empty(t, c.report(openflow.TraceReport{
				Tag: 5, Table: tables[0], Seen: tables, FromPod: true, InPort: 11, Frame: frame(t, outline(serverIP, 80)),
			}))
		}
		lost := begun.Add(15 * time.Second)
		require.NotContains(t, kinds(c.tick(lost.Add(-1))), "giveUp")
		ops := c.tick(lost)
		require.Equal(t, []string{"giveUp"}, kinds(ops))
		require.ErrorContains(t, ops[0].(giveUp).reason, want)
		require.NotContains(t, kinds(c.tick(lost.Add(time.Second))), "giveUp", "once")
	}
}

// A new trace with the name or the tag of another one replaces it.
func TestReplacedTraces(t *testing.T) {
	c := newCore()
	c.begin(sending(), begun)
	again := sending()
	again.uid = "another"
	require.Equal(t, []string{"uninstall", "release", "hold", "install"}, kinds(c.begin(again, begun)))
	other := receiving()
	other.name = "other"
	require.Equal(t, []string{"uninstall", "release", "hold", "install"}, kinds(c.begin(other, begun)))
	require.Equal(t, []string{"other"}, c.names())
}

// Packets of others that have the DSCP of a trace are none of it.
func TestWhichPacketsAreOfTheTrace(t *testing.T) {
	for name, test := range map[string]struct {
		plan   *plan
		change func(*openflow.TraceReport, *ippacket.Outline)
		want   bool
	}{
		"the packet":                    {sending(), func(*openflow.TraceReport, *ippacket.Outline) {}, true},
		"another tag":                   {sending(), func(r *openflow.TraceReport, _ *ippacket.Outline) { r.Tag = 6 }, false},
		"from another Pod":              {sending(), func(r *openflow.TraceReport, _ *ippacket.Outline) { r.InPort = 12 }, false},
		"another source port":           {sending(), func(_ *openflow.TraceReport, o *ippacket.Outline) { o.SrcPort = 40002 }, false},
		"another protocol":              {sending(), func(_ *openflow.TraceReport, o *ippacket.Outline) { o.Protocol = ippacket.UDP }, false},
		"through a Service":             {sending(), func(_ *openflow.TraceReport, o *ippacket.Outline) { o.Dst, o.DstPort = serverIP, 8080 }, true},
		"only on its way":               {sending(), func(r *openflow.TraceReport, _ *ippacket.Outline) { r.Outcome = openflow.TraceGoesOn }, false},
		"dropped, where that is wanted": {dropped(sending()), func(r *openflow.TraceReport, _ *ippacket.Outline) { r.Outcome = openflow.TraceDropped }, true},
		"delivered, where drops are":    {dropped(sending()), func(*openflow.TraceReport, *ippacket.Outline) {}, false},
		"for a receiver only":           {receiverOnly(), func(r *openflow.TraceReport, _ *ippacket.Outline) { r.InPort, r.OutPort = 7, 20 }, true},
		"for another receiver":          {receiverOnly(), func(r *openflow.TraceReport, _ *ippacket.Outline) { r.InPort, r.OutPort = 7, 21 }, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCore()
			c.begin(test.plan, begun)
			r, o := openflow.TraceReport{Tag: 5, Table: "Output", Outcome: openflow.TraceLeft, FromPod: true, InPort: 11}, outline(serverIP, 80)
			test.change(&r, &o)
			r.Frame = frame(t, o)
			require.Equal(t, test.want, len(c.report(r)) == 1)
		})
	}
	require.Empty(t, newCore().report(openflow.TraceReport{Tag: 5, Frame: []byte{1}}), "no packet")
}

func dropped(p *plan) *plan {
	p.droppedOnly = true
	return p
}

func receiverOnly() *plan {
	return &plan{name: "tf", uid: "u", tag: 5, live: true, receiverOnly: true, receiver: server, packet: ippacket.Outline{Protocol: ippacket.TCP}}
}

// The receiving Node knows the packet by its source, which it asks for when there is a packet.
func TestReceiver(t *testing.T) {
	t.Run("through the tunnel", func(t *testing.T) { testReceiver(t, openflow.TraceReport{FromTunnel: true}) })
	t.Run("without it", func(t *testing.T) { testReceiver(t, openflow.TraceReport{FromGateway: true}) })
}

func testReceiver(t *testing.T, left openflow.TraceReport) {
	c := newCore()
	require.Equal(t, []string{"hold", "install"}, kinds(c.begin(receiving(), begun)))
	left.Tag, left.Table, left.Outcome, left.InPort, left.OutPort, left.Frame = 5, "Output", openflow.TraceLeft, 1, 20, frame(t, outline(serverIP, 80))
	stranger := left
	o := outline(serverIP, 80)
	o.Src = netip.MustParseAddr("10.10.2.9")
	stranger.Frame = frame(t, o)
	require.Equal(t, []operation{findSource{"tf", "ns", "client"}}, c.report(stranger))
	require.Empty(t, c.report(left), "asked already")
	ops := c.setSource("tf", []netip.Addr{clientIP})
	require.Equal(t, []string{"publish"}, kinds(ops))
	result := ops[0].(publish).result
	require.Equal(t, []any{v1beta1.RoleReceiver, clientIP, false}, []any{result.role, result.packet.Src, result.original.IsValid()})
	require.Empty(t, c.report(left))
	require.Empty(t, c.setSource("gone", nil))
}

// Of live traffic, the packet is shown as it was sent, whichever report comes first.
func TestLiveSender(t *testing.T) {
	live := sending()
	live.live, live.packet, live.filter = true, ippacket.Outline{Protocol: ippacket.TCP}, &openflow.TraceflowFilter{}
	for _, order := range []string{"begin first", "outcome first"} {
		t.Run(order, func(t *testing.T) {
			c := newCore()
			require.Equal(t, []string{"hold", "install"}, kinds(c.begin(live, begun)))
			require.Empty(t, c.tick(begun), "the other Node may not know of the tag yet")
			require.Equal(t, []operation{install{"tf", 5, openflow.TraceflowFlows{Sender: 11, Live: true, Filter: live.filter}}}, c.tick(begun.Add(firstSend)))
			require.Empty(t, c.tick(begun.Add(10*time.Second)), "nothing is sent")
			begin := openflow.TraceReport{Tag: 5, Table: "ConntrackState", FromPod: true, InPort: 11, Seen: []string{"ConntrackState"}, Frame: frame(t, outline(serviceIP, 80))}
			left := openflow.TraceReport{Tag: 5, Table: "Output", Outcome: openflow.TraceLeft, FromPod: true, InPort: 11, Frame: frame(t, outline(serverIP, 8080))}
			other := outline(serviceIP, 80)
			other.SrcPort++
			unrelated := begin
			unrelated.Frame = frame(t, other)
			require.Empty(t, c.report(unrelated))
			first, second := begin, left
			if order == "outcome first" {
				first, second = left, begin
			}
			require.Empty(t, c.report(first))
			ops := c.report(second)
			require.Equal(t, []string{"publish"}, kinds(ops))
			p := ops[0].(publish)
			require.Equal(t, []any{serviceIP, serverIP}, []any{p.result.original, p.result.packet.Dst})
			require.Equal(t, []any{serviceIP.String(), int32(80), int32(64), int32(40)},
				[]any{p.captured.DstIP, p.captured.TransportHeader.TCP.DstPort, p.captured.IPHeader.TTL, p.captured.Length})
		})
	}
}

// A Service may also translate the source of live traffic, when it leads a Pod to itself.
func TestLiveSenderReachesItself(t *testing.T) {
	live := sending()
	live.live, live.packet, live.filter = true, ippacket.Outline{Protocol: ippacket.TCP}, &openflow.TraceflowFilter{}
	c := newCore()
	c.begin(live, begun)
	begin := openflow.TraceReport{Tag: 5, Table: "ConntrackState", FromPod: true, InPort: 11, Seen: []string{"ConntrackState"}, Frame: frame(t, outline(serviceIP, 80))}
	require.Empty(t, c.report(begin))
	back := outline(clientIP, 8080)
	back.Src = netip.MustParseAddr("10.10.0.1")
	ops := c.report(openflow.TraceReport{Tag: 5, Table: "Output", Outcome: openflow.TraceLeft, FromPod: true, InPort: 11, OutPort: 11, Frame: frame(t, back)})
	require.Equal(t, []string{"publish"}, kinds(ops))
	require.Equal(t, []netip.Addr{clientIP, serviceIP}, []netip.Addr{ops[0].(publish).result.source, ops[0].(publish).result.original})
}

// Where only drops are traced, the Node that drops the packet shows it.
func TestReceiverShowsTheDroppedPacket(t *testing.T) {
	p := dropped(receiving())
	p.live = true
	c := newCore()
	c.begin(p, begun)
	report := openflow.TraceReport{Tag: 5, Table: "IngressDefaultRule", Outcome: openflow.TraceDropped, FromTunnel: true, InPort: 1, OutPort: 20, Frame: frame(t, outline(serverIP, 80))}
	require.Equal(t, []string{"findSource"}, kinds(c.report(report)))
	ops := c.setSource("tf", []netip.Addr{clientIP})
	require.Equal(t, []string{"publish"}, kinds(ops))
	require.Equal(t, serverIP.String(), ops[0].(publish).captured.DstIP)
}

// A status that could not be written is written again while the trace runs.
func TestWritingIsTriedAgain(t *testing.T) {
	c := newCore()
	p := receiving()
	c.begin(p, begun)
	op := publish{plan: p}
	c.notWritten(p, op, begun)
	next, ok := c.next()
	require.True(t, ok)
	require.Equal(t, writeInterval, next.Sub(begun))
	require.Empty(t, c.tick(begun))
	require.Equal(t, []string{"publish"}, kinds(c.tick(next)))
	require.Empty(t, c.tick(next.Add(writeInterval)), "once")

	c.notWritten(p, op, begun)
	c.finish("tf", begun)
	require.Empty(t, c.tick(next))
	c.notWritten(p, op, begun)
	require.Empty(t, c.tick(next), "the trace has ended")
}
