// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"context"
	"errors"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

type cachedFlows struct {
	flows []CachedFlow
	err   error
	// delay is the duration of a reading; readings counts them.
	delay    time.Duration
	readings int
}

func (c *cachedFlows) EachFlow(yield func(CachedFlow) bool) error {
	c.readings++
	time.Sleep(c.delay)
	for _, f := range c.flows {
		if !yield(f) {
			break
		}
	}
	return c.err
}

func (c *cachedFlows) WatchRetired(ctx context.Context, _ func(CachedFlow, bool)) error {
	<-ctx.Done()
	return nil
}

func TestFastStats(t *testing.T) {
	client, server := netip.AddrPortFrom(localPod, 1), netip.AddrPortFrom(remotePod, 80)
	out := CachedFlow{Egress: true, Protocol: of.IPProtoTCP, Source: client, Destination: server, Packets: 10, Bytes: 1000}
	in := CachedFlow{Protocol: of.IPProtoTCP, Source: server, Destination: client, Packets: 5, Bytes: 50}
	other := out
	other.Source = netip.AddrPortFrom(localPod, 2)
	cache := &cachedFlows{flows: []CachedFlow{out, in, other}}
	table := &connectionTable{connections: []*conntrack.Connection{connection(localPod, 1, remotePod, fromPod)}}
	table.connections[0].Labels[0] = 7<<32 | 9
	stats := NewFastStats(cache, table)
	want := func(counts map[uint32]FastCount) {
		t.Helper()
		got, err := stats.Read()
		require.NoError(t, err)
		require.Equal(t, counts, got)
	}
	want(map[uint32]FastCount{7: {15, 1050}, 9: {15, 1050}})
	want(map[uint32]FastCount{7: {15, 1050}, 9: {15, 1050}})
	require.Equal(t, 1, table.lists, "conntrack is read only when the fast path has carried something")

	cache.flows[0].Packets, cache.flows[0].Bytes = 12, 1200
	want(map[uint32]FastCount{7: {17, 1250}, 9: {17, 1250}})
	t.Run("entry made again", func(t *testing.T) {
		cache.flows[0].Packets, cache.flows[0].Bytes = 1, 100
		want(map[uint32]FastCount{7: {18, 1350}, 9: {18, 1350}})
	})
	t.Run("entry gone", func(t *testing.T) {
		cache.flows = nil
		want(map[uint32]FastCount{7: {18, 1350}, 9: {18, 1350}})
		cache.flows = []CachedFlow{in}
		want(map[uint32]FastCount{7: {23, 1400}, 9: {23, 1400}})
	})
	t.Run("another entry that has counted more", func(t *testing.T) {
		cache.flows[0].Created, cache.flows[0].Packets, cache.flows[0].Bytes = 1, 5, 50
		want(map[uint32]FastCount{7: {23, 1400}, 9: {23, 1400}})
		cache.flows[0].Created, cache.flows[0].Packets, cache.flows[0].Bytes = 2, 6, 60
		want(map[uint32]FastCount{7: {29, 1460}, 9: {29, 1460}})
	})
	t.Run("the cache cannot be read", func(t *testing.T) {
		cache.err = errors.New("no map")
		_, err := stats.Read()
		require.ErrorContains(t, err, "no map")
	})
}

// A reading that waits for the CPU, or for the kernel, needs little CPU time, and is not followed by a long pause.
func TestFastStatsOfABusyNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cache := &cachedFlows{delay: 10 * time.Second}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		NewFastStats(cache, &connectionTable{}).Run(ctx)
		require.GreaterOrEqual(t, cache.readings, 3)
	})
}

