// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"context"
	"maps"
	"net/netip"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
	"github.com/antrea-oncache/antrea/pkg/agent/cputime"
)

const (
	// fastStatsInterval is the minimum time between two readings of the cache's counters.
	fastStatsInterval = 5 * time.Second
	// fastStatsShare bounds the CPU time of readings: after a reading comes a pause of fastStatsShare times what it has taken.
	fastStatsShare = 20
)

// CachedFlow is one direction of a connection in the cache, with what the fast path has carried since the entry was made.
type CachedFlow struct {
	// Egress is set when the local Pod is the source.
	Egress              bool
	Protocol            uint8
	Source, Destination netip.AddrPort
	// Translated is the translated destination of a connection to a Service, or its source if SourceTranslated is set. It
	// is the zero AddrPort in others.
	Translated       netip.AddrPort
	SourceTranslated bool
	// Created is the time at which the entry was made. Entries of two readings are the same if it is equal.
	Created        uint64
	Packets, Bytes uint64
}

// ends identifies the connection, by its two Pods.
func (f CachedFlow) ends() ends {
	if f.Translated.IsValid() && !f.SourceTranslated {
		return endsOf(f.Protocol, f.Source, f.Translated)
	}
	return endsOf(f.Protocol, f.Source, f.Destination)
}

// key returns the flow without time and counts.
func (f CachedFlow) key() CachedFlow {
	f.Created, f.Packets, f.Bytes = 0, 0, 0
	return f
}

// FlowCounters are the entries of the cache.
type FlowCounters interface {
	EachFlow(yield func(CachedFlow) bool) error
	// WatchRetired hands each entry that is removed or replaced to yield, with its last counts and as the local Pod sends its connection's packets,
	// until ctx ends. early says that it was gone before. yield must not block.
	WatchRetired(ctx context.Context, yield func(f CachedFlow, early bool)) error
}

// FastCount counts the traffic of a rule on the fast path.
type FastCount struct{ Packets, Bytes uint64 }

func (c FastCount) plus(packets, bytes uint64) FastCount {
	return FastCount{c.Packets + packets, c.Bytes + bytes}
}

// EntryCount is the content of the counters of a cache entry.
type EntryCount struct{ Created, Packets, Bytes uint64 }

// FastStats attributes packets of the fast path to rules. The fast path does no extra work for that: each cache entry
// counts its packets anyway, and the connection's label in conntrack names the rules that admitted it. From time to time
// FastStats reads both and joins them.
//
// The counts of a rule outlive it, until Forget: connections that it has admitted may continue because of another rule, and what it has
// counted may have to be reported yet.
type FastStats struct {
	// Owned, if set, returns the rules that are still needed. Run then forgets other rules. Without it, the caller must call Forget.
	Owned func() func(id uint32) bool
	// HasHadRules, if set, reports whether connections can name rules, before the first one does. Until then, conntrack is not read: it may list a
	// hundred thousand connections that have ended.
	HasHadRules func() bool

	flows       FlowCounters
	connections Connections
	retired     retiredEntries

	mu sync.Mutex
	// seen are the counters at the last reading.
	seen  map[CachedFlow]EntryCount
	rules map[uint32]FastCount
	// labels are the rules that connections named when conntrack was read last; nil before that.
	labels map[uint32]bool
}

// NewFastStats makes a FastStats without any counts.
func NewFastStats(flows FlowCounters, connections Connections) *FastStats {
	registerLostEntries()
	return &FastStats{flows: flows, connections: connections, seen: map[CachedFlow]EntryCount{}, rules: map[uint32]FastCount{}}
}

// FastState is the knowledge of a FastStats, with which another one can continue.
type FastState struct {
	// Seen are the counters of entries at the last reading. The keys have none, and no time.
	Seen map[CachedFlow]EntryCount
	// Rules are the counts by flow id.
	Rules map[uint32]FastCount
}

// State returns what s knows.
func (s *FastStats) State() FastState {
	s.mu.Lock()
	defer s.mu.Unlock()
	return FastState{Seen: maps.Clone(s.seen), Rules: maps.Clone(s.rules)}
}

// Restore makes s continue with what another one has known, which may be nothing.
func (s *FastStats) Restore(state FastState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.seen)
	maps.Copy(s.seen, state.Seen)
	clear(s.rules)
	maps.Copy(s.rules, state.Rules)
}

