// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/ippacket"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	"github.com/antrea-oncache/antrea/pkg/agent/reach"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

func TestTraceflowGolden(t *testing.T) {
	for _, test := range []struct {
		file  string
		flows openflow.TraceflowFlows
	}{
		{"traceflow.txt", openflow.TraceflowFlows{}},
		{"traceflow_sender.txt", openflow.TraceflowFlows{Sender: oftest.PodAPort}},
		{"traceflow_live.txt", openflow.TraceflowFlows{Sender: oftest.PodAPort, Live: true, Filter: &openflow.TraceflowFilter{
			Source: oftest.PodAIP, Destination: oftest.RemotePodIP, Protocol: of.IPProtoTCP, SourcePort: 1000, DestinationPort: 80,
		}}},
		{"traceflow_live_peer.txt", openflow.TraceflowFlows{Sender: oftest.PodAPort, Live: true, Filter: &openflow.TraceflowFilter{Source: oftest.PodAIP}, Peer: oftest.RemotePodIP}},
		{"traceflow_live_receiver.txt", openflow.TraceflowFlows{Live: true, Filter: &openflow.TraceflowFilter{DestinationMAC: oftest.PodAMAC, IPv6: true, Destination: oftest.PodA6IP}}},
	} {
		t.Run(test.file, func(t *testing.T) {
			c, fake := oftest.NewTestClientOf(t, oftest.ProxyAllFeatures, oftest.DualStackNode)
			base := fake.Flows()
			r := &oftest.Recorder{}
			c.SetInterceptor(r)
			r.Changes = nil
			require.NoError(t, c.InstallTraceflowFlows(5, test.flows))
			oftest.RequireGolden(t, test.file, oftest.Render(oftest.TableNames(c), oftest.NewFlows(base, fake.Flows())))
			installed := oftest.FlowStrings(fake.Flows())
			fake.Disconnect()
			fake.Reconnect(true)
			require.NoError(t, oftest.Replay(c))
			require.Equal(t, installed, oftest.FlowStrings(fake.Flows()), "replayed")
			require.NoError(t, c.InstallTraceflowFlows(6, openflow.TraceflowFlows{}))
			require.NoError(t, c.UninstallTraceflowFlows(6))
			require.Equal(t, installed, oftest.FlowStrings(fake.Flows()), "tags are independent")
			require.NoError(t, c.UninstallTraceflowFlows(5))
			require.Equal(t, oftest.FlowStrings(base), oftest.FlowStrings(fake.Flows()))
			for _, change := range r.Changes {
				require.True(t, change.Replay || fmt.Sprint(change) == fmt.Sprint(coherency.Change{}), "no flow of ONCache is affected: %+v", change)
			}
		})
	}
}

// TestLiveTraceOfNewConnections: Output reports the packet that opens a connection, whose conntrack fields it does not know, and only another
// Node gets the packet with the tag.
func TestLiveTraceOfNewConnections(t *testing.T) {
	b := oftest.NewBridge(t, oftest.ProxyAllFeatures)
	b.InstallAll()
	const tag = 5
	require.NoError(t, b.C.InstallTraceflowFlows(tag, openflow.TraceflowFlows{Sender: oftest.PodAPort, Live: true, Filter: &openflow.TraceflowFilter{Source: oftest.PodAIP}}))
	for name, test := range map[string]struct {
		packet, ct string
		tos        string
		reported   bool
	}{
		"new, to another Node": {oftest.PodAToRemote, oftest.CTNew, "nw_tos=20", true},
		"new, to a local Pod":  {oftest.PodAToPodB, oftest.CTNew, "nw_tos=0", true},
		"established":          {oftest.PodAToRemote + ",ct_mark=3", oftest.CTEstablished, "nw_tos=0", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := b.Trace(test.packet, test.ct)
			require.Len(t, w.Outputs, 1, w.Text)
			require.Contains(t, w.FinalFlow(), test.tos, w.Text)
			require.Equal(t, test.reported, strings.Contains(w.Text, "userdata=00.05.0c"), w.Text)
		})
	}
}

