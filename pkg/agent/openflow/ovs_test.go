// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"context"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
	"github.com/antrea-oncache/antrea/pkg/ovs/ovstest"
)

// bridge is a real bridge in a private Open vSwitch with the pipeline on it.
type bridge struct {
	*ovstest.OVS
	t testing.TB
	c *client
}

const bridgeName = "br-int"

// newBridge makes a bridge with the gateway, the tunnel and two Pods. All ports are dummies: the tunnel needs no real
// device to see which packets go there.
func newBridge(t testing.TB, features Features) *bridge {
	t.Helper()
	return newBridgeOf(t, features, testNode)
}

func newBridgeOf(t testing.TB, features Features, node *config.NodeConfig) *bridge {
	t.Helper()
	o := ovstest.Start(t)
	socket := o.AddBridge(bridgeName)
	for name, port := range map[string]uint32{"antrea-tun0": tunnelPort, "antrea-gw0": gwPort, "pod-a": podAPort, "pod-b": podBPort} {
		o.Vsctl("add-port", bridgeName, name, "--", "set", "interface", name, "type=dummy", fmt.Sprintf("ofport_request=%d", port))
	}
	c := NewClient(of.NewSwitch(socket), noTableNames, features).(*client)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	_, err := c.Initialize(ctx, RoundInfo{RoundNum: testRound}, node, testNetwork)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Disconnect()) })
	return &bridge{OVS: o, t: t, c: c}
}

// installAll installs Pods, the remote Node and marks with epoch 7 for Pod A and 8 for Pod B.
func (b *bridge) installAll() {
	b.t.Helper()
	require.NoError(b.t, installPodA(b.c))
	require.NoError(b.t, installPodB(b.c))
	require.NoError(b.t, installRemoteNode(b.c))
	if b.c.features.ONCache {
		require.NoError(b.t, b.c.InstallMarkFlows([]coherency.Mark{markOf("pod-a", podAPort, 7), markOf("pod-b", podBPort, 8)}))
	}
}

// dumpFlows returns the flows of the bridge in the format of of.Flow.String, sorted as text: OVS prints flows of equal
// priority in any order.
func dumpFlows(o *ovstest.OVS) []string {
	flows := o.DumpFlows(bridgeName)
	for i, flow := range flows {
		if !strings.Contains(flow, " table=") {
			flows[i] = strings.Replace(flow, " priority=", " table=0, priority=", 1)
		}
	}
	slices.Sort(flows)
	return flows
}

// walk is what ofproto/trace says about one packet.
type walk struct {
	text string
	// tables are the names of the visited tables, in order.
	tables []string
	// recirculations is how often the packet went through conntrack.
	recirculations int
	// outputs are the OpenFlow ports that it left through.
	outputs []int
}

var (
	tableLine = regexp.MustCompile(`(?m)^\s*(\d+)\. `)
	// A packet is never sent back to its own port by this action, which the trace says on the next line.
	outputLine = regexp.MustCompile(`output port is (\d+)\n(\s*>> skipping)?`)
)

// trace sends the packet through the pipeline; ctNext are the conntrack states after each ct().
func (b *bridge) trace(flow string, ctNext ...string) walk {
	b.t.Helper()
	args := []string{"ofproto/trace", bridgeName, flow}
	for _, state := range ctNext {
		args = append(args, "--ct-next", state)
	}
	w := walk{text: b.Appctl(args...)}
	for _, m := range tableLine.FindAllStringSubmatch(w.text, -1) {
		id, err := strconv.Atoi(m[1])
		require.NoError(b.t, err)
		w.tables = append(w.tables, b.c.generator.pipeline.tables[id].name)
	}
	w.recirculations = strings.Count(w.text, "resume conntrack")
	for _, m := range outputLine.FindAllStringSubmatch(w.text, -1) {
		port, err := strconv.Atoi(m[1])
		require.NoError(b.t, err)
		if m[2] == "" {
			w.outputs = append(w.outputs, port)
		}
	}
	return w
}

