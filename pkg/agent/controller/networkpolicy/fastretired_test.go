// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"errors"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/component-base/metrics/testutil"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// dyingFlows is a cache whose entries end at any time, also while they are read. Their reports come at once or a few seconds later.
type dyingFlows struct {
	*cachedFlows
	random  *rand.Rand
	stats   *FastStats
	table   *connectionTable
	live    []*CachedFlow
	reports map[*CachedFlow]time.Time
	// carried are the counts of all that has passed, by rule.
	carried map[uint32]FastCount
	rules   map[*CachedFlow]uint32
	clock   uint64
	// done is set when nothing passes or ends any more.
	done bool
}

func (d *dyingFlows) EachFlow(yield func(CachedFlow) bool) error {
	for _, f := range slices.Clone(d.live) {
		yield(*f)
		if !d.done && d.random.IntN(4) == 0 {
			d.pass(f)
			d.end(slices.Index(d.live, f))
			d.deliver(d.random.IntN(2) == 0)
		}
	}
	return nil
}

// open adds an entry of a connection of its own: direct ones, and both ends of connections to a Service.
func (d *dyingFlows) open() {
	d.clock++
	port, service := uint16(d.clock), netip.MustParseAddrPort("10.96.0.1:443")
	client, server := netip.AddrPortFrom(localPod, port), netip.AddrPortFrom(remotePod, 80)
	c := connection(localPod, port, remotePod, fromPod)
	f := &CachedFlow{Egress: true, Protocol: of.IPProtoTCP, Source: client, Destination: server, Created: d.clock}
	switch d.random.IntN(4) {
	case 0:
		f.Egress, f.Source, f.Destination = false, server, client
	case 1:
		f.Destination, f.Translated = service, server
		c.Original.Destination, c.Original.DestinationPort = service.Addr(), service.Port()
	case 2:
		f.Egress, f.Source, f.Destination, f.Translated, f.SourceTranslated = false, server, client, service, true
		c.Original.Destination, c.Original.DestinationPort = service.Addr(), service.Port()
	}
	rule := 1 + d.random.Uint32N(5)
	c.Labels[0] = uint64(rule)
	d.table.connections = append(d.table.connections, c)
	d.live, d.rules[f] = append(d.live, f), rule
}

func (d *dyingFlows) pass(f *CachedFlow) {
	packets := d.random.Uint64N(3)
	f.Packets, f.Bytes = f.Packets+packets, f.Bytes+100*packets
	d.carried[d.rules[f]] = d.carried[d.rules[f]].plus(packets, 100*packets)
}

// end removes an entry. It may be made again at once, and counts from zero.
func (d *dyingFlows) end(i int) {
	gone := d.live[i]
	d.live = slices.Delete(d.live, i, i+1)
	d.reports[gone] = time.Now().Add(time.Duration(d.random.Int64N(int64(fastStatsInterval / 2))))
	if d.random.IntN(2) == 0 {
		d.clock++
		again := *gone
		again.Created, again.Packets, again.Bytes = d.clock, 0, 0
		d.live, d.rules[&again] = append(d.live, &again), d.rules[gone]
	}
}

// deliver reports the entries whose time has come, or all.
func (d *dyingFlows) deliver(all bool) {
	for f, at := range d.reports {
		if all || !time.Now().Before(at) {
			key := f.retiredKey(f.Created)
			d.stats.retired.add(CachedFlow{
				Egress: f.Egress, Protocol: f.Protocol, Source: key.source, Destination: key.destination, Created: f.Created, Packets: f.Packets, Bytes: f.Bytes,
			}, false)
			if all || d.random.IntN(4) > 0 { // otherwise two CPUs have replaced it
				delete(d.reports, f)
			}
		}
	}
}

// Everything that the fast path carries is counted once, whenever entries end, their reports come, and the counters are read.
func TestNothingIsLostWithEntries(t *testing.T) {
	for seed := range uint64(40) {
		synctest.Test(t, func(t *testing.T) {
			d := &dyingFlows{
				cachedFlows: &cachedFlows{}, random: rand.New(rand.NewPCG(seed, 1)), table: &connectionTable{}, reports: map[*CachedFlow]time.Time{},
				carried: map[uint32]FastCount{}, rules: map[*CachedFlow]uint32{}, clock: 10,
			}
			d.stats = NewFastStats(d, d.table)
			for range 400 {
				switch part := d.random.IntN(10); {
				case part < 2 || len(d.live) == 0:
					d.open()
				case part < 6:
					d.pass(d.live[d.random.IntN(len(d.live))])
				case part < 8:
					d.end(d.random.IntN(len(d.live)))
				case part < 9:
					time.Sleep(time.Duration(d.random.Int64N(int64(fastStatsInterval))))
				default:
					d.read(t)
				}
				d.deliver(false)
			}
			d.done = true
			d.deliver(true)
			_, err := d.stats.Read()
			require.NoError(t, err)
			want := maps.Clone(d.carried)
			maps.DeleteFunc(want, func(_ uint32, c FastCount) bool { return c == FastCount{} })
			require.Equal(t, want, d.stats.State().Rules, "seed %d", seed)
		})
	}
}

// read reads the counters; sometimes conntrack does not answer.
func (d *dyingFlows) read(t *testing.T) {
	if d.random.IntN(4) == 0 {
		d.table.listErr = errors.New("no answer")
		_, _ = d.stats.Read()
		d.table.listErr = nil
		return
	}
	_, err := d.stats.Read()
	require.NoError(t, err)
}

// Entries that were gone before the agent began to watch are counted only as far as the last reading shows that no other agent has counted them.
func TestEarlyRetired(t *testing.T) {
	client, server := netip.AddrPortFrom(localPod, 1), netip.AddrPortFrom(remotePod, 80)
	f := CachedFlow{Egress: true, Protocol: of.IPProtoTCP, Source: client, Destination: server, Created: 5, Packets: 12, Bytes: 1200}
	table := &connectionTable{connections: []*conntrack.Connection{connection(localPod, 1, remotePod, fromPod)}}
	table.connections[0].Labels[0] = 9
	stats := NewFastStats(&cachedFlows{}, table)
	stats.retired.add(f, true)
	got, err := stats.Read()
	require.NoError(t, err)
	require.Empty(t, got)

	stats.Restore(FastState{Seen: map[CachedFlow]EntryCount{f.key(): {Created: 5, Packets: 10, Bytes: 1000}}, Rules: map[uint32]FastCount{9: {10, 1000}}})
	stats.retired.add(f, true)
	got, err = stats.Read()
	require.NoError(t, err)
	require.Equal(t, map[uint32]FastCount{9: {12, 1200}}, got)
}

// Entries that nothing reads for long do not fill the memory. A reading tells how many were lost, once.
func TestMostRetired(t *testing.T) {
	s := NewFastStats(&cachedFlows{}, &connectionTable{})
	for created := range uint64(mostRetired + 10) {
		s.retired.add(CachedFlow{Created: created}, false)
	}
	require.Len(t, s.retired.entries, mostRetired)
	counted := func() float64 {
		value, err := testutil.GetCounterMetricValue(lostEntries)
		require.NoError(t, err)
		return value
	}
	before := counted()
	for range 2 {
		_, err := s.Read()
		require.NoError(t, err)
		require.InDelta(t, before+10, counted(), 0)
	}
}
