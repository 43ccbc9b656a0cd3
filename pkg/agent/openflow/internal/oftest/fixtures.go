// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oftest

import (
	"context"
	"errors"
	"flag"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/reach"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

const (
	TestRound  = 5
	PodAPort   = 11
	PodBPort   = 12
	TunnelPort = config.TunnelOFPort
	GWPort     = config.GatewayOFPort
)

var (
	GWIP  = netip.MustParseAddr("10.10.0.1")
	GWMAC = MustMAC("0a:00:00:00:00:01")

	PodAIP  = netip.MustParseAddr("10.10.0.11")
	PodAMAC = MustMAC("0a:00:00:00:00:11")
	PodBIP  = netip.MustParseAddr("10.10.0.12")
	PodBMAC = MustMAC("0a:00:00:00:00:12")

	RemoteCIDR  = netip.MustParsePrefix("10.10.1.0/24")
	RemoteGW    = netip.MustParseAddr("10.10.1.1")
	RemotePodIP = netip.MustParseAddr("10.10.1.20")
	RemotePeer  = netip.MustParseAddr("192.168.77.102")
	RemotePeers = PeersVia(RemotePeer)

	GW6IP       = netip.MustParseAddr("fd00:10:0:a::1")
	PodA6IP     = netip.MustParseAddr("fd00:10:0:a::11")
	PodB6IP     = netip.MustParseAddr("fd00:10:0:a::12")
	RemoteCIDR6 = netip.MustParsePrefix("fd00:10:0:b::/64")
	RemoteGW6   = netip.MustParseAddr("fd00:10:0:b::1")
	RemotePod6  = netip.MustParseAddr("fd00:10:0:b::20")
	RemotePeer6 = netip.MustParseAddr("fd00:77::102")

	TestNode = &config.NodeConfig{
		Name:         "node-a",
		OVSBridge:    "br-int",
		PodIPv4CIDR:  netip.MustParsePrefix("10.10.0.0/24"),
		Gateway:      config.GatewayConfig{Name: "antrea-gw0", MAC: GWMAC, IPv4: GWIP, OFPort: GWPort},
		TunnelOFPort: TunnelPort,
	}
	TestNetwork = &config.NetworkConfig{
		TrafficEncapMode: config.TrafficEncapModeEncap,
		TunnelType:       config.TunnelTypeGeneve,
		IPv4Enabled:      true,
	}

	DefaultFeatures  = openflow.Features{AntreaProxy: true, AntreaPolicy: true, Egress: true}
	ONCacheFeatures  = openflow.Features{AntreaProxy: true, AntreaPolicy: true, Egress: true, ONCache: true}
	ProxyAllFeatures = openflow.Features{AntreaProxy: true, ProxyAll: true, AntreaPolicy: true, Egress: true, ONCache: true, Traceflow: true, PacketInRate: 5000}
	MinimalFeatures  = openflow.Features{}

	MulticlusterFeatures = openflow.Features{AntreaProxy: true, AntreaPolicy: true, Egress: true, ONCache: true, Multicluster: true}
	// EncryptedFeatures are MulticlusterFeatures with encryption between clusters.
	EncryptedFeatures = openflow.Features{AntreaProxy: true, AntreaPolicy: true, Egress: true, ONCache: true, Multicluster: true, MulticlusterWireGuard: true}
	// OtherCluster is another cluster, whose gateway Node is reached directly.
	OtherCluster = openflow.Cluster{
		Name: "west", Networks: []netip.Prefix{netip.MustParsePrefix("10.100.0.0/16")}, Gateway: netip.MustParseAddr("192.168.88.2"), Peer: netip.MustParseAddr("192.168.88.2"),
	}

	// DualStackNode has Pods with IPv4 and IPv6 addresses, ipv6Node with IPv6 addresses only.
	DualStackNode = nodeWith(true)
	Ipv6Node      = nodeWith(false)
)

var ErrRefused = errors.New("refused")

func MustMAC(s string) net.HardwareAddr {
	mac, err := net.ParseMAC(s)
	if err != nil {
		panic(err)
	}
	return mac
}

func NoTableNames(map[uint8]string) error { return nil }

func MarkOf(name string, port uint32, epoch uint16) coherency.Mark {
	return coherency.Mark{InterfaceName: name, OFPort: port, Epoch: epoch}
}

// FlowStrings returns the flows as text.
func FlowStrings(flows []of.Flow) []string {
	var out []string
	for _, f := range flows {
		out = append(out, f.String())
	}
	return out
}

// NewFlows returns the flows that are in after but not in before, in pipeline order.
func NewFlows(before, after []of.Flow) []of.Flow {
	old := FlowStrings(before)
	return slices.DeleteFunc(slices.Clone(after), func(f of.Flow) bool { return slices.Contains(old, f.String()) })
}

var (
	flowTableID = regexp.MustCompile(`table=(\d+)`)
	gotoTableID = regexp.MustCompile(`(goto_table:|resubmit\(,)(\d+)`)
)

// RenderLine replaces the ids of tables by their names.
func RenderLine(tables map[uint8]string, line string) string {
	name := func(id string) string {
		if n, err := strconv.ParseUint(id, 10, 8); err == nil && tables[uint8(n)] != "" {
			return tables[uint8(n)]
		}
		return "?" + id
	}
	line = flowTableID.ReplaceAllStringFunc(line, func(s string) string {
		return "table=" + name(strings.TrimPrefix(s, "table="))
	})
	return gotoTableID.ReplaceAllStringFunc(line, func(s string) string {
		m := gotoTableID.FindStringSubmatch(s)
		return m[1] + name(m[2])
	})
}

// Render prints flows in pipeline order, with the names of tables instead of their ids.
func Render(tables map[uint8]string, flows []of.Flow) string {
	flows = slices.Clone(flows)
	slices.SortStableFunc(flows, func(a, b of.Flow) int {
		if a.Table != b.Table {
			return int(a.Table) - int(b.Table)
		}
		if a.Priority != b.Priority {
			return int(b.Priority) - int(a.Priority)
		}
		return strings.Compare(a.Key(), b.Key())
	})
	var b strings.Builder
	for _, f := range flows {
		b.WriteString(RenderLine(tables, f.String()) + "\n")
	}
	return b.String()
}

func RequireGolden(t *testing.T, file, got string) {
	t.Helper()
	path := filepath.Join("testdata", file)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "run the test with -update after an intended change")
}