// finalFlow is the packet with its metadata when it left the pipeline.
func (w walk) finalFlow() string {
	last := func(label string) string {
		i := strings.LastIndex(w.text, label)
		line, _, _ := strings.Cut(w.text[i+len(label):], "\n")
		return line
	}
	if final := last("Final flow: "); final != "unchanged" {
		return final
	}
	return last("\nFlow: ")
}

const epochUnset = 0

// epoch is what the packet mark carries in ONCache's bits.
func (w walk) epoch() uint32 {
	m := regexp.MustCompile(`pkt_mark=(0x[0-9a-f]+)`).FindStringSubmatch(w.finalFlow())
	if m == nil {
		return epochUnset
	}
	mark, _ := strconv.ParseUint(m[1], 0, 32)
	return uint32(mark) >> 20 & 0x3ff
}

// Packets as they enter the bridge.
var (
	podAToRemote = fmt.Sprintf("tcp,in_port=%d,dl_src=%v,dl_dst=%v,nw_src=%v,nw_dst=%v,nw_ttl=64", podAPort, podAMAC, gwMAC, podAIP, remotePodIP)
	remoteToPodA = fmt.Sprintf("tcp,in_port=%d,dl_src=0a:00:00:00:01:01,dl_dst=aa:bb:cc:dd:ee:ff,nw_src=%v,nw_dst=%v,nw_ttl=63", tunnelPort, remotePodIP, podAIP)
	podAToPodB   = fmt.Sprintf("tcp,in_port=%d,dl_src=%v,dl_dst=%v,nw_src=%v,nw_dst=%v,nw_ttl=64", podAPort, podAMAC, podBMAC, podAIP, podBIP)
	podAToGW     = fmt.Sprintf("tcp,in_port=%d,dl_src=%v,dl_dst=%v,nw_src=%v,nw_dst=%v,nw_ttl=64", podAPort, podAMAC, gwMAC, podAIP, gwIP)
	podAToWorld  = fmt.Sprintf("tcp,in_port=%d,dl_src=%v,dl_dst=%v,nw_src=%v,nw_dst=203.0.113.9,nw_ttl=64", podAPort, podAMAC, gwMAC, podAIP)
	gwToPodA     = fmt.Sprintf("tcp,in_port=%d,dl_src=%v,dl_dst=%v,nw_src=%v,nw_dst=%v,nw_ttl=64", gwPort, gwMAC, podAMAC, gwIP, podAIP)
	worldToPodA  = fmt.Sprintf("tcp,in_port=%d,dl_src=%v,dl_dst=%v,nw_src=203.0.113.9,nw_dst=%v,nw_ttl=64", gwPort, gwMAC, podAMAC, podAIP)
	gwToRemote   = fmt.Sprintf("tcp,in_port=%d,dl_src=%v,dl_dst=aa:bb:cc:dd:ee:ff,nw_src=%v,nw_dst=%v,nw_ttl=64", gwPort, gwMAC, gwIP, remotePodIP)
)

const (
	ctNew         = "trk,new"
	ctEstablished = "trk,est"
	ctReply       = "trk,est,rpl"
)