// TestTraceWithoutTunnel: a packet to another Node keeps its tag also where the host routes it, and reports itself there. One to outside the cluster does not.
func TestTraceWithoutTunnel(t *testing.T) {
	b := oftest.NewBridge(t, oftest.ProxyAllFeatures)
	b.InstallAll()
	require.NoError(t, b.C.InstallNodeFlows("node-b", map[netip.Prefix]openflow.Peer{oftest.RemoteCIDR: {
		Gateway: oftest.RemoteGW, Reach: reach.Reach{Kind: reach.Direct, Address: oftest.RemotePeer}}}))
	require.NoError(t, b.C.InstallTraceflowFlows(5, openflow.TraceflowFlows{Sender: oftest.PodAPort, Live: true, Peer: oftest.RemotePodIP, Filter: &openflow.TraceflowFilter{Source: oftest.PodAIP}}))
	for tos, packet := range map[string]string{"nw_tos=20": oftest.PodAToRemote, "nw_tos=0": oftest.PodAToWorld} {
		w := b.Trace(packet, oftest.CTNew)
		require.Equal(t, []int{oftest.GWPort}, w.Outputs, w.Text)
		require.Contains(t, w.FinalFlow(), tos, w.Text)
		require.Contains(t, w.Text, "userdata=00.05.0c", w.Text)
	}
	require.NoError(t, b.C.InstallTraceflowFlows(6, openflow.TraceflowFlows{}))
	for _, packet := range []string{routedToPodA, oftest.RemoteToPodA} {
		w := b.Trace(packet+",nw_tos=24", oftest.CTNew)
		require.Contains(t, w.Text, "userdata=00.06.0c", w.Text)
		w = b.Trace(packet, oftest.CTNew)
		require.NotContains(t, w.Text, "userdata=00.06", w.Text)
	}
}

func TestTraceflowRefusals(t *testing.T) {
	c, _ := oftest.NewTestClient(t, oftest.ONCacheFeatures)
	require.ErrorContains(t, c.InstallTraceflowFlows(5, openflow.TraceflowFlows{}), "feature gate Traceflow, which is off")
	c, _ = oftest.NewTestClient(t, oftest.ProxyAllFeatures)
	live := func(sender uint32, filter openflow.TraceflowFilter) error {
		return c.InstallTraceflowFlows(1, openflow.TraceflowFlows{Sender: sender, Live: true, Filter: &filter})
	}
	for want, err := range map[string]error{
		"tag 0 of a Traceflow: must be 1 to 63":  c.InstallTraceflowFlows(0, openflow.TraceflowFlows{}),
		"tag 64 of a Traceflow: must be 1 to 63": c.UninstallTraceflowFlows(64),
		"IPv6: true":                             live(oftest.PodAPort, openflow.TraceflowFilter{IPv6: true}),
		"source fd00:10:0:a::11":                 live(oftest.PodAPort, openflow.TraceflowFilter{Source: oftest.PodA6IP}),
		"neither the source":                     live(0, openflow.TraceflowFilter{}),
		"IP protocol 1 has no ports":             live(oftest.PodAPort, openflow.TraceflowFilter{Protocol: of.IPProtoICMP, DestinationPort: 80}),
		"OpenFlow port 0":                        c.SendTraceflowPacket(t.Context(), 1, ippacket.Outline{}, 0),
		"must have 6 bytes":                      c.SendTraceflowPacket(t.Context(), 1, ippacket.Outline{}, oftest.PodAPort),
		"tag 64 of a Traceflow: must":            c.SendTraceflowPacket(t.Context(), 64, ippacket.Outline{}, oftest.PodAPort),
	} {
		require.ErrorContains(t, err, want)
	}
	for _, userData := range [][]byte{nil, {0, 1}, {1, 1, 1}, {0, 1, 255}} {
		_, err := openflow.ParseTraceReport(&of.PacketIn{UserData: userData})
		require.ErrorContains(t, err, "packet-in with the user data")
	}
}

// Real packets send the expected reports on their way.
func TestWireTraceflow(t *testing.T) { eachDatapath(t, testTraceflow) }

// tracer receives reports.
type tracer struct {
	*wire
	packets *of.PacketIns
	// live: packets get their tag behind SpoofGuard, which does not report them then.
	live bool
}

func newTracer(t *testing.T, w *wire) *tracer {
	sw := of.NewSwitch(w.MgmtSocket(oftest.BridgeName))
	_, err := sw.Connect(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, sw.Close()) })
	packets, err := sw.PacketIns(t.Context(), openflow.TraceflowController, 1000, nil)
	require.NoError(t, err)
	t.Cleanup(packets.Close)
	return &tracer{w, packets, false}
}

