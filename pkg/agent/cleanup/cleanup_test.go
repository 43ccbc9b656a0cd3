// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cleanup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/nodelock"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/route"
	"github.com/antrea-oncache/antrea/pkg/agent/sysctl"
	"github.com/antrea-oncache/antrea/test/env/sandbox"
)

func TestMain(m *testing.M) { sandbox.Main(m) }

// node is a directory in the place of the Node's root, and the devices of this network namespace.
type node struct {
	t    *testing.T
	root string
	out  bytes.Buffer
}

func newNode(t *testing.T) *node {
	sandbox.RequireRoot(t)
	for _, program := range []string{"iptables-save", "ip6tables-save"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("needs program %s", program)
		}
	}
	n := &node{t: t, root: t.TempDir()}
	for _, dir := range []string{"etc/cni/net.d", "opt/cni/bin", "var/run", "var/log"} {
		require.NoError(t, os.MkdirAll(filepath.Join(n.root, dir), 0o755))
	}
	return n
}

func (n *node) options() Options {
	return Options{
		Root: n.root, CNIBinDir: "/opt/cni/bin", Bridge: "br-int", Gateway: "antrea-gw0", Out: &n.out,
		pinPath: filepath.Join(sandbox.BPFFS, "antrea", "oncache"),
	}
}

func (n *node) write(name, text string) {
	n.t.Helper()
	file := filepath.Join(n.root, name)
	require.NoError(n.t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(n.t, os.WriteFile(file, []byte(text), 0o755))
}

// state is all that a Node consists of here.
func (n *node) state() []string {
	n.t.Helper()
	var out []string
	for _, dir := range []string{n.root, sandbox.BPFFS} {
		require.NoError(n.t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				text, _ := os.ReadFile(path)
				path += " " + string(text)
			}
			out = append(out, path)
			return err
		}))
	}
	for _, command := range []string{
		"iptables-save | grep -e ^-A -e ' - '", "ip6tables-save | grep -e ^-A -e ' - '", "ipset list", "ip -o link", "ip -o address", "ip route", "ip -6 route", "ip rule", "ip -6 rule",
		"tc qdisc", "tc filter show dev uplink ingress", "tc filter show dev uplink egress", "sysctl -a --pattern 'ip_forward$|all.forwarding|be_liberal'",
	} {
		text, _ := exec.Command("sh", "-c", command).CombinedOutput()
		out = append(out, command)
		for line := range strings.Lines(string(text)) {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return out
}

// install makes what installation and agent make, by the programs that make it.
func (n *node) install() {
	image := n.t.TempDir()
	for name, text := range map[string]string{
		"etc/antrea/antrea-cni.conflist": `{"plugins": [{"type": "antrea"}]}`, "usr/local/bin/antrea-cni": "antrea", "opt/cni/bin/loopback": "loopback",
		"opt/cni/bin/portmap": "portmap", "opt/cni/bin/bandwidth": "bandwidth",
	} {
		require.NoError(n.t, os.MkdirAll(filepath.Dir(filepath.Join(image, name)), 0o755))
		require.NoError(n.t, os.WriteFile(filepath.Join(image, name), []byte(text), 0o755))
	}
	require.NoError(n.t, os.Symlink(n.root, filepath.Join(image, "host")))
	script := exec.Command("../../../build/images/agent/rootfs/usr/local/bin/install_cni")
	script.Env = append(os.Environ(), "INSTALL_CNI_ROOT="+image, "SKIP_LOADING_KERNEL_MODULES=1")
	text, err := script.CombinedOutput()
	require.NoError(n.t, err, string(text))

	record := sysctl.NewRecord(filepath.Join(n.root, "var/run/antrea/sysctls.json"))
	client, err := route.NewClient(&config.NetworkConfig{
		TrafficEncapMode: config.TrafficEncapModeEncap, TunnelType: config.TunnelTypeGeneve, TunnelPort: 6081, IPv4Enabled: true, IPv6Enabled: true,
	}, &config.NodeConfig{
		Name: "node", PodIPv4CIDR: netip.MustParsePrefix("10.10.0.0/24"), PodIPv6CIDR: netip.MustParsePrefix("fd00:10::/64"),
		Gateway: config.GatewayConfig{Name: "antrea-gw0"},
	}, route.Options{Sysctls: record, ProxyAll: true})
	require.NoError(n.t, err)
	require.NoError(n.t, client.Initialize())

	for _, hook := range []datapath.Hook{datapath.HookClsact, datapath.HookAuto} {
		d, err := datapath.Load(datapath.Options{PinPath: n.options().pinPath, MaxFlows: 1024, MaxFlows6: 1024, Hook: hook})
		require.NoError(n.t, err)
		uplink, err := netlink.LinkByName("uplink")
		require.NoError(n.t, err)
		require.NoError(n.t, d.Attach(uplink.Attrs().Index, datapath.RoleUplink))
		require.NoError(n.t, d.Close())
	}
	n.write("var/run/antrea/openvswitch/conf.db", "database")
	n.write("var/log/antrea/antrea-agent.log", "log")
}

// bare makes the devices that exist before the installation; the gateway is one, because this kernel may have no Open vSwitch.
func (n *node) bare() {
	for name, peer := range map[string]string{"uplink": "router", "antrea-gw0": "bridge"} {
		// A queue as network cards have it: the kernel gives one without queue a queue with the first qdisc, for good.
		require.NoError(n.t, netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: name, TxQLen: 1000}, PeerName: peer}))
		n.t.Cleanup(func() { require.NoError(n.t, deleteLink(name)) })
	}
	gateway, err := netlink.LinkByName("antrea-gw0")
	require.NoError(n.t, err)
	require.NoError(n.t, netlink.AddrAdd(gateway, &netlink.Addr{IPNet: &net.IPNet{IP: net.IPv4(10, 10, 0, 1), Mask: net.CIDRMask(24, 32)}}))
	require.NoError(n.t, netlink.LinkSetUp(gateway))
	for _, key := range []string{"net/ipv4/ip_forward", "net/ipv6/conf/all/forwarding"} {
		require.NoError(n.t, os.WriteFile("/proc/sys/"+key, []byte("0"), 0))
	}
	n.write("opt/cni/bin/portmap", "the Node's own")
	n.write("etc/cni/net.d/20-other.conflist", "{}")
}