func TestWalks(t *testing.T) {
	b := newBridge(t, oncacheFeatures)
	b.installAll()
	for _, test := range []struct {
		name   string
		packet string
		ct     []string
		// outputs is empty when the packet must be dropped.
		outputs []int
		// final are parts of the packet as it leaves.
		final []string
		// passes, avoids are tables.
		passes, avoids []string
		recirculations int
	}{
		{
			name: "Pod to remote Pod, new", packet: podAToRemote, ct: []string{ctNew, ctNew},
			outputs: []int{tunnelPort}, final: []string{"dl_src=0a:00:00:00:00:01,dl_dst=aa:bb:cc:dd:ee:ff", "nw_ttl=63", "tun_dst=192.168.77.102"},
			passes: []string{"PreRoutingClassifier", "EgressRule", "EgressDefaultRule", "ConntrackCommit"},
			avoids: []string{"IngressRule", "ONCacheMark"}, recirculations: 2,
		},
		{
			name: "Pod to remote Pod, established", packet: podAToRemote + ",ct_mark=3", ct: []string{ctEstablished},
			outputs: []int{tunnelPort}, final: []string{"dl_src=0a:00:00:00:00:01,dl_dst=aa:bb:cc:dd:ee:ff", "nw_ttl=63", "tun_dst=192.168.77.102"},
			passes: []string{"AntreaPolicyEgressRule", "EgressMetric", "IngressMetric", "ONCacheMark"},
			avoids: []string{"PreRoutingClassifier", "EgressRule", "EgressDefaultRule", "IngressRule"}, recirculations: 1,
		},
		{
			name: "remote Pod to Pod, new", packet: remoteToPodA, ct: []string{ctNew, ctNew},
			outputs: []int{podAPort}, final: []string{"dl_src=0a:00:00:00:00:01,dl_dst=0a:00:00:00:00:11", "nw_ttl=62"},
			passes: []string{"IngressRule", "IngressDefaultRule"}, avoids: []string{"SpoofGuard", "ONCacheMark"}, recirculations: 2,
		},
		{
			name: "remote Pod to Pod, reply", packet: remoteToPodA + ",ct_mark=3", ct: []string{ctReply},
			outputs: []int{podAPort}, final: []string{"dl_src=0a:00:00:00:00:01,dl_dst=0a:00:00:00:00:11", "nw_ttl=62"},
			passes: []string{"AntreaPolicyIngressRule", "ONCacheMark"}, avoids: []string{"EgressRule", "IngressRule", "IngressDefaultRule"}, recirculations: 1,
		},
		{
			name: "related packet bypasses policy", packet: remoteToPodA + ",ct_mark=3", ct: []string{"trk,rel"},
			outputs: []int{podAPort}, avoids: []string{"EgressRule", "IngressRule"}, recirculations: 1,
		},
		{
			name: "Pod to Pod on the same Node", packet: podAToPodB, ct: []string{ctNew, ctNew},
			outputs: []int{podBPort}, final: []string{"dl_src=0a:00:00:00:00:11,dl_dst=0a:00:00:00:00:12", "nw_ttl=64"},
			passes: []string{"EgressRule", "IngressRule"}, avoids: []string{"L3DecTTL"}, recirculations: 2,
		},
		{
			name: "Pod to gateway", packet: podAToGW, ct: []string{ctNew, ctNew},
			outputs: []int{gwPort}, final: []string{"nw_ttl=63"}, avoids: []string{"IngressRule"}, recirculations: 2,
		},
		{
			name: "Pod to the world", packet: podAToWorld, ct: []string{ctNew, ctNew},
			outputs: []int{gwPort}, final: []string{"dl_dst=0a:00:00:00:00:01", "nw_ttl=64"}, avoids: []string{"IngressRule"}, recirculations: 2,
		},
		{
			name: "gateway to Pod", packet: gwToPodA, ct: []string{ctNew, ctNew},
			outputs: []int{podAPort}, final: []string{"nw_ttl=64"}, passes: []string{"IngressRule"}, recirculations: 2,
		},
		{
			name: "the Node's own packet to Pod skips ingress policy", packet: gwToPodA + ",pkt_mark=0x80000000", ct: []string{ctNew, ctNew},
			outputs: []int{podAPort}, avoids: []string{"IngressRule", "IngressMetric"}, recirculations: 2,
		},
		{
			name: "forwarded packet to Pod", packet: worldToPodA, ct: []string{ctNew, ctNew},
			outputs: []int{podAPort}, passes: []string{"SpoofGuard", "IngressRule"}, recirculations: 2,
		},
		{
			name: "gateway to remote Pod, TTL already decremented", packet: gwToRemote, ct: []string{ctNew, ctNew},
			outputs: []int{tunnelPort}, final: []string{"nw_ttl=64", "tun_dst=192.168.77.102"}, recirculations: 2,
		},
		{
			name: "reply of a connection from the gateway goes back there, wherever it is addressed to", packet: podAToRemote + ",ct_mark=2",
			ct: []string{ctReply}, outputs: []int{gwPort}, final: []string{"dl_dst=0a:00:00:00:00:01"}, recirculations: 1,
		},
		{name: "spoofed source address", packet: strings.ReplaceAll(podAToRemote, podAIP.String(), podBIP.String()), ct: []string{ctNew}},
		{name: "spoofed source MAC", packet: strings.ReplaceAll(podAToRemote, podAMAC.String(), podBMAC.String()), ct: []string{ctNew}},
		{name: "unknown port", packet: strings.ReplaceAll(podAToRemote, "in_port=11", "in_port=77"), ct: []string{ctNew}},
		{name: "unknown local Pod", packet: strings.ReplaceAll(remoteToPodA, podAIP.String(), "10.10.0.200"), ct: []string{ctNew, ctNew}, recirculations: 2},
		{name: "invalid packet", packet: podAToRemote + ",ct_mark=3", ct: []string{"trk,inv"}, recirculations: 1},
		{name: "invalid packet from the tunnel", packet: remoteToPodA + ",ct_mark=3", ct: []string{"trk,inv"}, recirculations: 1},
		{name: "IPv6", packet: "ipv6,in_port=11,dl_src=0a:00:00:00:00:11"},
		{name: "other protocols", packet: "dl_type=0x88cc,in_port=11,dl_src=0a:00:00:00:00:11"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := b.trace(test.packet, test.ct...)
			require.Equal(t, test.outputs, w.outputs, w.text)
			for _, part := range test.final {
				require.Contains(t, w.finalFlow(), part, w.text)
			}
			for _, table := range test.passes {
				require.Contains(t, w.tables, table, w.text)
			}
			for _, table := range test.avoids {
				require.NotContains(t, w.tables, table, w.text)
			}
			require.Equal(t, test.recirculations, w.recirculations, w.text)
		})
	}
}