// outcome waits for the report that shows the packet's fate, and for the reports of all other tables that the packet has passed.
func (r *tracer) outcome() (outcome openflow.TraceReport) {
	r.T.Helper()
	deadline := time.After(20 * time.Second)
	var from []string
	for {
		missing := slices.DeleteFunc(slices.Clone(outcome.Seen), func(table string) bool {
			return slices.Contains(from, table) || r.live && table == pipeline.TableSpoofGuard
		})
		if outcome.Table != "" && len(missing) == 0 {
			return outcome
		}
		select {
		case <-r.packets.Ready():
			p := r.packets.Next()
			report, err := openflow.ParseTraceReport(p)
			require.NoError(r.T, err)
			require.Contains(r.T, report.Seen, report.Table)
			from = append(from, report.Table)
			if report.Outcome != openflow.TraceGoesOn {
				outcome = report
			}
		case <-deadline:
			require.Fail(r.T, "no outcome was reported", "reports from %v, missing %v", from, missing)
		}
	}
}

// reportText formats a report for comparisons.
func reportText(r openflow.TraceReport) string {
	outcome := map[openflow.TraceOutcome]string{openflow.TraceDropped: "dropped", openflow.TraceRejected: "rejected", openflow.TraceLeft: "left"}[r.Outcome]
	where := "to a Pod"
	switch {
	case r.ToTunnel:
		where = "to " + r.TunnelDst.String()
	case r.ToGateway:
		where = "to the gateway"
	}
	p, err := ippacket.Parse(r.Frame)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%s in %s, %d>%d %s, %v-%v, rules %d %d", outcome, r.Table, r.InPort, r.OutPort, where, p.Src, p.Dst, r.EgressFlowID, r.IngressFlowID)
}