func TestNodeIsAsBefore(t *testing.T) {
	n := newNode(t)
	n.bare()
	n.state() // iptables makes its built-in chains when they are listed
	before := n.state()
	n.install()
	installed := n.state()
	require.NotEqual(t, before, installed)

	o := n.options()
	o.DryRun = true
	require.NoError(t, o.Run(t.Context()))
	require.Equal(t, installed, withoutLock(n.state()), "a dry run changes nothing")
	said := n.out.String()
	n.out.Reset()

	require.NoError(t, n.options().Run(t.Context()))
	require.Equal(t, strings.ReplaceAll(lines(said), "would remove ", "removed "), lines(n.out.String()), "a dry run says what is done")
	require.Equal(t, before, n.state())
	for _, want := range []string{
		"removed CNI configuration ", "/opt/cni/bin/portmap; the one that was there before is back", "removed eBPF programs of ONCache on uplink",
		"ANTREA-INPUT, ANTREA-OUTPUT of table filter, and 14 rules", "removed ip6tables-nft chains ", "removed ipset ANTREA-POD-IP6", "removed IPv4 routing rule of Services", "removed ipset ANTREA-SERVICE-IP6", "/var/log/antrea",
		"removed change of sysctl net/ipv4/ip_forward: 1, was 0 before Antrea", "removed all of Antrea from this Node: ",
	} {
		require.Contains(t, n.out.String(), want)
	}

	n.out.Reset()
	require.NoError(t, n.options().Run(t.Context()))
	require.Equal(t, "nothing of Antrea is on this Node\n", n.out.String())
	require.Equal(t, before, n.state())
}

// As long as Pods are connected, routes and rules keep their packets from leaving in clear.
func TestPodsEndBeforeTheRules(t *testing.T) {
	var names []string
	for _, s := range (&Options{}).steps() {
		names = append(names, s.name)
	}
	require.Less(t, slices.Index(names, "Open vSwitch"), slices.Index(names, "firewall"))
}

