// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/reach"
)

// fakeSlots records the core's writes in order, and the current values.
type fakeSlots struct {
	log   []string
	noted []string
	words map[int][2]uint32
	// changed has the stamp of each slot, change is the last one.
	changed map[int]uint32
	change  uint32
	// networks are the slots that Pod networks lead to.
	networks map[netip.Prefix]int
	// services are the addresses of Services.
	services []netip.Addr
	fail     error
}

func (f *fakeSlots) note(format string, args ...any) {
	f.log = append(f.log, fmt.Sprintf(format, args...))
}
func (f *fakeSlots) EndpointState(slot int) (uint32, uint32) {
	return f.words[slot][0], f.words[slot][1]
}
func (f *fakeSlots) PublishEndpoint(slot int, generation, epoch uint32) {
	f.words[slot] = [2]uint32{generation, epoch}
	f.note("publish %d generation=%d epoch=%d", slot, generation, epoch)
}
func (f *fakeSlots) NextChange() uint32 {
	if f.change++; f.change%datapath.StampValues == 0 {
		f.change++
	}
	return f.change
}
func (f *fakeSlots) StampEndpoint(slot int, change uint32) {
	if f.changed == nil {
		f.changed = map[int]uint32{}
	}
	f.changed[slot] = change
}
func (f *fakeSlots) SetEndpoint(slot int, e datapath.Endpoint) error {
	f.note("set %d %v", slot, e.IPv4)
	return f.fail
}
func (f *fakeSlots) ClearEndpoint(slot int) error { f.note("clear %d", slot); return nil }
func (f *fakeSlots) SetNode(slot int, ip netip.Addr) {
	f.note("node %d %v", slot, ip)
}
func (f *fakeSlots) SetDirectNode(slot int, ip netip.Addr) {
	f.note("direct node %d %v", slot, ip)
}
func (f *fakeSlots) SetNodeRewrites(slot int, rewrites bool) {
	if rewrites {
		f.note("rewrite to node %d", slot)
	}
}
func (f *fakeSlots) ClearNode(slot int) { f.note("clear node %d", slot) }
func (f *fakeSlots) BumpNode(slot int)  { f.note("bump node %d", slot) }
func (f *fakeSlots) AddPodNetwork(p netip.Prefix, slot int) error {
	f.note("network %v -> %d", p, slot)
	if f.networks == nil {
		f.networks = map[netip.Prefix]int{}
	}
	f.networks[p] = slot
	return f.fail
}
func (f *fakeSlots) AddServiceAddress(address netip.Addr) error {
	f.services = append(f.services, address)
	return nil
}

func (f *fakeSlots) RemoveServiceAddress(address netip.Addr) error {
	f.services = slices.DeleteFunc(f.services, func(a netip.Addr) bool { return a == address })
	return nil
}

func (f *fakeSlots) RemovePodNetwork(p netip.Prefix) error {
	f.note("no network %v", p)
	delete(f.networks, p)
	return nil
}
func (f *fakeSlots) NoteEpoch(slot int, epoch uint32) {
	f.noted = append(f.noted, fmt.Sprintf("%d=%d", slot, epoch))
}
func (f *fakeSlots) BumpAll() uint32 { f.note("bump all"); return 0 }

func (f *fakeSlots) take() []string {
	l := f.log
	f.log = nil
	return l
}

type env struct {
	*ledger
	slots *fakeSlots
	clock time.Time
	woken int
}

func newEnv(t *testing.T, pods ...string) *env {
	e := &env{slots: &fakeSlots{words: map[int][2]uint32{}}, clock: time.Unix(1000, 0)}
	e.ledger = newLedger(e.slots, func() time.Time { return e.clock }, func() { e.woken++ }, nil, 0)
	for i, name := range pods {
		e.add(t, name, fmt.Sprintf("10.10.1.%d", i+2))
	}
	e.writeMarks()
	e.slots.take()
	return e
}

func (e *env) add(t *testing.T, name, ip string) {
	addr := netip.MustParseAddr(ip)
	require.NoError(t, e.addEndpoint(Pod{InterfaceName: name, Namespace: "ns", Name: name, IPs: []netip.Addr{addr}, MAC: net.HardwareAddr{1, 2, 3, 4, 5, 6}, OFPort: 7},
		"veth", datapath.Endpoint{IfIndex: 100, IPv4: addr}))
}

// writeMarks does the work of the manager's worker, with a switch that accepts.
func (e *env) writeMarks() []coherency.Mark {
	marks, serials := e.pendingMarks()
	e.marksWritten(marks, serials)
	return marks
}

func remote(name, ip string, cidrs ...string) coherency.Node {
	n := coherency.Node{Name: name, Reach: reach.ThroughTunnel(netip.MustParseAddr(ip))}
	for _, c := range cidrs {
		n.PodCIDRs = append(n.PodCIDRs, netip.MustParsePrefix(c))
	}
	return n
}

func describe(marks []coherency.Mark) (out []string) {
	for _, m := range marks {
		out = append(out, fmt.Sprintf("%s=%d", m.InterfaceName, m.Epoch))
	}
	return out
}

