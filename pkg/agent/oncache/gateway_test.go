// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"errors"
	"net"
	"net/netip"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/reach"
	"github.com/antrea-oncache/antrea/test/env/sandbox"
)

var gatewayConfig = Config{
	GatewayMAC: net.HardwareAddr{10, 0, 0, 0, 0, 1}, VirtualMAC: net.HardwareAddr{0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff},
	Gateway: Gateway{Name: "gw0", IPv4: netip.MustParseAddr("10.10.1.1"), IPv6: netip.MustParseAddr("fd00:10:1::1"), OFPort: 32769},
}

func TestGatewayAsAnEndpoint(t *testing.T) {
	require.Empty(t, (&Config{}).gateway(), "there is none")
	pods := gatewayConfig.gateway()
	require.Equal(t, []Pod{{InterfaceName: "gw0", Gateway: true, MAC: gatewayConfig.GatewayMAC, OFPort: 32769,
		IPs: []netip.Addr{gatewayConfig.Gateway.IPv4, gatewayConfig.Gateway.IPv6}}}, pods)
	require.Equal(t, "gw0", pods[0].String())
	require.Equal(t, "ns/a", Pod{Namespace: "ns", Name: "a", InterfaceName: "a-1"}.String())

	a := newPodAnnouncer(&gatewayConfig)
	require.Equal(t, datapath.Endpoint{IfIndex: 7, Gateway: true, IPv4: gatewayConfig.Gateway.IPv4, IPv6: gatewayConfig.Gateway.IPv6,
		MAC: gatewayConfig.GatewayMAC, GatewayMAC: gatewayConfig.VirtualMAC}, a.endpointOf(&localPod{Pod: pods[0], ifIndex: 7}))
}

// TestGatewayFollowsChanges: changes for all endpoints concern the gateway, changes of Pods do not. It is not counted as a Pod.
func TestGatewayFollowsChanges(t *testing.T) {
	e := newEnv(t, "a")
	require.NoError(t, e.addEndpoint(gatewayConfig.gateway()[0], "openvswitch", datapath.Endpoint{}))
	require.Equal(t, []string{"gw0=1"}, describe(e.writeMarks()))
	require.Equal(t, 1, e.podCount())
	_, end := e.Begin(coherency.Change{Nodes: []coherency.Node{remote("node-2", "192.168.77.12", "10.10.2.0/24")}})
	end(nil)
	for _, c := range []struct {
		change coherency.Change
		marks  []string
	}{
		{coherency.Change{Interfaces: []string{"a"}}, []string{"a=2"}},
		{coherency.Change{All: true}, []string{"a=3", "gw0=2"}},
		{coherency.Change{Nodes: []coherency.Node{remote("node-2", "192.168.77.13", "10.10.2.0/24")}}, []string{"a=4", "gw0=3"}},
		{coherency.Change{RemovedNodes: []string{"node-2"}}, []string{"a=5", "gw0=4"}},
	} {
		marks, end := e.Begin(c.change)
		end(nil)
		require.Equal(t, c.marks, describe(marks), "%+v", c.change)
	}
}

// gatewayOnDevice is an announcer with a gateway on a real device.
func gatewayOnDevice(t *testing.T) (a *podAnnouncer, p *localPod) {
	t.Helper()
	return announcedGateway(t, gatewayConfig)
}

func announcedGateway(t *testing.T, config Config) (a *podAnnouncer, p *localPod) {
	t.Helper()
	sandbox.RequireRoot(t)
	config.PinPath, config.Lease = filepath.Join(sandbox.BPFFS, strings.ReplaceAll(t.Name(), "/", "-"), "oncache"), time.Hour
	ip(t, "link add gw0 type veth peer name gw0p")
	t.Cleanup(func() { ip(t, "link del gw0") })
	dp, err := datapath.Load(datapath.Options{PinPath: config.PinPath, MaxFlows: 1024, Hook: config.Hook, Direct: config.Direct})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, datapath.RemoveAll(config.PinPath))
		require.NoError(t, dp.Close())
	})
	a = newPodAnnouncer(&config)
	l := newLedger(dp, time.Now, func() {}, nil, 0)
	l.direct = config.Direct
	attached := a.begin(dp, l, config.gateway())
	a.follow()
	p = a.pods["gw0"]
	require.Empty(t, p.onOVS)
	require.Equal(t, []int{p.ifIndex}, attached)
	return a, p
}

func requirePrograms(t *testing.T, a *podAnnouncer, ifIndex int) {
	t.Helper()
	ok, err := a.dp.InPlace(ifIndex, datapath.RoleGateway)
	require.NoError(t, err)
	require.True(t, ok)
}

