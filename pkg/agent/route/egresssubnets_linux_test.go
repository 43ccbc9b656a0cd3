// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
)

// newDevice makes a device, in the place of one of a VLAN, that is up.
func newDevice(t *testing.T, name string) netlink.Link {
	t.Helper()
	require.NoError(t, netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: name}, PeerName: "x-" + name}))
	link, err := netlink.LinkByName(name)
	require.NoError(t, err)
	require.NoError(t, netlink.LinkSetUp(link))
	peer, err := netlink.LinkByName("x-" + name)
	require.NoError(t, err)
	require.NoError(t, netlink.LinkSetUp(peer))
	return link
}

// newSubnetClient returns a client whose transport interface is uplink0.
func newSubnetClient(t *testing.T) *Client {
	c := newTestClient(t, Options{Egress: true})
	c.stacks[0].uplink = "uplink0"
	return c
}

func separateMark(addr, gateway string, vlan int) config.EgressMark {
	return config.EgressMark{Addr: netip.MustParseAddr(addr), Subnet: config.EgressSubnet{Gateway: netip.MustParsePrefix(gateway), VLAN: vlan}}
}

// egressRouting shows the rules and the routes of the first two tables.
func egressRouting(t *testing.T) string {
	return run(t, "sh", "-c", "ip rule | grep -w -e 10[1-9] -e 11[0-9] -e 120; for i in 101 102; do ip route show table $i 2>/dev/null; done; true")
}

// TestEgressSubnets: packets with a mark leave by the subnet of their source, or nowhere; foreign changes are repaired, a new agent keeps what it finds, and
// what no mark needs goes.
func TestEgressSubnets(t *testing.T) {
	newNetNS(t)
	newGateway(t)
	vlan := newDevice(t, "antrea-ext.10")
	newDevice(t, "uplink0")
	c := newSubnetClient(t)
	require.NoError(t, c.Initialize())
	marks := map[uint8]config.EgressMark{
		1: separateMark("172.20.10.2", "172.20.10.1/24", 10), 2: separateMark("172.20.10.3", "172.20.10.1/24", 10),
		3: separateMark("172.21.0.2", "172.21.0.1/16", 0), 4: {Addr: netip.MustParseAddr("192.168.77.200")},
	}
	setMarks(t, c, marks)
	want := egressRouting(t)
	for _, line := range []string{
		"100:	from all fwmark 0x1/0xff lookup 101", "100:	from all fwmark 0x2/0xff lookup 101", "100:	from all fwmark 0x3/0xff lookup 102",
		"default via 172.20.10.1 dev antrea-ext.10 proto 170", "172.20.10.0/24 dev antrea-ext.10 proto 170 scope link", "unreachable default proto 170 metric 2147483647",
		"default via 172.21.0.1 dev uplink0", "172.21.0.0/16 dev uplink0",
	} {
		require.Contains(t, want, line)
	}
	require.NotContains(t, want, "0x4/")

	// Others delete a rule and a route, and change another one.
	run(t, "ip", "rule", "del", "fwmark", "0x2/0xff")
	run(t, "ip", "route", "del", "default", "via", "172.20.10.1", "table", "101")
	require.NoError(t, c.sync(t.Context()))
	require.ElementsMatch(t, strings.Split(want, "\n"), strings.Split(egressRouting(t), "\n"))

	next := newSubnetClient(t)
	require.NoError(t, next.Initialize())
	require.NoError(t, next.sync(t.Context()))
	require.ElementsMatch(t, strings.Split(want, "\n"), strings.Split(egressRouting(t), "\n"), "a new agent keeps them")
	require.Equal(t, marks, next.FormerEgressMarks())
	delete(marks, 1)
	delete(marks, 2)
	setMarks(t, next, marks)
	require.NotContains(t, egressRouting(t), "172.20.10")
	require.Contains(t, egressRouting(t), "0x3/0xff lookup 102", "the table stays the same")
	marks[1] = separateMark("172.20.10.2", "172.20.10.1/24", 10)
	setMarks(t, next, marks)
	require.Contains(t, egressRouting(t), "0x1/0xff lookup 101", "a free table is used again")

	// The device of one subnet goes: its packets leave by no other way, and other subnets are as before.
	require.NoError(t, netlink.LinkDel(vlan))
	require.Error(t, next.sync(t.Context()))
	unreached, err := next.SetEgressMarks(t.Context(), marks)
	require.NoError(t, err)
	require.Len(t, unreached, 1)
	require.ErrorContains(t, unreached[1], "antrea-ext.10")
	require.Regexp(t, "unreachable|No route to host", run(t, "sh", "-c", "ip route get 203.0.113.9 mark 1 2>&1 || :"))
	require.Contains(t, run(t, "ip", "route", "get", "203.0.113.9", "mark", "3"), "via 172.21.0.1")

	off := newTestClient(t, Options{})
	require.NoError(t, off.Initialize())
	require.Empty(t, strings.TrimSpace(egressRouting(t)), "without the feature, all is gone")
	_, err = next.SetEgressMarks(t.Context(), marks)
	require.NoError(t, err)
	require.Contains(t, egressRouting(t), "0x3/0xff lookup 102")
	items, err := Leftovers(t.Context())
	require.NoError(t, err)
	for _, item := range items {
		require.NoError(t, item.Remove(), item.Name)
	}
	require.Empty(t, strings.TrimSpace(egressRouting(t)))
}

