// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

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
	"github.com/antrea-oncache/antrea/pkg/agent/reach"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

const (
	testRound  = 5
	podAPort   = 11
	podBPort   = 12
	tunnelPort = config.TunnelOFPort
	gwPort     = config.GatewayOFPort
)

var (
	gwIP  = netip.MustParseAddr("10.10.0.1")
	gwMAC = mustMAC("0a:00:00:00:00:01")

	podAIP  = netip.MustParseAddr("10.10.0.11")
	podAMAC = mustMAC("0a:00:00:00:00:11")
	podBIP  = netip.MustParseAddr("10.10.0.12")
	podBMAC = mustMAC("0a:00:00:00:00:12")

	remoteCIDR  = netip.MustParsePrefix("10.10.1.0/24")
	remoteGW    = netip.MustParseAddr("10.10.1.1")
	remotePodIP = netip.MustParseAddr("10.10.1.20")
	remotePeer  = netip.MustParseAddr("192.168.77.102")
	remotePeers = peersVia(remotePeer)

	gw6IP       = netip.MustParseAddr("fd00:10:0:a::1")
	podA6IP     = netip.MustParseAddr("fd00:10:0:a::11")
	podB6IP     = netip.MustParseAddr("fd00:10:0:a::12")
	remoteCIDR6 = netip.MustParsePrefix("fd00:10:0:b::/64")
	remoteGW6   = netip.MustParseAddr("fd00:10:0:b::1")
	remotePod6  = netip.MustParseAddr("fd00:10:0:b::20")
	remotePeer6 = netip.MustParseAddr("fd00:77::102")

	testNode = &config.NodeConfig{
		Name:         "node-a",
		OVSBridge:    "br-int",
		PodIPv4CIDR:  netip.MustParsePrefix("10.10.0.0/24"),
		Gateway:      config.GatewayConfig{Name: "antrea-gw0", MAC: gwMAC, IPv4: gwIP, OFPort: gwPort},
		TunnelOFPort: tunnelPort,
	}
	testNetwork = &config.NetworkConfig{
		TrafficEncapMode: config.TrafficEncapModeEncap,
		TunnelType:       config.TunnelTypeGeneve,
		IPv4Enabled:      true,
	}

	defaultFeatures  = Features{AntreaProxy: true, AntreaPolicy: true, Egress: true}
	oncacheFeatures  = Features{AntreaProxy: true, AntreaPolicy: true, Egress: true, ONCache: true}
	proxyAllFeatures = Features{AntreaProxy: true, ProxyAll: true, AntreaPolicy: true, Egress: true, ONCache: true, Traceflow: true, PacketInRate: 5000}
	minimalFeatures  = Features{}

	// dualStackNode has Pods with IPv4 and IPv6 addresses, ipv6Node with IPv6 addresses only.
	dualStackNode = nodeWith(true)
	ipv6Node      = nodeWith(false)
)

var errRefused = errors.New("refused")

func mustMAC(s string) net.HardwareAddr {
	mac, err := net.ParseMAC(s)
	if err != nil {
		panic(err)
	}
	return mac
}

func noTableNames(map[uint8]string) error { return nil }

func markOf(name string, port uint32, epoch uint16) coherency.Mark {
	return coherency.Mark{InterfaceName: name, OFPort: port, Epoch: epoch}
}

// flowStrings returns the flows as text.
func flowStrings(flows []of.Flow) []string {
	var out []string
	for _, f := range flows {
		out = append(out, f.String())
	}
	return out
}

// newFlows returns the flows that are in after but not in before, in pipeline order.
func newFlows(before, after []of.Flow) []of.Flow {
	old := flowStrings(before)
	return slices.DeleteFunc(slices.Clone(after), func(f of.Flow) bool { return slices.Contains(old, f.String()) })
}

var (
	flowTableID = regexp.MustCompile(`table=(\d+)`)
	gotoTableID = regexp.MustCompile(`(goto_table:|resubmit\(,)(\d+)`)
)

// renderLine replaces the ids of tables by their names.
func renderLine(tables map[uint8]string, line string) string {
	name := func(id string) string {
		n, err := strconv.Atoi(id)
		if err != nil || n >= len(tables) {
			return "?" + id
		}
		return tables[uint8(n)]
	}
	line = flowTableID.ReplaceAllStringFunc(line, func(s string) string {
		return "table=" + name(strings.TrimPrefix(s, "table="))
	})
	return gotoTableID.ReplaceAllStringFunc(line, func(s string) string {
		m := gotoTableID.FindStringSubmatch(s)
		return m[1] + name(m[2])
	})
}

// render prints flows in pipeline order, with the names of tables instead of their ids.
func render(tables map[uint8]string, flows []of.Flow) string {
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
		b.WriteString(renderLine(tables, f.String()) + "\n")
	}
	return b.String()
}

func requireGolden(t *testing.T, file, got string) {
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

// recorder is an Interceptor that records its calls and returns preset marks.
type recorder struct {
	events  []string
	changes []coherency.Change
	marks   []coherency.Mark
	// onBegin, when set, runs inside Begin.
	onBegin func()
}

func (r *recorder) Begin(change coherency.Change) ([]coherency.Mark, func(error)) {
	r.events = append(r.events, "begin")
	r.changes = append(r.changes, change)
	if r.onBegin != nil {
		r.onBegin()
	}
	return r.marks, func(err error) {
		if err != nil {
			r.events = append(r.events, "end with error")
			return
		}
		r.events = append(r.events, "end")
	}
}

// recordingSwitch adds the moment of each commit to the recorder's events.
type recordingSwitch struct {
	*of.Fake
	recorder *recorder
}

func (s *recordingSwitch) Commit(ctx context.Context, mods []of.FlowMod) error {
	s.recorder.events = append(s.recorder.events, "commit")
	return s.Fake.Commit(ctx, mods)
}

// peersVia is the network of the remote Node, behind a tunnel address.
func peersVia(tunnelIP netip.Addr) map[netip.Prefix]Peer {
	return map[netip.Prefix]Peer{remoteCIDR: peerAt(remoteGW, tunnelIP)}
}

// peerAt is a peer behind the tunnel.
func peerAt(gateway, tunnelIP netip.Addr) Peer { return Peer{gateway, reach.ThroughTunnel(tunnelIP)} }

func nodeWith(ipv4 bool) *config.NodeConfig {
	node := *testNode
	node.PodIPv6CIDR, node.Gateway.IPv6 = netip.MustParsePrefix("fd00:10:0:a::/64"), gw6IP
	if !ipv4 {
		node.PodIPv4CIDR, node.Gateway.IPv4 = netip.Prefix{}, netip.Addr{}
	}
	return &node
}