// TestGatewayKeepsItsPrograms: with something that hits would bypass, the gateway has no slot, but its programs stay.
func TestGatewayKeepsItsPrograms(t *testing.T) {
	a, p := gatewayOnDevice(t)
	requirePrograms(t, a, p.ifIndex)
	require.Len(t, a.ledger.endpoints, 1)
	ip(t, "link set gw0 up")
	shaper := &netlink.Tbf{Rate: 1e6, Limit: 1e5, Buffer: 1e5,
		QdiscAttrs: netlink.QdiscAttrs{LinkIndex: p.ifIndex, Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT}}
	require.NoError(t, netlink.QdiscAdd(shaper))
	for range 2 {
		a.review(captures{})
		require.Contains(t, p.onOVS, "qdisc tbf")
		require.Empty(t, a.ledger.endpoints)
		require.Zero(t, a.podsOnOVS(), "it is not a Pod")
		require.Len(t, a.onOVS(), 1)
		requirePrograms(t, a, p.ifIndex)
	}
	require.NoError(t, netlink.QdiscDel(shaper))
	a.review(captures{})
	require.Empty(t, p.onOVS)
	require.Len(t, a.ledger.endpoints, 1)
}

// filtersOf makes a watch that is told of filters and queueing disciplines of the gateway's device, and of nothing else. messages gets the type of each.
func filtersOf(t *testing.T, a *podAnnouncer) (w *uplinkWatch, messages <-chan uint16) {
	t.Helper()
	done := make(chan struct{})
	t.Cleanup(func() { close(done) })
	k := newUplinkKeeper(a.config)
	k.gatewayChanged = a.gatewayChanged
	types := make(chan uint16, 1000)
	events, err := subscribeUplink(done, func(m syscall.NetlinkMessage) bool {
		matters := k.changesFilters(m)
		if matters {
			types <- m.Header.Type
		}
		return matters
	})
	require.NoError(t, err)
	k.findGateway()
	return &uplinkWatch{keeper: k, events: events, retry: time.NewTicker(time.Hour), tick: time.NewTicker(time.Hour)}, types
}

// TestGatewayWithholdsDirectMarks: while hits would bypass a filter of others on the gateway's interface, no packet between a Pod and a Node without
// a tunnel is marked. A new filter is noticed at once, and reviews make no changes that would ask for the next one. The gateway waits longer each time.
func TestGatewayWithholdsDirectMarks(t *testing.T) {
	for _, hook := range []datapath.Hook{"", datapath.HookClsact} {
		t.Run(string(hook), func(t *testing.T) { testWithheldMarks(t, hook) })
	}
}

func testWithheldMarks(t *testing.T, hook datapath.Hook) {
	config := gatewayConfig
	config.Direct, config.Hook = true, hook
	a, p := announcedGateway(t, config)
	clock := time.Now()
	a.now = func() time.Time { return clock }
	require.True(t, a.ledger.directMarks)
	m := &Manager{config: *a.config, pods: a, ledger: a.ledger}
	_, end := a.ledger.Begin(coherency.Change{Nodes: []coherency.Node{
		{Name: "node-2", Reach: reach.Reach{Kind: reach.Direct, Address: netip.MustParseAddr("192.168.77.12")}, PodCIDRs: []netip.Prefix{netip.MustParsePrefix("10.10.2.0/24")}},
		remote("node-3", "192.168.78.13", "10.10.3.0/24"),
	}})
	end(nil)
	w, messages := filtersOf(t, a)
	reviewed := func(reason string) {
		t.Helper()
		a.review(captures{})
		require.Equal(t, reason == "", a.ledger.directMarks, p.onOVS)
		require.Contains(t, p.onOVS, reason)
		nodes := m.Nodes()
		require.Contains(t, nodes[0].OnOVS, reason)
		require.Equal(t, reason == "", nodes[0].OnOVS == "", nodes[0].OnOVS)
		require.Empty(t, nodes[1].OnOVS)
	}
	changed := func(reason string) {
		t.Helper()
		for len(a.again) == 0 { // until a message about the filter has come; until the test's time limit
			why, _, err := w.next(nil)
			require.NoError(t, err)
			require.Empty(t, why)
		}
		<-a.again
		reviewed(reason)
	}
	ip(t, "link add other0 type veth peer name other0p")
	defer ip(t, "link del other0")
	for _, wait := range []time.Duration{0, 1, 2, 3, 0} {
		addFilter(t, "other0")
		f := addFilter(t, "gw0")
		for <-messages != unix.RTM_NEWTFILTER {
		}
		changed("TC filter bpf, priority 5 on ingress")
		reviewed("TC filter bpf, priority 5 on ingress")
		requirePrograms(t, a, p.ifIndex)
		require.NoError(t, netlink.FilterDel(f))
		require.EqualValues(t, unix.RTM_DELTFILTER, <-messages, "a review has made a change")
		if wait > 0 {
			changed("has come and gone")
			clock = clock.Add(wait*a.config.Lease - 1)
			reviewed("has come and gone")
			clock = clock.Add(1)
			reviewed("")
		} else {
			changed("")
		}
		if wait == 3 {
			clock = clock.Add(mostLeases*a.config.Lease + 1)
		}
	}
}

