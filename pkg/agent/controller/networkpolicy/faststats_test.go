// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

type cachedFlows struct {
	flows []CachedFlow
	err   error
}

func (c *cachedFlows) EachFlow(yield func(CachedFlow) bool) error {
	for _, f := range c.flows {
		if !yield(f) {
			break
		}
	}
	return c.err
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
	t.Run("entry made anew", func(t *testing.T) {
		cache.flows[0].Packets, cache.flows[0].Bytes = 1, 100
		want(map[uint32]FastCount{7: {18, 1350}, 9: {18, 1350}})
	})
	t.Run("entry gone", func(t *testing.T) {
		cache.flows = nil
		want(map[uint32]FastCount{7: {18, 1350}, 9: {18, 1350}})
		cache.flows = []CachedFlow{in}
		want(map[uint32]FastCount{7: {23, 1400}, 9: {23, 1400}})
	})
	t.Run("the cache cannot be read", func(t *testing.T) {
		cache.err = errors.New("no map")
		_, err := stats.Read()
		require.ErrorContains(t, err, "no map")
	})
}

// What conntrack could not attribute is attributed later, and nothing twice.
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