// A connection to a Service counts for the rules that have admitted it, and an entry of an earlier direct one does not disturb, nor does a
// later direct connection from the same port.
func TestFastStatsThroughService(t *testing.T) {
	client, server := netip.AddrPortFrom(localPod, 1), netip.AddrPortFrom(remotePod, 80)
	service := netip.MustParseAddrPort("10.96.0.1:443")
	cache := &cachedFlows{flows: []CachedFlow{
		{Egress: true, Protocol: of.IPProtoTCP, Source: client, Destination: service, Translated: server, Packets: 10, Bytes: 1000},
		{Protocol: of.IPProtoTCP, Source: server, Destination: client, Translated: service, SourceTranslated: true, Packets: 5, Bytes: 50},
	}}
	c := connection(localPod, 1, remotePod, fromPod)
	c.Original.Destination, c.Original.DestinationPort = service.Addr(), service.Port()
	c.Labels[0] = 9
	table := &connectionTable{connections: []*conntrack.Connection{c}}
	stats := NewFastStats(cache, table)
	for range 2 {
		got, err := stats.Read()
		require.NoError(t, err)
		require.Equal(t, map[uint32]FastCount{9: {15, 1050}}, got)
	}
	collided := connection(localPod, 1, remotePod, fromPod)
	collided.Reply.DestinationPort = 2
	collided.Labels[0] = 9
	table.connections = append(table.connections, collided)
	direct := CachedFlow{Egress: true, Protocol: of.IPProtoTCP, Source: client, Destination: server}
	cache.flows = append(cache.flows, direct)
	for range 2 {
		got, err := stats.Read()
		require.NoError(t, err)
		require.Equal(t, map[uint32]FastCount{9: {15, 1050}}, got)
	}
}

// Packets that conntrack could not attribute are attributed later, and none twice.
func TestFastStatsWithoutConntrack(t *testing.T) {
	client, server := netip.AddrPortFrom(localPod, 1), netip.AddrPortFrom(remotePod, 80)
	cache := &cachedFlows{flows: []CachedFlow{{Egress: true, Protocol: of.IPProtoTCP, Source: client, Destination: server, Packets: 10, Bytes: 1000}}}
	table := &connectionTable{connections: []*conntrack.Connection{connection(localPod, 1, remotePod, fromPod)}}
	table.connections[0].Labels[0] = 9
	stats := NewFastStats(cache, table)
	table.listErr = errors.New("no answer")
	got, err := stats.Read()
	require.ErrorContains(t, err, "no answer")
	require.Empty(t, got)
	table.listErr = nil
	got, err = stats.Read()
	require.NoError(t, err)
	require.Equal(t, map[uint32]FastCount{9: {10, 1000}}, got)
}

// A new agent counts what has passed since the earlier one has read last, and nothing twice.
func TestFastStatsOfTheNextAgent(t *testing.T) {
	client, server := netip.AddrPortFrom(localPod, 1), netip.AddrPortFrom(remotePod, 80)
	cache := &cachedFlows{flows: []CachedFlow{{Egress: true, Protocol: of.IPProtoTCP, Source: client, Destination: server, Packets: 10, Bytes: 1000}}}
	table := &connectionTable{connections: []*conntrack.Connection{connection(localPod, 1, remotePod, fromPod)}}
	table.connections[0].Labels[0] = 9
	former := NewFastStats(cache, table)
	_, err := former.Read()
	require.NoError(t, err)
	cache.flows[0].Packets, cache.flows[0].Bytes = 12, 1200
	next := NewFastStats(cache, table)
	next.Restore(former.State())
	got, err := next.Read()
	require.NoError(t, err)
	require.Equal(t, map[uint32]FastCount{9: {12, 1200}}, got)
	require.Equal(t, map[uint32]FastCount{9: {10, 1000}}, former.State().Rules, "they share nothing")
}

// Counts are dropped when no connection names the rule and no caller keeps them.
func TestForget(t *testing.T) {
	client, server := netip.AddrPortFrom(localPod, 1), netip.AddrPortFrom(remotePod, 80)
	cache := &cachedFlows{flows: []CachedFlow{{Egress: true, Protocol: of.IPProtoTCP, Source: client, Destination: server, Packets: 10, Bytes: 1000}}}
	table := &connectionTable{connections: []*conntrack.Connection{connection(localPod, 1, remotePod, fromPod)}}
	table.connections[0].Labels[0] = 7<<32 | 9
	stats := NewFastStats(cache, table)
	nobody := func(uint32, FastCount) bool { return false }
	require.Empty(t, stats.Forget(nobody))
	read := func() map[uint32]FastCount {
		t.Helper()
		got, err := stats.Read()
		require.NoError(t, err)
		return got
	}
	read()
	require.Empty(t, stats.Forget(nobody), "a connection names the rules")

	table.connections[0].Labels[0] = 8
	cache.flows[0].Packets, cache.flows[0].Bytes = 11, 1100
	read()
	kept := func(id uint32, count FastCount) bool {
		require.Equal(t, FastCount{10, 1000}, count)
		return id == 7
	}
	require.Equal(t, []uint32{9}, stats.Forget(kept))
	require.Equal(t, map[uint32]FastCount{7: {10, 1000}, 8: {1, 100}}, read())
	table.connections[0].Labels[0] = 9
	cache.flows[0].Packets, cache.flows[0].Bytes = 13, 1300
	require.Equal(t, map[uint32]FastCount{7: {10, 1000}, 8: {1, 100}, 9: {2, 200}}, read(), "it begins at zero")

	next := NewFastStats(cache, table)
	next.Restore(stats.State())
	require.Empty(t, next.Forget(nobody), "conntrack has not been read")
}

