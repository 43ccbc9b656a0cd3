// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/reach"
	"github.com/antrea-oncache/antrea/pkg/agent/sysctl"
)

// useBackend makes the names iptables, iptables-restore and iptables-save refer to one backend during this test.
func useBackend(t *testing.T, backend string) {
	t.Helper()
	dir := t.TempDir()
	for _, suffix := range []string{"", "-restore", "-save"} {
		program, err := exec.LookPath("iptables-" + backend + suffix)
		if err != nil {
			t.Skipf("needs program iptables-%s%s", backend, suffix)
		}
		require.NoError(t, os.Symlink(program, filepath.Join(dir, "iptables"+suffix)))
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

func TestInitialize(t *testing.T) {
	for _, backend := range []string{"nft", "legacy"} {
		t.Run(backend, func(t *testing.T) {
			useBackend(t, backend)
			newNetNS(t)
			newGateway(t)
			require.NoError(t, sysctl.Apply("net/ipv4/ip_forward", "0"), "a namespace may inherit 1")
			run(t, "iptables", "-A", "INPUT", "-s", "203.0.113.1/32", "-j", "DROP")
			run(t, "iptables", "-N", "KUBE-FORWARD")
			run(t, "iptables", "-A", "FORWARD", "-j", "KUBE-FORWARD")
			foreign := []string{"-A INPUT -s 203.0.113.1/32 -j DROP", ":KUBE-FORWARD -", "-A FORWARD -j KUBE-FORWARD"}

			c := newTestClient(t, Options{Ports: Ports{AgentAPI: 10350, Cluster: 10351}})
			require.NoError(t, c.Initialize())
			once := savedRules(t)
			for _, want := range append(foreign,
				`-A ANTREA-PREROUTING -p udp -m comment --comment "Antrea: do not track incoming tunnel packets" -m udp --dport 6081 -m addrtype --dst-type LOCAL -j NOTRACK`,
				`-A ANTREA-OUTPUT -o antrea-gw0 -m comment --comment "Antrea: mark packets of the Node to local Pods" -m addrtype --src-type LOCAL -j MARK --set-xmark 0x80000000/0x80000000`,
				`-A ANTREA-FORWARD -i antrea-gw0 -m comment --comment "Antrea: accept packets from local Pods" -j ACCEPT`,
				`-A ANTREA-POSTROUTING -s 10.10.0.0/24 ! -o antrea-gw0 -m comment --comment "Antrea: masquerade Pod to external packets" -m set ! --match-set ANTREA-POD-IP dst -j MASQUERADE`,
			) {
				if strings.HasSuffix(want, "NOTRACK") && !slices.Contains(once, want) {
					want = strings.TrimSuffix(want, "NOTRACK") + "CT --notrack" // another spelling of iptables-save
				}
				require.Contains(t, once, want)
			}
			for table, want := range map[string][]string{
				"raw PREROUTING": {"-p udp -m udp --dport 6081"},
				"raw OUTPUT":     {"-p udp -m udp --dport 6081"},
				"mangle FORWARD": {"-p udp -m udp --dport 6081", "-s 10.10.0.0/24 ! -i antrea-gw0",
					"-s 10.10.0.0/24 -i antrea-gw0 ! -o antrea-gw0 -m conntrack --ctstate INVALID -m set ! --match-set ANTREA-POD-IP dst"},
				"mangle OUTPUT":   {"-o antrea-gw0"},
				"filter INPUT":    {"-p udp -m udp --dport 6081", "-p tcp -m tcp --dport 10350:10351", "-p udp -m udp --dport 10351"},
				"filter FORWARD":  {""},
				"filter OUTPUT":   {"-p udp -m udp --dport 6081", "-p tcp -m tcp --sport 10350:10351", "-p udp -m udp --sport 10351", "-p tcp -m tcp --dport 10351", "-p udp -m udp --dport 10351", "-d 10.10.0.0/24"},
				"nat POSTROUTING": {""},
			} {
				name, chain, _ := strings.Cut(table, " ")
				var got []string
				for line := range strings.Lines(run(t, "iptables", "-t", name, "-S", chain)) {
					if match, jumps := strings.CutSuffix(strings.TrimSpace(line), "-j ANTREA-"+chain); jumps {
						got = append(got, strings.TrimSpace(strings.TrimPrefix(match, "-A "+chain)))
					}
				}
				require.Equal(t, want, got, table)
			}
			require.Contains(t, strings.Split(run(t, "iptables", "-S", "INPUT"), "\n")[1], "ANTREA-INPUT", "accepts before others' drops")
			require.Contains(t, strings.Split(run(t, "iptables", "-S", "FORWARD"), "\n")[1], "KUBE-FORWARD", "kube-proxy's rules come first")
			require.Equal(t, []string{"10.10.0.0/24"}, setEntries(t))
			for key, want := range map[string]string{"net/ipv4/ip_forward": "1\n", "net/ipv4/conf/antrea-gw0/arp_announce": "1\n", "net/ipv4/neigh/antrea-gw0/ucast_solicit": "60\n"} {
				got, err := os.ReadFile("/proc/sys/" + key)
				require.NoError(t, err)
				require.Equal(t, want, string(got), key)
			}

			require.NoError(t, c.Initialize())
			require.NoError(t, newTestClient(t, Options{Ports: Ports{AgentAPI: 10350, Cluster: 10351}}).Initialize())
			require.Empty(t, cmp.Diff(once, savedRules(t)), "three Initialize calls give the same rules as one")

			run(t, "iptables", "-A", "FORWARD", "-j", "ANTREA-FORWARD")
			for _, jump := range []string{"-t raw -I PREROUTING", "-t mangle -A OUTPUT", "-I INPUT"} { // of an older agent
				fields := strings.Fields(jump)
				run(t, "iptables", append(fields, "-m", "comment", "--comment", "Antrea: jump to own rules", "-j", "ANTREA-"+fields[len(fields)-1])...)
			}
			run(t, "iptables", "-t", "nat", "-A", "ANTREA-POSTROUTING", "-j", "RETURN")
			run(t, "iptables", "-t", "raw", "-F", "OUTPUT")
			require.NoError(t, c.Initialize())
			require.Empty(t, cmp.Diff(once, savedRules(t)), "damage repaired")
		})
	}
}

func TestKernelAcceptsEveryVariant(t *testing.T) {
	for _, backend := range []string{"nft", "legacy"} {
		for name, change := range map[string]func(*config.NetworkConfig){
			"vxlan, random ports": func(n *config.NetworkConfig) {
				n.TunnelType, n.TunnelPort, n.SNATFullyRandomPorts = config.TunnelTypeVXLAN, 4789, true
			},
			"gre": func(n *config.NetworkConfig) { n.TunnelType = config.TunnelTypeGRE },
			"stt": func(n *config.NetworkConfig) { n.TunnelType, n.TunnelPort = config.TunnelTypeSTT, 7471 },
		} {
			t.Run(backend+", "+name, func(t *testing.T) {
				useBackend(t, backend)
				newNetNS(t)
				newGateway(t)
				network, node := testConfigs()
				change(network)
				c, err := NewClient(network, node, Options{Ports: Ports{10350, 10351, 10349, 10256}, Sysctls: newRecord(t)})
				require.NoError(t, err)
				require.NoError(t, c.Initialize())
				once := savedRules(t)
				require.NoError(t, c.Initialize())
				require.Empty(t, cmp.Diff(once, savedRules(t)))
			})
		}
	}
}

// Two passes of the upkeep undo the changes that other programs may make to the host's network.
func TestUpkeepRepairsTheHostNetwork(t *testing.T) {
	newNetNS(t)
	newGateway(t)
	c := newTestClient(t, Options{})
	require.NoError(t, c.Initialize())
	require.NoError(t, c.AddRoutes(peerCIDR, "node2", byTunnel, peerGateway))
	rules := savedRules(t)
	repair := func() {
		t.Helper()
		for range 2 {
			require.NoError(t, c.look(t.Context()))
		}
	}
	repair()
	for _, flush := range [][]string{
		{"-t", "raw", "-F"}, {"-t", "filter", "-D", "FORWARD", "-j", "ANTREA-FORWARD"}, {"-t", "mangle", "-F", "ANTREA-OUTPUT"},
	} {
		run(t, "iptables", flush...)
		repair()
		require.Empty(t, cmp.Diff(rules, savedRules(t)), "%v", flush)
	}

	link, err := gatewayLink("antrea-gw0")
	require.NoError(t, err)
	require.NoError(t, deleteRoute(&netlink.Route{Dst: toIPNet(peerCIDR), LinkIndex: link}))
	repair()
	require.Equal(t, "10.10.1.1 onlink", gatewayRoutes(t)["10.10.1.0/24"])

	require.NoError(t, familyIPv4.podSet().remove(peerCIDR))
	require.NoError(t, familyIPv4.podSet().remove(localCIDR))
	repair()
	require.Equal(t, []string{"10.10.0.0/24", "10.10.1.0/24"}, setEntries(t))

	forward := setting{"net/ipv4/ip_forward", "0"}
	require.NoError(t, sysctl.Apply(forward.key, forward.value))
	repair()
	now, err := os.ReadFile("/proc/sys/net/ipv4/ip_forward")
	require.NoError(t, err)
	require.Equal(t, "1\n", string(now))
}

// The programs of iptables run only when rules may have changed.
func TestFirewallIsReadOnlyAfterChanges(t *testing.T) {
	newNetNS(t)
	newGateway(t)
	c := newTestClient(t, Options{})
	require.NoError(t, c.Initialize())
	w := c.stacks[0].firewall
	look := func() kept {
		t.Helper()
		require.NoError(t, c.stacks[0].lookAtFirewall(t.Context()))
		return w.kept
	}
	look() // the jumps that Initialize has added were a change
	before := look()
	if before.generation == 0 {
		t.Skip("the kernel does not count changes of nf_tables")
	}
	require.Equal(t, before, look(), "nothing was read")
	run(t, "iptables", "-N", "OTHERS")
	after := look()
	require.NotEqual(t, before.generation, after.generation)
	require.Equal(t, before.applied, after.applied, "rules of others are theirs")
	run(t, "iptables", "-D", "ANTREA-FORWARD", "1")
	require.NotEqual(t, before.applied, look().applied)
}

func TestRoutes(t *testing.T) {
	newNetNS(t)
	newGateway(t)
	c := newTestClient(t, Options{})
	require.NoError(t, c.Initialize())
	for range 2 {
		require.NoError(t, c.AddRoutes(peerCIDR, "node2", byTunnel, peerGateway))
		require.Equal(t, map[string]string{"10.10.0.0/24": "connected", "10.10.1.0/24": "10.10.1.1 onlink"}, gatewayRoutes(t))
		require.Equal(t, []string{"10.10.0.0/24", "10.10.1.0/24"}, setEntries(t))
	}
	require.NoError(t, c.AddRoutes(peerCIDR, "node2", byTunnel, netip.MustParseAddr("10.10.1.9")), "a changed gateway replaces the route")
	require.Equal(t, "10.10.1.9 onlink", gatewayRoutes(t)["10.10.1.0/24"])
	for range 2 {
		require.NoError(t, c.DeleteRoutes(peerCIDR))
		require.Equal(t, map[string]string{"10.10.0.0/24": "connected"}, gatewayRoutes(t))
		require.Equal(t, []string{"10.10.0.0/24"}, setEntries(t))
	}
	require.NoError(t, c.stacks[0].syncRoutes(), "a deleted route does not come back")
	require.NotContains(t, gatewayRoutes(t), "10.10.1.0/24")
}

func TestReconcile(t *testing.T) {
	newNetNS(t)
	newGateway(t)
	before := newTestClient(t, Options{})
	require.NoError(t, before.Initialize())
	require.NoError(t, before.AddRoutes(peerCIDR, "node2", byTunnel, peerGateway))
	require.NoError(t, before.AddRoutes(netip.MustParsePrefix("10.10.9.0/24"), "gone", byTunnel, netip.MustParseAddr("10.10.9.1")))
	run(t, "ip", "route", "add", "198.51.100.0/24", "via", "198.51.100.1", "dev", "antrea-gw0", "onlink")
	run(t, "ip", "route", "add", "198.51.101.0/24", "dev", "antrea-gw0", "metric", "7")
	run(t, "ip", "route", "add", "198.51.102.0/24", "dev", "pipeline")

	after := newTestClient(t, Options{}) // the agent started again
	require.NoError(t, after.Initialize())
	require.NoError(t, after.AddRoutes(otherCIDR, "node3", byTunnel, otherGW))
	require.NoError(t, after.Reconcile([]netip.Prefix{peerCIDR}))
	require.Empty(t, cmp.Diff(map[string]string{
		"10.10.0.0/24": "connected", "10.10.1.0/24": "10.10.1.1 onlink", "10.10.2.0/24": "10.10.2.1 onlink",
	}, gatewayRoutes(t)))
	require.Equal(t, []string{"10.10.0.0/24", "10.10.1.0/24", "10.10.2.0/24"}, setEntries(t))
	require.Contains(t, run(t, "ip", "route"), "198.51.102.0/24", "routes on other devices stay")
}

func TestPacketsFollowOnlinkRoute(t *testing.T) {
	home := newNetNS(t)
	pipeline := newGateway(t)
	c := newTestClient(t, Options{})
	require.NoError(t, c.Initialize())
	require.NoError(t, c.AddRoutes(peerCIDR, "node2", byTunnel, peerGateway))

	// The other end of the gateway port plays the tunnel and the peer: it owns the peer's gateway address and a Pod's.
	ready := make(chan net.PacketConn)
	stop := make(chan struct{})
	t.Cleanup(func() { close(stop) })
	inNetNS(home, func() {
		peer, err := newPeerNetNS(pipeline, home)
		if err != nil {
			t.Error(err)
			close(ready)
			return
		}
		defer peer.Close()
		conn, err := net.ListenPacket("udp4", "10.10.1.5:9999")
		if err != nil {
			t.Error(err)
		}
		ready <- conn
		<-stop
	})
	listener := <-ready
	require.NotNil(t, listener)
	defer listener.Close()
	conn, err := net.Dial("udp4", "10.10.1.5:9999")
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.Write([]byte("hello"))
	require.NoError(t, err)
	require.NoError(t, listener.SetReadDeadline(time.Now().Add(10*time.Second)))
	buffer := make([]byte, 16)
	n, from, err := listener.ReadFrom(buffer)
	require.NoError(t, err)
	require.Equal(t, "hello", string(buffer[:n]))
	require.Equal(t, "10.10.0.1", from.(*net.UDPAddr).IP.String(), "source is the local gateway address")
}

func TestBadInputChangesNothing(t *testing.T) {
	newNetNS(t)
	newGateway(t)
	c := newTestClient(t, Options{})
	require.NoError(t, c.Initialize())
	for name, tc := range map[string]struct {
		cidr, gateway, want string
	}{
		"IPv6":                  {"fd00:10::/64", "fd00:10::1", "of a family that this Node's Pods do not have, want [IPv4]"},
		"host bits":             {"10.10.1.7/24", "10.10.1.1", "10.10.1.7/24"},
		"own CIDR":              {"10.10.0.0/24", "10.10.0.1", "overlaps"},
		"covers own CIDR":       {"10.10.0.0/16", "10.10.0.1", "overlaps"},
		"gateway elsewhere":     {"10.10.1.0/24", "10.10.2.1", "gateway 10.10.2.1"},
		"refused by the kernel": {"224.0.0.0/24", "224.0.0.1", "route 224.0.0.0/24 via 224.0.0.1"},
	} { // no subtests: they would run on threads of the root namespace
		err := c.AddRoutes(netip.MustParsePrefix(tc.cidr), "node2", byTunnel, netip.MustParseAddr(tc.gateway))
		require.ErrorContains(t, err, tc.want, name)
		require.ErrorContains(t, err, "node2", name)
		require.Equal(t, map[string]string{"10.10.0.0/24": "connected"}, gatewayRoutes(t), name)
		require.Equal(t, []string{"10.10.0.0/24"}, setEntries(t), name)
	}
	for kind, want := range map[reach.Kind]string{
		reach.Direct: "add route 10.10.1.0/24 via 192.168.77.102", // which is in no network of this Node
		77:           `routes cannot lead to a peer by "kind 77" (kind 77 to 192.168.77.102)`,
		0:            `routes cannot lead to a peer by "kind 0" (kind 0 to 192.168.77.102)`,
	} {
		err := c.AddRoutes(peerCIDR, "node2", reach.Reach{Kind: kind, Address: peerIP}, peerGateway)
		require.ErrorContains(t, err, "add routes to Node node2: "+want)
		require.Equal(t, map[string]string{"10.10.0.0/24": "connected"}, gatewayRoutes(t), kind)
		require.Equal(t, []string{"10.10.0.0/24"}, setEntries(t), kind)
	}
	require.Error(t, c.DeleteRoutes(localCIDR))
}

func TestGatewayPortGone(t *testing.T) {
	newNetNS(t)
	peer := newGateway(t)
	c := newTestClient(t, Options{})
	require.NoError(t, c.Initialize())
	require.NoError(t, c.AddRoutes(peerCIDR, "node2", byTunnel, peerGateway))
	require.NoError(t, netlink.LinkDel(peer))
	require.ErrorContains(t, c.AddRoutes(otherCIDR, "node3", byTunnel, otherGW), "antrea-gw0")
	require.ErrorContains(t, c.stacks[0].syncRoutes(), "antrea-gw0")

	newGateway(t)
	require.NoError(t, c.stacks[0].syncRoutes(), "a new port gets the routes")
	require.Equal(t, "10.10.1.1 onlink", gatewayRoutes(t)["10.10.1.0/24"])

	peer, err := netlink.LinkByName("pipeline")
	require.NoError(t, err)
	require.NoError(t, netlink.LinkDel(peer))
	require.NoError(t, c.DeleteRoutes(peerCIDR), "the route went with the port")
	require.Equal(t, []string{"10.10.0.0/24"}, setEntries(t))
}

func TestPodSetOfAnotherType(t *testing.T) {
	newNetNS(t)
	newGateway(t)
	require.NoError(t, netlink.IpsetCreate("ANTREA-POD-IP", "hash:ip", netlink.IpsetCreateOptions{}))
	err := newTestClient(t, Options{}).Initialize()
	require.ErrorContains(t, err, "ANTREA-POD-IP has type hash:ip")
}

func TestInitializeNamesWhatTheKernelLacks(t *testing.T) {
	newNetNS(t)
	newGateway(t)
	dir := t.TempDir()
	script := "#!/bin/sh\ncat >/dev/null\necho 'line 6: RULE_APPEND failed (No such file or directory): rule in chain ANTREA-PREROUTING' >&2\nexit 4\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "iptables-restore"), []byte(script), 0o755))
	require.NoError(t, os.Symlink("iptables-restore", filepath.Join(dir, "iptables-nft-restore")))
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	err := newTestClient(t, Options{}).Initialize()
	require.ErrorContains(t, err, "table raw, chain ANTREA-PREROUTING")
	require.ErrorContains(t, err, "xt_CT")
}

func TestNewClientRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*config.NetworkConfig, *config.NodeConfig)
		want   string
	}{
		"other mode": {func(n *config.NetworkConfig, _ *config.NodeConfig) {
			n.TrafficEncapMode = config.TrafficEncapModeNetworkPolicyOnly
		}, `"networkPolicyOnly"`},
		"no IPv6 CIDR": {func(n *config.NetworkConfig, _ *config.NodeConfig) { n.IPv6Enabled = true }, "is not an IPv6 network"},
		"no family": {func(n *config.NetworkConfig, node *config.NodeConfig) {
			n.IPv4Enabled, node.PodIPv4CIDR = false, netip.Prefix{}
		}, "neither"},
		"CIDR, no family": {func(n *config.NetworkConfig, node *config.NodeConfig) { n.IPv4Enabled, n.IPv6Enabled = false, true }, "network does not have IPv4"},
		"no CIDR":         {func(_ *config.NetworkConfig, n *config.NodeConfig) { n.PodIPv4CIDR = netip.Prefix{} }, "Pod CIDR"},
		"host bits": {func(_ *config.NetworkConfig, n *config.NodeConfig) {
			n.PodIPv4CIDR = netip.MustParsePrefix("10.0.0.1/24")
		}, "10.0.0.1/24"},
		"no gateway name": {func(_ *config.NetworkConfig, n *config.NodeConfig) { n.Gateway.Name = "" }, "gateway"},
		"unknown tunnel":  {func(n *config.NetworkConfig, _ *config.NodeConfig) { n.TunnelType = "ipip" }, `"ipip"`},
		"no port":         {func(n *config.NetworkConfig, _ *config.NodeConfig) { n.TunnelPort = 0 }, "port 0"},
	} {
		t.Run(name, func(t *testing.T) {
			network, node := testConfigs()
			tc.change(network, node)
			_, err := NewClient(network, node, Options{Sysctls: newRecord(t)})
			require.ErrorContains(t, err, tc.want)
		})
	}
}