func TestARPWalks(t *testing.T) {
	b := newBridge(t, defaultFeatures)
	b.installAll()
	arp := func(port uint32, sha, spa, tpa string) string {
		return fmt.Sprintf("arp,in_port=%d,dl_src=%s,dl_dst=ff:ff:ff:ff:ff:ff,arp_op=1,arp_sha=%s,arp_spa=%s,arp_tha=00:00:00:00:00:00,arp_tpa=%s", port, sha, sha, spa, tpa)
	}
	gwARP := func(tpa netip.Addr) string { return arp(gwPort, gwMAC.String(), gwIP.String(), tpa.String()) }
	podARP := func(tpa netip.Addr) string { return arp(podAPort, podAMAC.String(), podAIP.String(), tpa.String()) }
	for _, test := range []struct {
		name, packet string
		want         string
	}{
		{"gateway asks for a Pod", gwARP(podAIP), "NORMAL"},
		{"Pod asks for the gateway", podARP(gwIP), "NORMAL"},
		{"Pod announces itself", podARP(podAIP), "NORMAL"},
		{"gateway asks for the remote gateway", gwARP(remoteGW), "IN_PORT"},
		{"Pod with a spoofed address", arp(podAPort, podAMAC.String(), podBIP.String(), gwIP.String()), "drop"},
		{"Pod with a spoofed MAC", arp(podAPort, podBMAC.String(), podAIP.String(), gwIP.String()), "drop"},
		{"Pod claims the gateway", arp(podAPort, podAMAC.String(), gwIP.String(), podBIP.String()), "drop"},
		{"from the tunnel", arp(tunnelPort, podAMAC.String(), remotePodIP.String(), podAIP.String()), "drop"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := b.trace(test.packet)
			switch test.want {
			case "drop":
				require.Contains(t, w.text, "Datapath actions: drop")
				require.NotContains(t, w.tables, "ARPResponder")
			default:
				require.Contains(t, w.text, test.want)
				require.NotContains(t, w.text, "Datapath actions: drop")
			}
		})
	}
	t.Run("the answer for the remote gateway", func(t *testing.T) {
		final := b.trace(gwARP(remoteGW)).finalFlow()
		for _, part := range []string{
			"dl_src=aa:bb:cc:dd:ee:ff,dl_dst=0a:00:00:00:00:01", "arp_op=2",
			"arp_spa=10.10.1.1,arp_tpa=10.10.0.1", "arp_sha=aa:bb:cc:dd:ee:ff,arp_tha=0a:00:00:00:00:01",
		} {
			require.Contains(t, final, part)
		}
	})
}