// TestFiltersOfSharedBlocks: a filter that the gateway's device shares with others is noticed as its own.
func TestFiltersOfSharedBlocks(t *testing.T) {
	config := gatewayConfig
	config.Direct = true
	a, p := announcedGateway(t, config)
	_, messages := filtersOf(t, a)
	const block = 22
	out, err := exec.Command("tc", "qdisc", "add", "dev", "gw0", "ingress_block", strconv.Itoa(block), "clsact").CombinedOutput()
	require.NoError(t, err, "%s", out)
	addFilterAt(t, sharedBlock, block)
	for <-messages != unix.RTM_NEWTFILTER {
	}
	a.review(captures{})
	require.Contains(t, p.onOVS, "TC filter bpf, priority 5 on ingress")
}

// TestWithdrawalsThatWait: the gateway waits if something came and went, and not after a fault of this Node.
func TestWithdrawalsThatWait(t *testing.T) {
	config := gatewayConfig
	config.Direct, config.Lease = true, time.Second
	a, p := newPodAnnouncer(&config), &localPod{Pod: config.gateway()[0]}
	for _, c := range []struct {
		err  error
		wait bool
	}{
		{errors.New("netlink: no buffer space"), false}, {stays(stayInterface, errors.New("it is gone")), false},
		{stays(stayCapture, errors.New("tcpdump")), false}, // the first
		{errors.New("netlink: no buffer space"), false}, {stays(stayBypass, errors.New("a filter")), true},
	} {
		p.stay(c.err)
		a.noteWithdrawal(p)
		require.Equal(t, c.wait, a.mayReturn(p) != nil, "%v", c.err)
	}
}

// addFilter adds a clsact qdisc and a filter of others to a device.
func addFilter(t *testing.T, name string) netlink.Filter {
	t.Helper()
	device, err := netlink.LinkByName(name)
	require.NoError(t, err)
	index := device.Attrs().Index
	require.NoError(t, netlink.QdiscReplace(&netlink.Clsact{QdiscAttrs: netlink.QdiscAttrs{LinkIndex: index, Handle: netlink.MakeHandle(0xffff, 0), Parent: netlink.HANDLE_CLSACT}}))
	return addFilterAt(t, index, netlink.HANDLE_MIN_INGRESS)
}

func addFilterAt(t *testing.T, index int, parent uint32) netlink.Filter {
	t.Helper()
	p, err := ebpf.NewProgram(&ebpf.ProgramSpec{Name: "foreign", Type: ebpf.SchedCLS, License: "GPL", Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, -1), asm.Return()}})
	require.NoError(t, err)
	defer p.Close()
	f := &netlink.BpfFilter{Fd: p.FD(), Name: "foreign", DirectAction: true, FilterAttrs: netlink.FilterAttrs{
		LinkIndex: index, Parent: parent, Handle: 1, Protocol: unix.ETH_P_ALL, Priority: 5}}
	require.NoError(t, netlink.FilterReplace(f))
	return f
}

// TestGatewayIsMadeAnew: nothing refers to the former device, and the new one has programs.
func TestGatewayIsMadeAnew(t *testing.T) {
	a, p := gatewayOnDevice(t)
	former := p.ifIndex
	ip(t, "link del gw0")
	a.review(captures{})
	require.NotEmpty(t, p.onOVS)
	require.Empty(t, a.ledger.endpoints)
	attached, err := datapath.Attached(a.config.PinPath)
	require.NoError(t, err)
	require.Empty(t, attached)

	ip(t, "link add up0 type veth peer name up0p")
	defer ip(t, "link del up0")
	ip(t, "link add gw0 type veth peer name gw0p")
	a.review(captures{})
	require.Empty(t, p.onOVS)
	require.NotEqual(t, former, p.ifIndex)
	requirePrograms(t, a, p.ifIndex)
	require.Equal(t, p.ifIndex, a.ledger.endpoints["gw0"].ifIndex)
}

// TestGatewayUpdates: a review is asked for when the device is gone or another one, and not for other messages about it.
func TestGatewayUpdates(t *testing.T) {
	config := gatewayConfig
	reviews := 0
	w := &uplinkWatch{keeper: &uplinkKeeper{config: &config, gatewayChanged: func() { reviews++ }}}
	update := func(kind uint16, name string, index int) {
		u := netlink.LinkUpdate{Link: &netlink.Dummy{LinkAttrs: netlink.LinkAttrs{Name: name, Index: index}}}
		u.Header.Type = kind
		require.Empty(t, w.linkChanged(u))
	}
	const added, removed = 16, 17 // RTM_NEWLINK, RTM_DELLINK
	for i, c := range []struct {
		kind  uint16
		name  string
		index int
		want  int
	}{
		{added, "gw0", 5, 1}, {added, "gw0", 5, 1}, {added, "pod0", 6, 1}, {removed, "pod0", 6, 1}, {removed, "gw0", 5, 2}, {added, "gw0", 8, 3}, {added, "gw0", 9, 4},
	} {
		update(c.kind, c.name, c.index)
		require.Equal(t, c.want, reviews, "message %d", i)
	}
}