// TestForeignTables: tables and rules of other programs stay, with the gate and without it, unless a rule leads packets with a mark of the agent elsewhere.
func TestForeignTables(t *testing.T) {
	newNetNS(t)
	newGateway(t)
	newDevice(t, "uplink0")
	run(t, "ip", "route", "add", "198.51.100.0/24", "dev", "uplink0", "table", "101")
	run(t, "ip", "rule", "add", "fwmark", "0x9/0xff", "lookup", "101")
	run(t, "ip", "rule", "add", "fwmark", "0x1/0xff", "lookup", "101")
	run(t, "ip", "rule", "add", "from", "192.0.2.7", "lookup", "102") // whose device is down: the table is empty
	c := newSubnetClient(t)
	require.NoError(t, c.Initialize())
	marks := map[uint8]config.EgressMark{1: separateMark("172.21.0.2", "172.21.0.1/16", 0)}
	setMarks(t, c, marks)
	want := egressRouting(t)
	require.Contains(t, want, "0x1/0xff lookup 103")
	require.NotContains(t, want, "0x1/0xff lookup 101")
	setMarks(t, c, nil)
	require.NoError(t, newTestClient(t, Options{}).Initialize())
	items, err := Leftovers(t.Context())
	require.NoError(t, err)
	for _, item := range items {
		require.NoError(t, item.Remove(), item.Name)
	}
	left := egressRouting(t)
	require.Contains(t, left, "0x9/0xff lookup 101")
	require.Contains(t, left, "from 192.0.2.7 lookup 102")
	require.Contains(t, left, "198.51.100.0/24")
	require.NotContains(t, left, "172.21")
}

// TestEgressSubnetsEnd: the 21st subnet is refused, and the others stay.
func TestEgressSubnetsEnd(t *testing.T) {
	newNetNS(t)
	newGateway(t)
	newDevice(t, "uplink0")
	c := newSubnetClient(t)
	require.NoError(t, c.Initialize())
	marks := map[uint8]config.EgressMark{}
	for i := range uint8(21) {
		addr := netip.AddrFrom4([4]byte{172, 20, i, 1})
		marks[i+1] = config.EgressMark{Addr: addr.Next(), Subnet: config.EgressSubnet{Gateway: netip.PrefixFrom(addr, 24)}}
	}
	unreached, err := c.SetEgressMarks(t.Context(), marks)
	require.NoError(t, err)
	require.Len(t, unreached, 1)
	require.ErrorContains(t, unreached[21], "20 have Egress addresses in other subnets and 0 have routes or rules of other programs: none is free")
	delete(marks, 5)
	setMarks(t, c, marks)
}

// TestEgressRuleFails: a mark without its rule is refused, others are as they should be, and the next attempt succeeds.
func TestEgressRuleFails(t *testing.T) {
	newNetNS(t)
	newGateway(t)
	newDevice(t, "uplink0")
	c := newSubnetClient(t)
	require.NoError(t, c.Initialize())
	add := c.stacks[0].egress.addRule
	c.stacks[0].egress.addRule = func(r *netlink.Rule) error {
		if r.Mark == 1 {
			return unix.EOPNOTSUPP
		}
		return add(r)
	}
	marks := map[uint8]config.EgressMark{
		1: separateMark("172.20.10.2", "172.20.10.1/24", 0), 2: separateMark("172.21.0.2", "172.21.0.1/16", 0), 3: {Addr: netip.MustParseAddr("192.168.77.200")},
	}
	unreached, err := c.SetEgressMarks(t.Context(), marks)
	require.NoError(t, err)
	require.Len(t, unreached, 1)
	require.ErrorContains(t, unreached[1], "add the IPv4 routing rule of mark 1 to table 101")
	require.Contains(t, run(t, "ip", "route", "get", "203.0.113.9", "mark", "2"), "via 172.21.0.1")
	require.Contains(t, run(t, "iptables-save", "-t", "nat"), "192.168.77.200")
	require.Error(t, c.sync(t.Context()), "the upkeep tells it")
	c.stacks[0].egress.addRule = add
	require.NoError(t, c.sync(t.Context()))
	require.Contains(t, run(t, "ip", "route", "get", "203.0.113.9", "mark", "1"), "via 172.20.10.1")
}