func TestMarkIsLoadedOnlyForWhatMayBeCached(t *testing.T) {
	b := newBridge(t, oncacheFeatures)
	b.installAll()
	for _, test := range []struct {
		name, packet string
		ct           []string
		want         uint32
	}{
		{"Pod to remote Pod, opened by the Pod", podAToRemote + ",ct_mark=3", []string{ctEstablished}, 7},
		{"Pod to remote Pod, opened from the tunnel", podAToRemote + ",ct_mark=1", []string{ctReply}, 7},
		{"remote Pod to Pod, opened by the Pod", remoteToPodA + ",ct_mark=3", []string{ctReply}, 7},
		{"remote Pod to Pod, opened from the tunnel", remoteToPodA + ",ct_mark=1", []string{ctEstablished}, 7},
		{"the ticket's bits are kept", podAToRemote + ",ct_mark=3,pkt_mark=0xf3f00", []string{ctEstablished}, 7},
		{"an old epoch on the packet is replaced", podAToRemote + ",ct_mark=3,pkt_mark=0x3ff00000", []string{ctEstablished}, 7},
		{"other Pod has its own epoch", strings.NewReplacer(podAIP.String(), podBIP.String()).Replace(remoteToPodA) + ",ct_mark=1", []string{ctEstablished}, 8},

		{"new, out", podAToRemote, []string{ctNew, ctNew}, epochUnset},
		{"new, in", remoteToPodA, []string{ctNew, ctNew}, epochUnset},
		{"new, and committed meanwhile", podAToRemote, []string{ctNew, ctEstablished}, epochUnset},
		{"related", podAToRemote + ",ct_mark=3", []string{"trk,rel"}, epochUnset},
		{"established and related", podAToRemote + ",ct_mark=3", []string{"trk,est,rel"}, epochUnset},
		{"not committed", podAToRemote, []string{ctEstablished}, epochUnset},
		{"opened from the gateway", gwToRemote + ",ct_mark=2", []string{ctEstablished}, epochUnset},
		{"Pod to remote Pod, opened through the gateway", remoteToPodA + ",ct_mark=2", []string{ctEstablished}, epochUnset},
		{"Service connection", podAToRemote + ",ct_mark=0x13", []string{ctEstablished}, epochUnset},
		{"SNAT", podAToRemote + ",ct_mark=0x23", []string{ctEstablished}, epochUnset},
		{"hairpin", podAToRemote + ",ct_mark=0x43", []string{ctEstablished}, epochUnset},
		{"L7", podAToRemote + ",ct_mark=0x83", []string{ctEstablished}, epochUnset},
		{"opened by an uplink", podAToRemote + ",ct_mark=4", []string{ctEstablished}, epochUnset},
		{"opened by a bridge port", podAToRemote + ",ct_mark=5", []string{ctEstablished}, epochUnset},
		{"Pod to Pod on the same Node", podAToPodB + ",ct_mark=3", []string{ctEstablished}, epochUnset},
		{"Pod to gateway", podAToGW + ",ct_mark=3", []string{ctEstablished}, epochUnset},
		{"Pod to the world", podAToWorld + ",ct_mark=3", []string{ctEstablished}, epochUnset},
		{"gateway to Pod", gwToPodA + ",ct_mark=3", []string{ctReply}, epochUnset},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := b.trace(test.packet, test.ct...)
			require.Equal(t, test.want, w.epoch(), w.text)
			if test.want != epochUnset {
				require.Equal(t, 1, w.recirculations, "one translation for verdict and mark")
				require.NotContains(t, w.text, "Datapath actions: drop")
			}
		})
	}
	t.Run("other bits of the packet mark stay", func(t *testing.T) {
		w := b.trace(podAToRemote+",ct_mark=3,pkt_mark=0xc00f3fff", ctEstablished)
		require.Contains(t, w.finalFlow(), "pkt_mark=0xc07f3fff")
	})
	t.Run("after removal nothing is marked", func(t *testing.T) {
		require.NoError(t, b.c.UninstallMarkFlows([]string{"pod-a"}))
		require.Zero(t, b.trace(podAToRemote+",ct_mark=3", ctEstablished).epoch())
		require.NotZero(t, b.trace(strings.ReplaceAll(remoteToPodA, podAIP.String(), podBIP.String())+",ct_mark=3", ctReply).epoch())
	})
}