func TestNewPodLearnsOnlyAfterItsMarksAreWritten(t *testing.T) {
	e := newEnv(t)
	e.add(t, "a", "10.10.1.2")
	require.Equal(t, []string{"publish 0 generation=1 epoch=0", "set 0 10.10.1.2"}, e.slots.take())
	require.Equal(t, 1, e.woken)
	require.Equal(t, []string{"a=1"}, describe(e.writeMarks()))
	require.Equal(t, []string{"publish 0 generation=2 epoch=1"}, e.slots.take())
}

// TestMarksOvertakenByAChange: the worker's marks and a change race on the switch. Whichever wins there, the loser
// publishes no epoch, and the worker writes again.
func TestMarksOvertakenByAChange(t *testing.T) {
	e := newEnv(t)
	e.add(t, "a", "10.10.1.2")
	marks, serials := e.pendingMarks()
	inBundle, end := e.Begin(coherency.Change{Interfaces: []string{"a"}})
	end(nil)
	require.Equal(t, []string{"a=1"}, describe(marks))
	require.Equal(t, []string{"a=2"}, describe(inBundle))
	e.slots.take()
	e.marksWritten(marks, serials)
	require.Empty(t, e.slots.take())
	require.Equal(t, 1, e.unmarked())
	require.Equal(t, []string{"a=3"}, describe(e.writeMarks()))
	require.Zero(t, e.unmarked())
}

func TestPodRemovedWhileMarksAreWritten(t *testing.T) {
	e := newEnv(t)
	e.add(t, "a", "10.10.1.2")
	marks, serials := e.pendingMarks()
	e.removeEndpoint("a")
	e.add(t, "a", "10.10.1.2")
	e.slots.take()
	e.marksWritten(marks, serials)
	require.Empty(t, e.slots.take(), "marks of the earlier Pod prove nothing")
	e.removeEndpoint("a")
	e.marksWritten(marks, serials)
	require.Equal(t, []string{"a"}, e.uselessMarks(), "to be removed from the switch again")
}

// TestGenerationsNeverRestart: a slot that is used again continues its generations.
func TestGenerationsNeverRestart(t *testing.T) {
	e := newEnv(t)
	last := uint32(0)
	for range 10 {
		e.add(t, "a", "10.10.1.2")
		e.writeMarks()
		generation, _ := e.slots.EndpointState(0)
		require.Greater(t, generation, last)
		last = generation
		e.removeEndpoint("a")
	}
}

// TestAddressReuseContinuesEpochs: megaflows of the earlier Pod still write its epochs.
func TestAddressReuseContinuesEpochs(t *testing.T) {
	e := newEnv(t)
	e.add(t, "old", "10.10.1.2")
	require.Equal(t, []string{"old=1"}, describe(e.writeMarks()))
	e.removeEndpoint("old")
	e.add(t, "new", "10.10.1.2")
	e.add(t, "other", "10.10.1.3")
	require.Equal(t, []string{"new=2", "other=1"}, describe(e.writeMarks()))
	e.removeEndpoint("new")
	e.clock = e.clock.Add(epochReuse)
	e.add(t, "late", "10.10.1.2")
	require.Equal(t, []string{"late=1"}, describe(e.writeMarks()))
}

// TestRestartContinuesEpochs: megaflows outlive the agent.
func TestRestartContinuesEpochs(t *testing.T) {
	slots := &fakeSlots{words: map[int][2]uint32{}}
	clock := time.Unix(1000, 0)
	e := &env{slots: slots, clock: clock}
	e.ledger = newLedger(slots, func() time.Time { return e.clock }, func() {}, map[netip.Addr]uint32{netip.MustParseAddr("10.10.1.2"): 510}, 0)
	e.add(t, "a", "10.10.1.2")
	require.Equal(t, []string{"a=511"}, describe(e.writeMarks()))
	_, end := e.Begin(coherency.Change{Interfaces: []string{"a"}})
	require.Equal(t, []string{"0=510", "0=511", "0=1"}, slots.noted, "noted before Open vSwitch is told")
	end(nil)
}

// TestOneChangeOneStamp: a change takes one number for all the Pods that it affects, and other Pods keep theirs. It takes
// none before it is on the switch, and none if the switch does not accept it: Open vSwitch may be away, and then packets with another
// number are lost.
func TestOneChangeOneStamp(t *testing.T) {
	e := newEnv(t, "a", "b", "c")
	last := e.slots.change
	for _, c := range []struct {
		change coherency.Change
		err    error
		slots  []int
	}{
		{change: coherency.Change{Interfaces: []string{"a", "c"}}, slots: []int{0, 2}},
		{change: coherency.Change{All: true}, slots: []int{0, 1, 2}},
		{change: coherency.Change{Replay: true}, slots: []int{0, 1, 2}},
		{change: coherency.Change{Interfaces: []string{"b"}}, err: errors.New("refused")},
		{change: coherency.Change{Replay: true}, err: errors.New("refused")},
		{change: coherency.Change{}},
	} {
		before := maps.Clone(e.slots.changed)
		_, end := e.Begin(c.change)
		require.Equal(t, last, e.slots.change)
		end(c.err)
		if len(c.slots) > 0 {
			last++
		}
		require.Equal(t, last, e.slots.change)
		for slot, former := range before {
			want := former
			if slices.Contains(c.slots, slot) {
				want = last
			}
			require.Equal(t, want, e.slots.changed[slot], "%+v: slot %d", c, slot)
		}
	}
}