func testTraceflow(t *testing.T, w *wire) {
	r := newTracer(t, w)
	require.NoError(t, w.C.UpdatePolicyRules([]*policy.Rule{
		oftest.Ingress(2, oftest.PolicyPodA, oftest.Prefixes("10.10.1.20/32", "10.10.0.12/32"), oftest.Tcp(80)),
		oftest.Egress(3, oftest.PolicyPodB, oftest.Prefixes("10.10.0.0/16"), oftest.Tcp(80), oftest.Tcp(8080)),
	}, nil))
	w.install(oftest.ClusterPort(oftest.ElsewhereEndpoint))
	w.install(oftest.With(oftest.ClusterPort(), oftest.Named("default/none"), oftest.At(openflow.Frontend{Address: netip.MustParseAddrPort("10.96.0.11:80")})))
	for _, test := range []struct {
		name    string
		packet  ippacket.Outline
		want    string
		passes  []string
		avoids  []string
		arrives uint32
	}{
		{
			name: "TCP to a remote Pod, by a rule", packet: ippacket.Outline{Dst: oftest.RemotePodIP, Protocol: ippacket.TCP, DstPort: 80, TCPFlags: 2},
			want:   "left in Output, 12>32768 to 192.168.77.102, 10.10.0.12-10.10.1.20, rules 3 0",
			passes: []string{"SpoofGuard", "ConntrackState", "EgressRule", "EgressMetric", "L3DecTTL", "IngressMetric"}, avoids: []string{"EgressDefaultRule", "IngressRule"},
			arrives: oftest.TunnelPort,
		},
		{
			name: "TCP to a port that no rule allows", packet: ippacket.Outline{Dst: oftest.RemotePodIP, Protocol: ippacket.TCP, DstPort: 81, TCPFlags: 2},
			want: "dropped in EgressDefaultRule, 12>0 to a Pod, 10.10.0.12-10.10.1.20, rules 0 0",
		},
		{
			name: "to a Pod of this Node, by both Pods' rules", packet: ippacket.Outline{Dst: oftest.PodAIP, DstMAC: oftest.PodAMAC, Protocol: ippacket.TCP, DstPort: 80, TCPFlags: 2},
			want: "left in Output, 12>11 to a Pod, 10.10.0.12-10.10.0.11, rules 3 2", avoids: []string{"L3DecTTL"}, arrives: oftest.PodAPort,
		},
		{
			name: "to a Pod of this Node that refuses", packet: ippacket.Outline{Dst: oftest.PodAIP, DstMAC: oftest.PodAMAC, Protocol: ippacket.TCP, DstPort: 8080, TCPFlags: 2},
			want: "dropped in IngressDefaultRule, 12>11 to a Pod, 10.10.0.12-10.10.0.11, rules 3 0",
		},
		{
			name: "to a Service", packet: ippacket.Outline{Dst: oftest.ClusterIP.Addr(), Protocol: ippacket.TCP, DstPort: 80, TCPFlags: 2},
			want: "left in Output, 12>32768 to 192.168.77.102, 10.10.0.12-10.10.1.20, rules 3 0", arrives: oftest.TunnelPort,
		},
		{
			name: "to a Service without Endpoints", packet: ippacket.Outline{Dst: netip.MustParseAddr("10.96.0.11"), Protocol: ippacket.TCP, DstPort: 80, TCPFlags: 2},
			want: "rejected in EndpointDNAT, 12>0 to a Pod, 10.10.0.12-10.96.0.11, rules 0 0",
		},
		{
			name: "an echo request", packet: ippacket.Outline{Dst: oftest.PodAIP, DstMAC: oftest.PodAMAC, Src: netip.MustParseAddr("10.10.0.12"), Protocol: ippacket.ICMP},
			want: "dropped in EgressDefaultRule, 12>0 to a Pod, 10.10.0.12-10.10.0.11, rules 0 0",
		},
		{
			name: "IPv6 to a remote Pod", packet: ippacket.Outline{Src: oftest.PodA6IP, Dst: oftest.RemotePod6, Protocol: ippacket.UDP, SrcPort: 9, DstPort: 53},
			want: "left in Output, 11>32768 to fd00:77::102, fd00:10:0:a::11-fd00:10:0:b::20, rules 0 0", arrives: oftest.TunnelPort,
		},
		{
			name: "IPv6, an echo request", packet: ippacket.Outline{Src: oftest.PodA6IP, Dst: oftest.RemotePod6, Protocol: ippacket.ICMPv6},
			want: "left in Output, 11>32768 to fd00:77::102, fd00:10:0:a::11-fd00:10:0:b::20, rules 0 0",
		},
		{
			name: "to the world", packet: ippacket.Outline{Src: oftest.PodAIP, Dst: netip.MustParseAddr("203.0.113.9"), Protocol: ippacket.UDP, SrcPort: 9, DstPort: 53},
			want: "left in Output, 11>32769 to the gateway, 10.10.0.11-203.0.113.9, rules 0 0", arrives: oftest.GWPort,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			w.T = t
			packet, port, mac := test.packet, uint32(oftest.PodBPort), oftest.PodBMAC
			if packet.Src == oftest.PodAIP || packet.Src == oftest.PodA6IP {
				port, mac = oftest.PodAPort, oftest.PodAMAC
			}
			if !packet.Src.IsValid() {
				packet.Src = oftest.PodBIP
			}
			packet.SrcMAC, packet.TTL = mac, 64
			if packet.DstMAC == nil {
				packet.DstMAC = oftest.GWMAC
			}
			if packet.Protocol == ippacket.TCP {
				packet.SrcPort = 40000
			}
			require.NoError(t, w.C.InstallTraceflowFlows(5, openflow.TraceflowFlows{Sender: port}))
			w.settle()
			require.NoError(t, w.C.SendTraceflowPacket(t.Context(), 5, packet, port))
			report := r.outcome()
			require.Equal(t, test.want, reportText(report))
			require.Equal(t, uint8(5), report.Tag)
			require.True(t, report.FromPod)
			for _, table := range test.passes {
				require.True(t, report.HasSeen(table), "%s, seen %v", table, report.Seen)
			}
			for _, table := range test.avoids {
				require.False(t, report.HasSeen(table), "%s, seen %v", table, report.Seen)
			}
			if test.arrives != 0 {
				got := w.next(test.arrives)
				require.True(t, strings.HasPrefix(got.src, packet.Src.String()) || strings.HasPrefix(got.src, "["+packet.Src.String()), got.src)
			}
			require.Zero(t, r.packets.Waiting())
		})
	}
	w.T = t
	for port, link := range w.links {
		for link.pending() { // the echo request
			require.Equal(t, uint32(oftest.TunnelPort), port)
			link.next()
		}
	}

	// Packets without the tag, or after the trace, are not reported.
	other := segment{"10.10.1.20:7001", "10.10.0.11:80", "S"}
	w.pass(oftest.TunnelPort, other, oftest.PodAPort, other)
	require.NoError(t, w.C.UninstallTraceflowFlows(5))
	w.settle()
	require.NoError(t, w.C.SendTraceflowPacket(t.Context(), 5, ippacket.Outline{
		SrcMAC: oftest.PodAMAC, DstMAC: oftest.GWMAC, Src: oftest.PodAIP, Dst: oftest.RemotePodIP, TTL: 64, Protocol: ippacket.UDP, SrcPort: 9, DstPort: 53,
	}, oftest.PodAPort))
	w.next(oftest.TunnelPort)
	require.Zero(t, r.packets.Waiting())
}