// TestStampsSeparateMegaflows: what a packet is translated to depends on its stamp, before and behind every recirculation, and the
// stamp leaves the switch with no packet.
func TestStampsSeparateMegaflows(t *testing.T) {
	const stamp = 0x2a5
	b := newBridge(t, oncacheFeatures)
	b.installAll()
	for name, test := range map[string]struct {
		packet string
		ct     []string
	}{
		"new, from a Pod":               {podAToRemote, []string{ctNew, ctNew}},
		"new, from the tunnel":          {remoteToPodA, []string{ctNew, ctNew}},
		"new, between Pods":             {podAToPodB, []string{ctNew, ctNew}},
		"new, to the Node":              {podAToGW, []string{ctNew, ctNew}},
		"new, to the world":             {podAToWorld, []string{ctNew, ctNew}},
		"established, from a Pod":       {podAToRemote + ",ct_mark=3", []string{ctEstablished}},
		"established, from the tunnel":  {remoteToPodA + ",ct_mark=1", []string{ctEstablished}},
		"invalid, from a Pod":           {podAToRemote, []string{"trk,inv"}},
		"another protocol, from a Pod":  {strings.Replace(podAToPodB, "tcp", "sctp", 1), []string{ctNew, ctNew}},
		"a fragment, from a Pod":        {strings.Replace(podAToPodB, "tcp", "ip,nw_frag=later", 1), []string{ctNew, ctNew}},
		"a forged source, from a Pod":   {strings.Replace(podAToPodB, podAIP.String(), podBIP.String(), 1), nil},
		"no reply yet, from the tunnel": {remoteToPodA, []string{ctNew, ctEstablished}},
	} {
		t.Run(name, func(t *testing.T) {
			w := b.trace(fmt.Sprintf("%s,pkt_mark=%#x", test.packet, stamp<<20|0x3f00), test.ct...)
			megaflow, _, _ := strings.Cut(w.text[strings.Index(w.text, "\nMegaflow: ")+1:], "\n")
			require.Contains(t, megaflow, fmt.Sprintf("pkt_mark=%#x/0x3ff00000", stamp<<20), w.text)
			final := w.finalFlow()
			require.Regexp(t, fmt.Sprintf("reg8=0x%x[0-9a-f]{4}[,)]", stamp), final, w.text)
			require.Contains(t, []uint32{epochUnset, 7, 8}, w.epoch(), w.text)
			require.Regexp(t, "pkt_mark=0x[0-9a-f]*3f00,", final, "the ticket stays: %s", w.text)
		})
	}
}

