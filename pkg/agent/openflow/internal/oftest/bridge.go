// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oftest

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
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
	"github.com/antrea-oncache/antrea/pkg/ovs/ovstest"
)

// Bridge is a real bridge in a private Open vSwitch with the pipeline on it.
type Bridge struct {
	*ovstest.OVS
	T testing.TB
	C openflow.Client
}

const BridgeName = "br-int"

// NewBridge makes a bridge with the gateway, the tunnel and two Pods. All ports are dummies: the tunnel needs no real
// device to see which packets go there.
func NewBridge(t testing.TB, features openflow.Features) *Bridge {
	t.Helper()
	return newBridgeOf(t, features, TestNode)
}

func newBridgeOf(t testing.TB, features openflow.Features, node *config.NodeConfig) *Bridge {
	t.Helper()
	o := ovstest.Start(t)
	socket := o.AddBridge(BridgeName)
	for name, port := range map[string]uint32{"antrea-tun0": TunnelPort, "antrea-gw0": GWPort, "pod-a": PodAPort, "pod-b": PodBPort} {
		o.Vsctl("add-port", BridgeName, name, "--", "set", "interface", name, "type=dummy", fmt.Sprintf("ofport_request=%d", port))
	}
	return &Bridge{OVS: o, T: t, C: NewBridgeClient(t, socket, features, node)}
}

// NewBridgeClient returns an initialized client of the bridge behind the socket, which is disconnected at the end of the test.
func NewBridgeClient(t testing.TB, socket string, features openflow.Features, node *config.NodeConfig) openflow.Client {
	t.Helper()
	c := openflow.NewClient(of.NewSwitch(socket), NoTableNames, features)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	_, err := c.Initialize(ctx, openflow.RoundInfo{RoundNum: TestRound}, node, TestNetwork)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Disconnect()) })
	return c
}

// InstallAll installs Pods, the remote Node and marks with epoch 7 for Pod A and 8 for Pod B.
func (b *Bridge) InstallAll() {
	b.T.Helper()
	require.NoError(b.T, InstallPodA(b.C))
	require.NoError(b.T, InstallPodB(b.C))
	require.NoError(b.T, InstallRemoteNode(b.C))
	if GeneratorOf(b.C).Features.ONCache {
		require.NoError(b.T, b.C.InstallMarkFlows([]coherency.Mark{MarkOf("pod-a", PodAPort, 7), MarkOf("pod-b", PodBPort, 8)}))
	}
}

// DumpFlows returns the flows of the bridge in the format of of.Flow.String, sorted as text: OVS prints flows of equal
// priority in any order.
func DumpFlows(o *ovstest.OVS) []string {
	flows := o.DumpFlows(BridgeName)
	for i, flow := range flows {
		if !strings.Contains(flow, " table=") {
			flows[i] = strings.Replace(flow, " priority=", " table=0, priority=", 1)
		}
	}
	slices.Sort(flows)
	return flows
}

// Walk is the result of ofproto/trace for one packet.
type Walk struct {
	Text string
	// Tables are the names of the visited tables, in order.
	Tables []string
	// Recirculations counts the packet's passes through conntrack.
	Recirculations int
	// Outputs are the OpenFlow ports that it left through.
	Outputs []int
}

var (
	tableLine = regexp.MustCompile(`(?m)^\s*(\d+)\. `)
	// This action does not send a packet back to its own port; the trace says so on the next line.
	outputLine = regexp.MustCompile(`output port is (\d+)\n(\s*>> skipping)?`)
)

// Trace sends the packet through the pipeline; ctNext are the conntrack states after each ct().
func (b *Bridge) Trace(flow string, ctNext ...string) Walk {
	b.T.Helper()
	args := []string{"ofproto/trace", BridgeName, flow}
	for _, state := range ctNext {
		args = append(args, "--ct-next", state)
	}
	w := Walk{Text: b.Appctl(args...)}
	for _, m := range tableLine.FindAllStringSubmatch(w.Text, -1) {
		id, err := strconv.Atoi(m[1])
		require.NoError(b.T, err)
		w.Tables = append(w.Tables, TableNames(b.C)[uint8(id)])
	}
	w.Recirculations = strings.Count(w.Text, "resume conntrack")
	for _, m := range outputLine.FindAllStringSubmatch(w.Text, -1) {
		port, err := strconv.Atoi(m[1])
		require.NoError(b.T, err)
		if m[2] == "" {
			w.Outputs = append(w.Outputs, port)
		}
	}
	return w
}

