// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/reach"
	"github.com/antrea-oncache/antrea/pkg/agent/sysctl"
)

var (
	localCIDR   = netip.MustParsePrefix("10.10.0.0/24")
	peerCIDR    = netip.MustParsePrefix("10.10.1.0/24")
	peerGateway = netip.MustParseAddr("10.10.1.1")
	peerIP      = netip.MustParseAddr("192.168.77.102")
	byTunnel    = reach.ThroughTunnel(peerIP)
	otherCIDR   = netip.MustParsePrefix("10.10.2.0/24")
	otherGW     = netip.MustParseAddr("10.10.2.1")
)

// newNetNS moves the calling test into a new network namespace. Its goroutine stays locked to its thread, which the runtime
// discards when the test ends.
func newNetNS(t *testing.T) netns.NsHandle {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root for network namespaces")
	}
	for _, program := range []string{"iptables", "iptables-restore", "iptables-save"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("needs program %s", program)
		}
	}
	runtime.LockOSThread()
	ns, err := netns.New()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, ns.Close()) })
	lo, err := netlink.LinkByName("lo")
	require.NoError(t, err)
	require.NoError(t, netlink.LinkSetUp(lo))
	return ns
}

// newGateway makes the gateway port, one end of a veth pair with the first address of the local Pod CIDR.
func newGateway(t *testing.T) (peer netlink.Link) {
	t.Helper()
	require.NoError(t, netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "antrea-gw0"}, PeerName: "pipeline"}))
	gateway, err := netlink.LinkByName("antrea-gw0")
	require.NoError(t, err)
	peer, err = netlink.LinkByName("pipeline")
	require.NoError(t, err)
	addr := &net.IPNet{IP: net.IPv4(10, 10, 0, 1), Mask: net.CIDRMask(24, 32)}
	require.NoError(t, netlink.AddrAdd(gateway, &netlink.Addr{IPNet: addr}))
	require.NoError(t, netlink.LinkSetUp(gateway))
	require.NoError(t, netlink.LinkSetUp(peer))
	return peer
}

// sync applies everything once.
func (c *Client) sync(ctx context.Context) error {
	for _, s := range c.stacks {
		s.firewall.kept = kept{}
	}
	return c.look(ctx)
}

// look looks at everything once and repairs it.
func (c *Client) look(ctx context.Context) error {
	var errs []error
	for _, p := range c.Upkeep() {
		errs = append(errs, p.Repair(ctx))
	}
	return errors.Join(errs...)
}

func testConfigs() (*config.NetworkConfig, *config.NodeConfig) {
	return &config.NetworkConfig{
			TrafficEncapMode: config.TrafficEncapModeEncap, TunnelType: config.TunnelTypeGeneve, TunnelPort: 6081, IPv4Enabled: true,
		}, &config.NodeConfig{
			Name: "node1", PodIPv4CIDR: localCIDR,
			Gateway: config.GatewayConfig{Name: "antrea-gw0", IPv4: netip.MustParseAddr("10.10.0.1")},
		}
}

func newRecord(t *testing.T) *sysctl.Record {
	return sysctl.NewRecord(filepath.Join(t.TempDir(), "sysctls.json"))
}

func newTestClient(t *testing.T, options Options) *Client {
	t.Helper()
	network, node := testConfigs()
	options.Sysctls = newRecord(t)
	c, err := NewClient(network, node, options)
	require.NoError(t, err)
	return c
}

// inNetNS runs a background function in the namespace until the test ends.
func inNetNS(ns netns.NsHandle, run func()) {
	go func() {
		runtime.LockOSThread()
		if err := netns.Set(ns); err != nil {
			panic(err)
		}
		run()
	}()
}

func run(t *testing.T, program string, args ...string) string {
	t.Helper()
	out, err := exec.Command(program, args...).CombinedOutput()
	require.NoError(t, err, "%s %v: %s", program, args, out)
	return string(out)
}

// savedRules returns the rules and chains of iptables-save without dates and counters.
func savedRules(t *testing.T) []string {
	t.Helper()
	var lines []string
	for line := range strings.Lines(run(t, "iptables-save")) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "#") {
			if i := strings.Index(line, " ["); strings.HasPrefix(line, ":") && i > 0 {
				line = line[:i]
			}
			lines = append(lines, line)
		}
	}
	return lines
}

// gatewayRoutes returns the destinations of the main table's routes on the gateway port, with their gateways.
func gatewayRoutes(t *testing.T) map[string]string {
	t.Helper()
	link, err := gatewayLink("antrea-gw0")
	require.NoError(t, err)
	routes, err := listGatewayRoutes(familyIPv4, link)
	require.NoError(t, err)
	found := map[string]string{}
	for _, r := range routes {
		via := "connected"
		if r.gateway.IsValid() {
			via = r.gateway.String()
			if r.onlink {
				via += " onlink"
			}
		}
		found[r.cidr.String()] = via
	}
	return found
}

func setEntries(t *testing.T) []string {
	t.Helper()
	entries, err := familyIPv4.podSet().entries()
	require.NoError(t, err)
	var texts []string
	for _, e := range entries {
		texts = append(texts, e.String())
	}
	return texts
}

// newPeerNetNS makes another namespace, moves the device into it from home, gives it the peer's gateway address and a Pod's,
// and leaves the calling thread there.
func newPeerNetNS(device netlink.Link, home netns.NsHandle) (netns.NsHandle, error) {
	peer, err := netns.New()
	if err != nil {
		return peer, err
	}
	if err := netns.Set(home); err != nil {
		return peer, err
	}
	if err := netlink.LinkSetNsFd(device, int(peer)); err != nil {
		return peer, err
	}
	if err := netns.Set(peer); err != nil {
		return peer, err
	}
	for _, address := range []string{"10.10.1.1/24", "10.10.1.5/24"} {
		addr, err := netlink.ParseAddr(address)
		if err != nil {
			return peer, err
		}
		if err := netlink.AddrAdd(device, addr); err != nil {
			return peer, err
		}
	}
	return peer, netlink.LinkSetUp(device)
}