// Recorder is an Interceptor that records its calls and returns preset marks.
type Recorder struct {
	Events  []string
	Changes []coherency.Change
	Marks   []coherency.Mark
	// OnBegin, when set, runs inside Begin.
	OnBegin func()
}

func (r *Recorder) Begin(change coherency.Change) ([]coherency.Mark, func(error)) {
	r.Events = append(r.Events, "begin")
	r.Changes = append(r.Changes, change)
	if r.OnBegin != nil {
		r.OnBegin()
	}
	return r.Marks, func(err error) {
		if err != nil {
			r.Events = append(r.Events, "end with error")
			return
		}
		r.Events = append(r.Events, "end")
	}
}

// RecordingSwitch adds the moment of each commit to the recorder's events.
type RecordingSwitch struct {
	*of.Fake
	Recorder *Recorder
}

func (s *RecordingSwitch) Commit(ctx context.Context, mods []of.FlowMod) error {
	s.Recorder.Events = append(s.Recorder.Events, "commit")
	return s.Fake.Commit(ctx, mods)
}

// PeersVia is the network of the remote Node, behind a tunnel address.
func PeersVia(tunnelIP netip.Addr) map[netip.Prefix]openflow.Peer {
	return map[netip.Prefix]openflow.Peer{RemoteCIDR: PeerAt(RemoteGW, tunnelIP)}
}

// PeerAt is a peer behind the tunnel.
func PeerAt(gateway, tunnelIP netip.Addr) openflow.Peer {
	return openflow.Peer{Gateway: gateway, Reach: reach.ThroughTunnel(tunnelIP)}
}

func nodeWith(ipv4 bool) *config.NodeConfig {
	node := *TestNode
	node.PodIPv6CIDR, node.Gateway.IPv6 = netip.MustParsePrefix("fd00:10:0:a::/64"), GW6IP
	if !ipv4 {
		node.PodIPv4CIDR, node.Gateway.IPv4 = netip.Prefix{}, netip.Addr{}
	}
	return &node
}