// Run reads until ctx ends.
func (s *FastStats) Run(ctx context.Context) {
	var watch sync.WaitGroup
	defer watch.Wait()
	watch.Go(func() {
		if err := s.flows.WatchRetired(ctx, s.retired.add); err != nil {
			klog.ErrorS(err, "Statistics of NetworkPolicies lack what the fast path carries between the last reading of an entry and its end")
		}
	})
	for {
		var err error
		spent := cputime.Of(func() { _, err = s.Read() })
		if err != nil {
			klog.ErrorS(err, "Could not read what the fast path has carried for NetworkPolicies")
		}
		if s.Owned != nil {
			owned := s.Owned()
			s.Forget(func(id uint32, _ FastCount) bool { return owned(id) })
		}
		timer := time.NewTimer(max(fastStatsInterval, fastStatsShare*spent))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// Read updates the counts and returns them by flow id. It misses packets of a connection that conntrack has forgotten, and the last packets of
// an entry that the LRU map has evicted, or that a packet has removed while the agent was away and the programs' buffer was full.
func (s *FastStats) Read() (map[uint32]FastCount, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fresh, seen, err := s.fresh()
	s.retired.tellLost()
	last := s.retired.since(s.seen, seen, time.Now())
	last.addTo(fresh)
	if err == nil && len(fresh) > 0 && s.canBeNamed() {
		err = s.attribute(fresh)
	}
	if err == nil {
		s.seen = seen
		s.retired.take(last)
	}
	return maps.Clone(s.rules), err
}

// canBeNamed reports whether a connection can name a rule. It is called when the counts have been read. So the first rule was there before any connection
// that it has admitted, and that is in the counts.
func (s *FastStats) canBeNamed() bool {
	return s.HasHadRules == nil || len(s.rules) > 0 || s.HasHadRules()
}

// Forget drops the counts of rules that no connection names any more and for which keep returns false, and returns their ids. Such a
// rule begins at zero if it returns.
func (s *FastStats) Forget(keep func(id uint32, count FastCount) bool) (forgotten []uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.labels == nil {
		return nil
	}
	for id, count := range s.rules {
		if !s.labels[id] && !keep(id, count) {
			delete(s.rules, id)
			forgotten = append(forgotten, id)
		}
	}
	return forgotten
}

// ends identifies a connection, the same for both directions.
type ends struct {
	protocol uint8
	a, b     netip.AddrPort
}

func endsOf(protocol uint8, a, b netip.AddrPort) ends {
	if b.Compare(a) < 0 {
		a, b = b, a
	}
	return ends{protocol, a, b}
}

// fresh returns what entries have counted since the last reading, by connection, and their counters.
func (s *FastStats) fresh() (fresh map[ends]FastCount, seen map[CachedFlow]EntryCount, err error) {
	fresh, seen = map[ends]FastCount{}, make(map[CachedFlow]EntryCount, len(s.seen))
	err = s.flows.EachFlow(func(f CachedFlow) bool {
		now := EntryCount{f.Created, f.Packets, f.Bytes}
		key := f.key()
		seen[key] = now
		before := s.seen[key]
		// An earlier version of the agent has not stored the time.
		another := before.Created != 0 && now.Created != before.Created
		if another || now.Packets < before.Packets || now.Bytes < before.Bytes {
			before = EntryCount{}
		}
		if now.Packets != before.Packets || now.Bytes != before.Bytes {
			e := f.ends()
			fresh[e] = fresh[e].plus(now.Packets-before.Packets, now.Bytes-before.Bytes)
		}
		return true
	})
	return fresh, seen, err
}

// attribute adds counts to the rules that have admitted the connections: all of them, or none if it fails.
func (s *FastStats) attribute(fresh map[ends]FastCount) error {
	rules, labels := maps.Clone(s.rules), map[uint32]bool{}
	err := s.connections.List(func(c *conntrack.Connection) bool {
		client := netip.AddrPortFrom(c.Original.Source, c.Original.SourcePort)
		server := netip.AddrPortFrom(c.Reply.Source, c.Reply.SourcePort)
		dialed := netip.AddrPortFrom(c.Original.Destination, c.Original.DestinationPort)
		count, ok := fresh[endsOf(c.Original.Protocol, client, server)]
		if last, retired := fresh[endsOf(c.Original.Protocol, client, dialed)]; retired && dialed != server {
			count, ok = count.plus(last.Packets, last.Bytes), true
		}
		// A connection that got another source port has none: it has the same ends as the one that has the port, and the cache does not carry it.
		ok = ok && c.Reply.DestinationPort == c.Original.SourcePort
		for _, id := range []uint32{uint32(c.Labels[0]), uint32(c.Labels[0] >> 32)} {
			labels[id] = true
			if ok && id != 0 {
				rules[id] = rules[id].plus(count.Packets, count.Bytes)
			}
		}
		return true
	})
	if err == nil {
		s.rules, s.labels = rules, labels
	}
	return err
}