// TestEpochsAreNotReusedSoon: at the wrap nothing is learned until the oldest epoch has left all megaflows.
func TestEpochsAreNotReusedSoon(t *testing.T) {
	e := newEnv(t, "a")
	change := func() uint16 {
		marks, end := e.Begin(coherency.Change{Interfaces: []string{"a"}})
		end(nil)
		return marks[0].Epoch
	}
	for want := uint16(2); want <= datapath.MaxEpoch; want++ {
		require.Equal(t, want, change())
	}
	require.Zero(t, change(), "epoch 1 was current a moment ago")
	_, epoch := e.slots.EndpointState(0)
	require.Zero(t, epoch)
	require.Empty(t, describe(e.writeMarks()))
	require.Equal(t, 1, e.unmarked())
	e.clock = e.clock.Add(epochReuse)
	require.Equal(t, []string{"a=1"}, describe(e.writeMarks()))
	require.EqualValues(t, 2, change())
}

func TestSlotsRunOut(t *testing.T) {
	e := newEnv(t)
	for i := range datapath.MaxEndpoints {
		e.add(t, fmt.Sprint(i), "10.10.1.2")
	}
	err := e.addEndpoint(Pod{InterfaceName: "one-more"}, "veth", datapath.Endpoint{})
	require.ErrorContains(t, err, "one-more")
	require.ErrorContains(t, err, "1024 endpoint slots")
}

func TestHalfAnnouncedNodeIsWithdrawn(t *testing.T) {
	e := newEnv(t)
	e.slots.fail = errors.New("map is full")
	_, end := e.Begin(coherency.Change{Nodes: []coherency.Node{remote("node-2", "192.168.77.12", "10.10.2.0/24")}})
	end(nil)
	require.Empty(t, e.nodes)
	require.Equal(t, []string{"node 0 192.168.77.12", "network 10.10.2.0/24 -> 0", "no network 10.10.2.0/24", "clear node 0"}, e.slots.take())
}

// TestNumbersOfQuietPodsAreLeftOut: a Pod keeps its number while others change, however often: then a change that concerns it, or a Pod that it talks
// to, gives a number that no packet of the Node has had.
func TestNumbersOfQuietPodsAreLeftOut(t *testing.T) {
	e := newEnv(t, "quiet", "busy", "quiet too")
	for _, pod := range []string{"quiet", "busy", "quiet too"} {
		e.stamp(e.endpoints[pod])
	}
	number := func(slot int) uint32 { return e.slots.changed[slot] % datapath.StampValues }
	quiet := map[uint32]bool{number(0): true, number(2): true}
	require.Len(t, quiet, 2)
	for i := range 3 * datapath.StampValues {
		former := number(1)
		e.stamp(e.endpoints["busy"])
		require.NotEqual(t, former, number(1), "change %d", i)
		require.False(t, quiet[number(1)], "change %d has the number %d of a quiet Pod", i, number(1))
	}
	require.True(t, quiet[number(0)] && quiet[number(2)])
}

// TestMorePodsThanNumbers: numbers are used twice then, and changes still get one.
func TestMorePodsThanNumbers(t *testing.T) {
	e := newEnv(t)
	for i := range datapath.StampValues + 10 {
		e.add(t, fmt.Sprintf("pod-%d", i), fmt.Sprintf("10.10.%d.%d", i/200, i%200+2))
	}
	for range 3 * datapath.StampValues {
		former := e.slots.change
		e.stamp(e.endpoints["pod-7"])
		require.NotEqual(t, former, e.slots.changed[e.endpoints["pod-7"].slot])
	}
}

// TestServiceAddresses: the programs know the addresses of Services when the switch does.
func TestServiceAddresses(t *testing.T) {
	slots := &fakeSlots{words: map[int][2]uint32{}}
	ledger := newLedger(slots, time.Now, func() {}, nil, 0)
	one, two := netip.MustParseAddr("10.96.0.1"), netip.MustParseAddr("fd00:96::1")
	_, end := ledger.Begin(coherency.Change{Services: map[netip.Addr]bool{one: true}})
	require.Empty(t, slots.services)
	end(errors.New("refused"))
	require.Empty(t, slots.services)
	_, end = ledger.Begin(coherency.Change{Services: map[netip.Addr]bool{one: true, two: true}})
	end(nil)
	require.ElementsMatch(t, []netip.Addr{one, two}, slots.services)
	_, end = ledger.Begin(coherency.Change{Services: map[netip.Addr]bool{one: false}})
	end(nil)
	require.Equal(t, []netip.Addr{two}, slots.services)
	require.Empty(t, slots.log, "no flow is affected")
}
