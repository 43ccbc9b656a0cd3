// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"context"
	"fmt"
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
	c Client
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
	return &bridge{OVS: o, t: t, c: newBridgeClient(t, socket, features, node)}
}

// newBridgeClient returns an initialized client of the bridge behind the socket, which is disconnected at the end of the test.
func newBridgeClient(t testing.TB, socket string, features Features, node *config.NodeConfig) Client {
	t.Helper()
	c := NewClient(of.NewSwitch(socket), noTableNames, features)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	_, err := c.Initialize(ctx, RoundInfo{RoundNum: testRound}, node, testNetwork)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Disconnect()) })
	return c
}

// installAll installs Pods, the remote Node and marks with epoch 7 for Pod A and 8 for Pod B.
func (b *bridge) installAll() {
	b.t.Helper()
	require.NoError(b.t, installPodA(b.c))
	require.NoError(b.t, installPodB(b.c))
	require.NoError(b.t, installRemoteNode(b.c))
	if generatorOf(b.c).features.ONCache {
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

// walk is what ofproto/trace reports for one packet.
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
	// This action does not send a packet back to its own port; the trace says so on the next line.
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
		w.tables = append(w.tables, tableNames(b.c)[uint8(id)])
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

// queue is the number of the queue that was chosen. The dummy datapath sets the priority to it.
func (w walk) queue() uint32 {
	m := regexp.MustCompile(`skb_priority=(0x[0-9a-f]+)`).FindStringSubmatch(w.finalFlow())
	if m == nil {
		return epochUnset
	}
	queue, _ := strconv.ParseUint(m[1], 0, 32)
	return uint32(queue)
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

// register is the value of a register when the packet left the pipeline.
func (w walk) register(name string) uint32 {
	m := regexp.MustCompile(name + `=(0x[0-9a-f]+)`).FindStringSubmatch(w.finalFlow())
	if m == nil {
		return 0
	}
	value, _ := strconv.ParseUint(m[1], 0, 32)
	return uint32(value)
}

// requireNoneMissing checks that the client does not expect more flows than the switch has.
func requireNoneMissing(t *testing.T, c Client) {
	t.Helper()
	missing, err := c.MissingFlows(t.Context())
	require.NoError(t, err)
	require.Empty(t, missing)
}