// The switch has exactly the flows that the golden files show, and a refused bundle leaves it alone.
func TestSwitchAgreesWithTheFake(t *testing.T) {
	b := newBridge(t, oncacheFeatures)
	b.installAll()
	want := dumpFlows(b.OVS)
	fakeClient, fake := newTestClient(t, oncacheFeatures)
	require.NoError(t, installPodA(fakeClient))
	require.NoError(t, installPodB(fakeClient))
	require.NoError(t, installRemoteNode(fakeClient))
	require.NoError(t, fakeClient.InstallMarkFlows([]coherency.Mark{markOf("pod-a", podAPort, 7), markOf("pod-b", podBPort, 8)}))
	inMemory := flowStrings(fake.Flows())
	slices.Sort(inMemory)
	require.Equal(t, inMemory, want)

	t.Run("installing again changes nothing", func(t *testing.T) {
		b.installAll()
		require.Equal(t, want, dumpFlows(b.OVS))
	})
	t.Run("refused bundle", func(t *testing.T) {
		// A table limit refuses the addition of the Pod, after other parts of the bundle have been accepted.
		limited := fmt.Sprintf("flow_tables:%d=@t", b.c.generator.pipeline.id(tableL3Forwarding))
		count := 0
		for _, line := range want {
			if strings.Contains(line, fmt.Sprintf("table=%d,", b.c.generator.pipeline.id(tableL3Forwarding))) {
				count++
			}
		}
		b.Vsctl("--id=@t", "create", "flow_table", fmt.Sprintf("flow_limit=%d", count), "overflow_policy=refuse",
			"--", "set", "bridge", bridgeName, limited)
		r := &recorder{marks: []coherency.Mark{markOf("pod-a", podAPort, 99)}}
		b.c.SetInterceptor(r)
		podC := netip.MustParseAddr("10.10.0.13")
		err := b.c.InstallPodFlows(context.Background(), "pod-c", []netip.Addr{podC}, mustMAC("0a:00:00:00:00:13"), 13)
		require.Error(t, err)
		require.Equal(t, []string{"begin", "end with error"}, r.events)
		require.Equal(t, want, dumpFlows(b.OVS))
		require.Nil(t, b.c.GetPodFlowKeys("pod-c"))

		b.Vsctl("clear", "bridge", bridgeName, "flow_tables")
		require.NoError(t, b.c.InstallPodFlows(context.Background(), "pod-c", []netip.Addr{podC}, mustMAC("0a:00:00:00:00:13"), 13))
		require.Equal(t, uint32(99), b.trace(podAToRemote+",ct_mark=3", ctEstablished).epoch())
		r.marks = []coherency.Mark{markOf("pod-a", podAPort, 7)}
		require.NoError(t, b.c.UninstallPodFlows(context.Background(), "pod-c"))
		require.Equal(t, want, dumpFlows(b.OVS))
	})
	t.Run("table status counts the switch's flows", func(t *testing.T) {
		status, err := b.c.GetFlowTableStatus(t.Context())
		require.NoError(t, err)
		total := 0
		for _, table := range status {
			total += table.FlowCount
		}
		require.Equal(t, len(want), total)
	})
	t.Run("replay in place", func(t *testing.T) {
		require.NoError(t, b.c.ReplayFlows())
		require.Equal(t, want, dumpFlows(b.OVS))
	})
}

func TestReplayAfterSwitchRestart(t *testing.T) {
	o := ovstest.Start(t)
	c := NewClient(of.NewSwitch(o.AddBridge(bridgeName)), noTableNames, oncacheFeatures)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	previous := uint16(testRound - 1)
	o.Ofctl("add-flow", bridgeName, "cookie=0x4010000000000,table=3,priority=777,actions=drop")
	reconnected, err := c.Initialize(ctx, RoundInfo{RoundNum: testRound, PrevRoundNum: &previous}, testNode, testNetwork)
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Disconnect()) }()
	require.NoError(t, installPodA(c))
	require.NoError(t, installRemoteNode(c))
	require.Contains(t, strings.Join(dumpFlows(o), "\n"), "priority=777")
	require.NoError(t, c.DeleteStaleFlows())
	want := dumpFlows(o)
	require.NotContains(t, strings.Join(want, "\n"), "priority=777")

	o.KillVswitchd()
	o.StartVswitchd()
	select {
	case <-reconnected:
	case <-ctx.Done():
		t.Fatal("no reconnection")
	}
	require.NoError(t, c.ReplayFlows())
	require.Equal(t, want, dumpFlows(o))
}

// The bundle mechanism of the real switch accepts every table combination.
func TestEveryFeatureCombinationIsAccepted(t *testing.T) {
	o := ovstest.Start(t)
	for bits := range 32 {
		features := Features{
			AntreaProxy: bits&1 != 0, AntreaPolicy: bits&2 != 0, Egress: bits&4 != 0, TrafficControl: bits&8 != 0, ONCache: bits&16 != 0,
		}
		t.Run(fmt.Sprintf("%+v", features), func(t *testing.T) {
			name := fmt.Sprintf("br%d", bits)
			c := NewClient(of.NewSwitch(o.AddBridge(name)), noTableNames, features)
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			defer cancel()
			_, err := c.Initialize(ctx, RoundInfo{RoundNum: 1}, testNode, testNetwork)
			require.NoError(t, err)
			require.NoError(t, installPodA(c))
			require.NoError(t, installRemoteNode(c))
			require.NoError(t, c.Disconnect())
		})
	}
}