// Run forgets by itself without a reporter.
func TestRunForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := netip.AddrPortFrom(localPod, 1), netip.AddrPortFrom(remotePod, 80)
		cache := &cachedFlows{flows: []CachedFlow{{Egress: true, Protocol: of.IPProtoTCP, Source: client, Destination: server, Packets: 10, Bytes: 1000}}}
		table := &connectionTable{connections: []*conntrack.Connection{connection(localPod, 1, remotePod, fromPod)}}
		table.connections[0].Labels[0] = 9
		stats := NewFastStats(cache, table)
		stats.Restore(FastState{Rules: map[uint32]FastCount{7: {1, 1}, 8: {1, 1}}})
		stats.Owned = func() func(uint32) bool { return func(id uint32) bool { return id == 7 } }
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go stats.Run(ctx)
		synctest.Wait()
		require.Equal(t, map[uint32]FastCount{7: {1, 1}, 9: {10, 1000}}, stats.State().Rules)
	})
}

// Without any rule, conntrack is not read. Packets from before the first rule are not counted for it.
func TestConntrackIsNotReadWithoutRules(t *testing.T) {
	client, server := netip.AddrPortFrom(localPod, 1), netip.AddrPortFrom(remotePod, 80)
	cache := &cachedFlows{flows: []CachedFlow{{Egress: true, Protocol: of.IPProtoTCP, Source: client, Destination: server, Packets: 10, Bytes: 1000}}}
	table := &connectionTable{connections: []*conntrack.Connection{connection(localPod, 1, remotePod, fromPod)}}
	stats, ids := NewFastStats(cache, table), newRuleIDs()
	stats.HasHadRules = ids.any.Load
	read := func() map[uint32]FastCount {
		t.Helper()
		counts, err := stats.Read()
		require.NoError(t, err)
		return counts
	}
	require.Empty(t, read())
	require.Zero(t, table.lists)

	id := ids.take(ruleKey{policy: "a"})
	table.connections[0].Labels[0] = uint64(id)
	cache.flows[0].Packets, cache.flows[0].Bytes = 13, 1300
	require.Equal(t, map[uint32]FastCount{id: {3, 300}}, read())

	ids.release(id)
	cache.flows[0].Packets = 14
	require.Equal(t, map[uint32]FastCount{id: {4, 300}}, read(), "its connections continue")
}

// A connection may name a rule of the former agent that this one does not have any more.
func TestConntrackIsReadForFormerRules(t *testing.T) {
	table := &connectionTable{connections: []*conntrack.Connection{connection(localPod, 1, remotePod, fromPod)}}
	table.connections[0].Labels[0] = 7
	client, server := netip.AddrPortFrom(localPod, 1), netip.AddrPortFrom(remotePod, 80)
	stats := NewFastStats(&cachedFlows{flows: []CachedFlow{{Egress: true, Protocol: of.IPProtoTCP, Source: client, Destination: server, Packets: 10, Bytes: 1000}}}, table)
	stats.HasHadRules = func() bool { return false }
	stats.Restore(FastState{Rules: map[uint32]FastCount{7: {1, 1}}})
	counts, err := stats.Read()
	require.NoError(t, err)
	require.Equal(t, map[uint32]FastCount{7: {11, 1001}}, counts)
}

// Before the policies are known, connections may name rules of a former agent.
func TestHasHadRules(t *testing.T) {
	b := newBench(t)
	require.True(t, b.HasHadRules())
	require.NoError(t, b.realize())
	require.True(t, isClosed(b.Synced()))
	require.False(t, b.HasHadRules(), "there is none")
}