// lines are all but the last line, in order of the kernel's choice.
func lines(text string) string {
	all := strings.Split(strings.TrimSpace(text), "\n")
	all = all[:len(all)-1]
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// withoutLock: the lock file exists on every Node where an agent has run.
func withoutLock(state []string) []string {
	return slices.DeleteFunc(state, func(line string) bool { return strings.Contains(line, "/antrea-agent.lock ") })
}

func TestRefusesWhileAnAgentRuns(t *testing.T) {
	n := newNode(t)
	n.write("etc/cni/net.d/10-antrea.conflist", "{}")
	unlock, err := nodelock.Lock(t.Context(), filepath.Join(n.root, "var/run/antrea/antrea-agent.lock"))
	require.NoError(t, err)
	defer unlock()
	before := n.state()
	err = n.options().Run(t.Context())
	require.ErrorContains(t, err, "the Node is not cleaned up: another antrea-agent runs on this Node")
	require.ErrorContains(t, err, "delete the DaemonSet antrea-agent first")
	require.Equal(t, before, n.state())
	require.Empty(t, n.out.String())
}

func TestRefusesWhileInstalled(t *testing.T) {
	n := newNode(t)
	n.write("etc/cni/net.d/10-antrea.conflist", "{}")
	o := n.options()
	o.UnlessExists = filepath.Join(t.TempDir(), "antrea-agent.conf")
	require.NoError(t, os.WriteFile(o.UnlessExists, nil, 0o644))
	before := n.state()
	require.ErrorContains(t, o.Run(t.Context()), "uninstall it first")
	require.Equal(t, before, n.state())
	require.NoError(t, os.Remove(o.UnlessExists))
	require.NoError(t, o.Run(t.Context()))
	require.NoFileExists(t, filepath.Join(n.root, "etc/cni/net.d/10-antrea.conflist"))
}

func TestRefusesWhileVswitchdRuns(t *testing.T) {
	n := newNode(t)
	n.write("etc/cni/net.d/10-antrea.conflist", "{}")
	dir, err := os.MkdirTemp("", "ovs")
	require.NoError(t, err)
	defer os.RemoveAll(dir)
	socket, err := net.Listen("unix", filepath.Join(dir, "ovs-vswitchd.77.ctl"))
	require.NoError(t, err)
	defer socket.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	err = n.options().Run(ctx)
	require.ErrorContains(t, err, "ovs-vswitchd still runs ("+dir+"/ovs-vswitchd.77.ctl)")
	require.FileExists(t, filepath.Join(n.root, "etc/cni/net.d/10-antrea.conflist"))

	// It ends while the cleanup waits.
	done := make(chan error, 1)
	go func() { done <- n.options().Run(t.Context()) }()
	require.NoError(t, socket.Close())
	require.NoError(t, <-done)
	require.NoFileExists(t, filepath.Join(n.root, "etc/cni/net.d/10-antrea.conflist"))
}

// TestFailureKeepsTheState: what cannot be removed stops nothing else, but the state stays for the next attempt.
func TestFailureKeepsTheState(t *testing.T) {
	n := newNode(t)
	n.write("etc/cni/net.d/10-antrea.conflist", "{}")
	n.write("opt/cni/bin/antrea", "plugin")
	n.write("var/run/antrea/sysctls.json", "{")
	conf := filepath.Join(n.root, "etc/cni/net.d")
	require.NoError(t, unix.Mount(conf, conf, "", unix.MS_BIND, ""))
	defer unix.Unmount(conf, 0)
	require.NoError(t, unix.Mount("", conf, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""))
	err := n.options().Run(t.Context())
	require.ErrorContains(t, err, "some things are left")
	require.ErrorIs(t, err, unix.EROFS)
	require.ErrorContains(t, err, "the record of changed sysctls, is damaged")
	require.Contains(t, n.out.String(), "FAILED CNI configuration ")
	require.Contains(t, n.out.String(), "removed CNI plugin ")
	require.NoFileExists(t, filepath.Join(n.root, "opt/cni/bin/antrea"))
	require.FileExists(t, filepath.Join(n.root, "var/run/antrea/sysctls.json"))
}

// TestPluginsOfOthersStay: a plugin that was installed after ours belongs to the next network plugin.
func TestPluginsOfOthersStay(t *testing.T) {
	n := newNode(t)
	n.bare()
	n.install()
	n.write("opt/cni/bin/bandwidth", "the next network plugin's")
	require.NoError(t, n.options().Run(t.Context()))
	entries, err := os.ReadDir(filepath.Join(n.root, "opt/cni/bin"))
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	require.Equal(t, []string{"bandwidth", "portmap"}, names)
}

// TestPluginDuringUpgrade: until an upgrade has replaced a plugin, both its versions are ours.
func TestPluginDuringUpgrade(t *testing.T) {
	bin := t.TempDir()
	record := filepath.Join(bin, recordDirectory)
	require.NoError(t, os.Mkdir(record, 0o755))
	sums := fmt.Sprintf("%x\n%x\n", sha256.Sum256([]byte("new")), sha256.Sum256([]byte("old")))
	for path, text := range map[string]string{
		filepath.Join(record, "portmap"+sumSuffix): sums, filepath.Join(record, "portmap"): "the Node's", filepath.Join(bin, "portmap"): "old",
	} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o755))
	}
	items, err := plugin(bin, "portmap", filepath.Join(record, "portmap"+sumSuffix))
	require.NoError(t, err)
	require.Len(t, items, 1)
	require.NoError(t, items[0].Remove())
	text, err := os.ReadFile(filepath.Join(bin, "portmap"))
	require.NoError(t, err)
	require.Equal(t, "the Node's", string(text))
}