// FinalFlow is the packet with its metadata when it left the pipeline.
func (w Walk) FinalFlow() string {
	last := func(label string) string {
		i := strings.LastIndex(w.Text, label)
		line, _, _ := strings.Cut(w.Text[i+len(label):], "\n")
		return line
	}
	if final := last("Final flow: "); final != "unchanged" {
		return final
	}
	return last("\nFlow: ")
}

const EpochUnset = 0

// Epoch returns ONCache's bits of the packet mark.
func (w Walk) Epoch() uint32 {
	m := regexp.MustCompile(`pkt_mark=(0x[0-9a-f]+)`).FindStringSubmatch(w.FinalFlow())
	if m == nil {
		return EpochUnset
	}
	mark, _ := strconv.ParseUint(m[1], 0, 32)
	return uint32(mark) >> 20 & 0x3ff
}

// Queue is the number of the queue that was chosen. The dummy datapath sets the priority to it.
func (w Walk) Queue() uint32 {
	m := regexp.MustCompile(`skb_priority=(0x[0-9a-f]+)`).FindStringSubmatch(w.FinalFlow())
	if m == nil {
		return EpochUnset
	}
	queue, _ := strconv.ParseUint(m[1], 0, 32)
	return uint32(queue)
}

// Packets as they enter the bridge.
var (
	PodAToRemote = fmt.Sprintf("tcp,in_port=%d,dl_src=%v,dl_dst=%v,nw_src=%v,nw_dst=%v,nw_ttl=64", PodAPort, PodAMAC, GWMAC, PodAIP, RemotePodIP)
	RemoteToPodA = fmt.Sprintf("tcp,in_port=%d,dl_src=0a:00:00:00:01:01,dl_dst=aa:bb:cc:dd:ee:ff,nw_src=%v,nw_dst=%v,nw_ttl=63", TunnelPort, RemotePodIP, PodAIP)
	PodAToPodB   = fmt.Sprintf("tcp,in_port=%d,dl_src=%v,dl_dst=%v,nw_src=%v,nw_dst=%v,nw_ttl=64", PodAPort, PodAMAC, PodBMAC, PodAIP, PodBIP)
	PodAToGW     = fmt.Sprintf("tcp,in_port=%d,dl_src=%v,dl_dst=%v,nw_src=%v,nw_dst=%v,nw_ttl=64", PodAPort, PodAMAC, GWMAC, PodAIP, GWIP)
	PodAToWorld  = fmt.Sprintf("tcp,in_port=%d,dl_src=%v,dl_dst=%v,nw_src=%v,nw_dst=203.0.113.9,nw_ttl=64", PodAPort, PodAMAC, GWMAC, PodAIP)
	GWToPodA     = fmt.Sprintf("tcp,in_port=%d,dl_src=%v,dl_dst=%v,nw_src=%v,nw_dst=%v,nw_ttl=64", GWPort, GWMAC, PodAMAC, GWIP, PodAIP)
	WorldToPodA  = fmt.Sprintf("tcp,in_port=%d,dl_src=%v,dl_dst=%v,nw_src=203.0.113.9,nw_dst=%v,nw_ttl=64", GWPort, GWMAC, PodAMAC, PodAIP)
	GWToRemote   = fmt.Sprintf("tcp,in_port=%d,dl_src=%v,dl_dst=aa:bb:cc:dd:ee:ff,nw_src=%v,nw_dst=%v,nw_ttl=64", GWPort, GWMAC, GWIP, RemotePodIP)
)

const (
	CTNew         = "trk,new"
	CTEstablished = "trk,est"
	CTReply       = "trk,est,rpl"
)

// Register is the value of a register when the packet left the pipeline.
func (w Walk) Register(name string) uint32 {
	m := regexp.MustCompile(name + `=(0x[0-9a-f]+)`).FindStringSubmatch(w.FinalFlow())
	if m == nil {
		return 0
	}
	value, _ := strconv.ParseUint(m[1], 0, 32)
	return uint32(value)
}

// RequireNoneMissing checks that the client does not expect more flows than the switch has.
func RequireNoneMissing(t *testing.T, c openflow.Client) {
	t.Helper()
	missing, err := c.MissingFlows(t.Context())
	require.NoError(t, err)
	require.Empty(t, missing)
}