// Real packets that open a connection get the tag, and lose it before anything but another Node sees them.
func TestWireLiveTraceflow(t *testing.T) { eachDatapath(t, testLiveTraceflow) }

func testLiveTraceflow(t *testing.T, w *wire) {
	r := newTracer(t, w)
	r.live = true
	open := segment{"10.10.0.11:6001", "10.10.1.20:80", "S"}
	w.pass(oftest.PodAPort, open, oftest.TunnelPort, open)
	answer := segment{open.dst, open.src, "SA"}
	w.pass(oftest.TunnelPort, answer, oftest.PodAPort, answer)

	require.NoError(t, w.C.InstallTraceflowFlows(7, openflow.TraceflowFlows{Sender: oftest.PodAPort, Live: true, Filter: &openflow.TraceflowFilter{Protocol: of.IPProtoTCP, DestinationPort: 80}}))
	w.settle()
	dscpOf := func(port uint32) uint8 {
		t.Helper()
		p, err := ippacket.Parse(w.links[port].next())
		require.NoError(t, err)
		return p.IP[1] >> 2
	}
	// An open connection, and another port.
	for _, s := range []segment{{open.src, open.dst, "A"}, {"10.10.0.11:6002", "10.10.1.20:81", "S"}} {
		w.send(oftest.PodAPort, s)
		require.Zero(t, dscpOf(oftest.TunnelPort))
	}
	require.Zero(t, r.packets.Waiting())

	w.send(oftest.PodAPort, segment{"10.10.0.11:6003", "10.10.1.20:80", "S"})
	require.Equal(t, uint8(7), dscpOf(oftest.TunnelPort))
	require.Equal(t, "left in Output, 11>32768 to 192.168.77.102, 10.10.0.11-10.10.1.20, rules 0 0", reportText(r.outcome()))
	w.send(oftest.PodAPort, segment{"10.10.0.11:6004", "10.10.0.12:80", "S"}) // the gateway's MAC address: it is routed
	require.Zero(t, dscpOf(oftest.GWPort))
	require.Equal(t, openflow.TraceLeft, r.outcome().Outcome)

	// Packets that already have this DSCP are neither changed nor reported, whether of an open connection or of another Pod.
	for _, o := range []ippacket.Outline{
		{Src: oftest.PodAIP, SrcMAC: oftest.PodAMAC, Dst: oftest.RemotePodIP, SrcPort: 6001, DstPort: 80, TCPFlags: 16},
		{Src: oftest.PodBIP, SrcMAC: oftest.PodBMAC, Dst: oftest.RemotePodIP, SrcPort: 6001, DstPort: 80, TCPFlags: 2},
		{Src: oftest.PodBIP, SrcMAC: oftest.PodBMAC, Dst: netip.MustParseAddr("203.0.113.9"), SrcPort: 6001, DstPort: 80, TCPFlags: 2},
	} {
		o.DstMAC, o.Protocol, o.TTL, o.DSCP = oftest.GWMAC, ippacket.TCP, 64, 7
		frame, err := ippacket.Build(o)
		require.NoError(t, err)
		from, to := uint32(oftest.PodAPort), uint32(oftest.TunnelPort)
		if o.Src == oftest.PodBIP {
			from = oftest.PodBPort
		}
		if o.Dst != oftest.RemotePodIP {
			to = oftest.GWPort
		}
		w.links[from].inject(frame)
		require.Equal(t, uint8(7), dscpOf(to), "%+v", o)
	}
	require.Zero(t, r.packets.Waiting())

	// The receiving Node.
	require.NoError(t, w.C.UninstallTraceflowFlows(7))
	require.NoError(t, w.C.InstallTraceflowFlows(8, openflow.TraceflowFlows{Live: true, Filter: &openflow.TraceflowFilter{DestinationMAC: oftest.PodAMAC, Protocol: of.IPProtoUDP}}))
	w.settle()
	w.send(oftest.TunnelPort, segment{"10.10.1.20:6005", "10.10.0.11:53", ""})
	require.Zero(t, dscpOf(oftest.PodAPort))
	require.Equal(t, "left in Output, 32768>11 to a Pod, 10.10.1.20-10.10.0.11, rules 0 0", reportText(r.outcome()))
}
