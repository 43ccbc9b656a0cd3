// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"maps"
	"slices"
	"time"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
)

const (
	// missedReadings is the number of readings in a row without a connection after which it counts as ended. A dump of
	// conntrack may miss one.
	missedReadings = 2
	// reportDelay is the time within which the report of an entry of the cache that is gone is expected. An entry that the LRU map has
	// evicted has none.
	reportDelay = 30 * time.Second
	// reportReadings is the number of readings for which a report is remembered: when two CPUs replace an entry, both report it.
	reportReadings = 2
	// orphanLife limits the time for which counts of the cache wait for their connection.
	orphanLife = 2 * time.Minute
	// maxOrphans bounds the number of waiting counts. Only a flood of connections unknown to conntrack reaches it.
	maxOrphans = 1 << 18
	// maxGone bounds the ended connections whose last record cannot be sent.
	maxGone = 1 << 16
)

// Reading is the state of conntrack and the cache at one time. The cache is read first, so a connection that conntrack
// no longer has is among the ended ones.
type Reading struct {
	At time.Time
	// Entries are the entries of the cache. Retired are entries that were removed or replaced, with their final counts.
	// They are read after Entries, and each is in one Reading only.
	Entries, Retired []Entry
	// Connections are listed by conntrack. Ended were removed by it, perhaps while Connections were read; each is in
	// one Reading only.
	Connections, Ended []*conntrack.Connection
}

// Describe tells what the Node knows of a connection; ok is false if it is not one of a local Pod.
type Describe func(*conntrack.Connection) (info Info, ok bool)

// Timeouts decide when records are due.
type Timeouts struct {
	// Active is the least time between two records of a connection, Idle the time without packets after which it is idle.
	Active, Idle time.Duration
}

// entryKey identifies an entry of the cache.
type entryKey struct {
	Sent    conntrack.Tuple
	Egress  bool
	Created uint64
}

// seenEntry is the count of an entry at its last reading, or in its report.
type seenEntry struct {
	Count Count
	// listed is the number of the last reading with the entry, gone the time of the first one without it since then.
	listed uint64
	gone   time.Time
	// reported is set when the entry was reported, after is the number of readings since then.
	reported bool
	after    int
}

// expired reports whether no report of the entry, which is gone, is expected any more.
func (s *seenEntry) expired(now time.Time) bool {
	if s.reported {
		return s.after > reportReadings
	}
	// The clock may have been set back.
	return now.Sub(s.gone) >= reportDelay || now.Before(s.gone)
}

// orphanKey is a direction of connections with certain addresses.
type orphanKey struct {
	Sent   conntrack.Tuple
	Egress bool
}

// orphan is the count of the cache for an unknown connection.
type orphan struct {
	count Count
	since time.Time
}

// place is a connection by the addresses of one of its directions.
type place struct {
	flow *flow
	// direction is the one with these addresses.
	direction int
}

// Ledger knows the connections of local Pods, what was counted and what is in records. It is not safe for concurrent use.
type Ledger struct {
	timeouts Timeouts
	flows    map[key]*flow
	// gone are ended connections, in the order of their ends.
	gone   []*flow
	places map[conntrack.Tuple]place
	seen   map[entryKey]*seenEntry
	// readings is the number of readings.
	readings uint64
	orphans  map[orphanKey]*orphan
	// adopt is set before the first reading if it is unknown what an earlier agent has reported: the counts so far of
	// connections that began before begun are taken for reported.
	adopt bool
	begun time.Time
	// former is begun as in Entry.Created; 0 if an earlier agent has told what it knew. An entry stays after its connection: of one that was made
	// before, a connection that began later gets nothing that it has counted at first sight.
	former uint64
	lost   Lost
}

// Lost counts traffic that is in no record.
type Lost struct {
	// Records is the number of ended connections whose last records could not be sent in time.
	Records uint64
	// Fast is the count of the cache for connections unknown to conntrack.
	Fast Count
}

// New makes a Ledger. Connections that began before begun may have been reported by an earlier agent.
func New(timeouts Timeouts, begun time.Time) *Ledger {
	return &Ledger{
		timeouts: timeouts, flows: map[key]*flow{}, places: map[conntrack.Tuple]place{}, seen: map[entryKey]*seenEntry{},
		orphans: map[orphanKey]*orphan{}, adopt: true, begun: begun,
	}
}

// IgnoreFormer makes the Ledger keep the counts of entries made before begun from connections that began later, unless it continues with the
// state of an earlier one. begun is given as in Entry.Created.
func (l *Ledger) IgnoreFormer(begun uint64) {
	if l.adopt {
		l.former = begun
	}
}

// Lost returns what was lost so far.
func (l *Ledger) Lost() Lost { return l.lost }

// Read takes over a reading.
func (l *Ledger) Read(r Reading, describe Describe) {
	live := l.countEntries(r.Entries, r.At)
	// A new connection with the same addresses ends the entries of the former one, which still has the place.
	for _, e := range r.Retired {
		l.attribute(l.retire(e), r.At)
	}
	l.readConnections(r, describe)
	for _, e := range live {
		l.attribute(e, r.At)
	}
	l.adoptOrphans(r.At)
	if l.adopt {
		l.adoptAll(r.At)
	}
	l.drop()
}

// adoptAll takes what was counted so far of earlier connections for reported.
func (l *Ledger) adoptAll(now time.Time) {
	l.adopt = false
	for _, f := range slices.AppendSeq(slices.Clone(l.gone), maps.Values(l.flows)) {
		if l.isEarlier(f, now) {
			f.Exported = f.total()
		}
	}
	clear(l.orphans)
}

// isEarlier reports whether a connection may have begun before this agent. The kernel dates connections since an earlier agent has begun to count.
// The clock may have been set back since.
func (l *Ledger) isEarlier(f *flow, now time.Time) bool {
	return f.Started == 0 || f.First.Before(l.begun) || f.First.After(now)
}

// countEntries returns the entries that have counted something since the last reading, with what is new.
func (l *Ledger) countEntries(entries []Entry, now time.Time) (fresh []Entry) {
	l.readings++
	for _, e := range entries {
		e, s := l.fresh(e)
		s.listed, s.gone = l.readings, time.Time{}
		if e.Count != (Count{}) {
			fresh = append(fresh, e)
		}
	}
	for k, s := range l.seen {
		if s.reported {
			s.after++
		}
		if s.listed == l.readings {
			continue
		}
		if s.gone.IsZero() {
			s.gone = now
		}
		if s.expired(now) {
			delete(l.seen, k)
		}
	}
	return fresh
}

// retire returns what is new of an entry that is gone. It may have been reported before.
func (l *Ledger) retire(e Entry) Entry {
	e, s := l.fresh(e)
	s.reported, s.after = true, 0
	return e
}

// fresh returns an entry with what is new in its counters, and what is known of it.
func (l *Ledger) fresh(e Entry) (Entry, *seenEntry) {
	k := entryKey{e.Sent, e.Egress, e.Created}
	s := l.seen[k]
	if s == nil {
		s = &seenEntry{}
		e.former = e.Created < l.former
		l.seen[k] = s
	}
	e.Count = s.count(e.Count)
	return e, s
}

// count returns what is new in the counters of an entry, and remembers them.
func (s *seenEntry) count(now Count) Count {
	before := s.Count
	s.Count = Count{Packets: max(now.Packets, before.Packets), Bytes: max(now.Bytes, before.Bytes)}
	return since(now, before)
}

func since(now, before Count) Count {
	return Count{Packets: now.Packets - min(before.Packets, now.Packets), Bytes: now.Bytes - min(before.Bytes, now.Bytes)}
}

// attribute adds what an entry has counted to its connection, or keeps it for one.
func (l *Ledger) attribute(e Entry, now time.Time) {
	if e.Count == (Count{}) {
		return
	}
	p, ok := l.places[e.Sent]
	switch {
	case e.former && !(ok && l.isEarlier(p.flow, now)):
		return
	case ok:
		p.add(e.Egress, e.Count, now)
		return
	}
	k := orphanKey{e.Sent, e.Egress}
	o := l.orphans[k]
	if o == nil {
		if len(l.orphans) == maxOrphans {
			l.lost.Fast = Count{Packets: l.lost.Fast.Packets + e.Count.Packets, Bytes: l.lost.Fast.Bytes + e.Count.Bytes}
			return
		}
		o = &orphan{since: now}
		l.orphans[k] = o
	}
	o.count = Count{Packets: o.count.Packets + e.Count.Packets, Bytes: o.count.Bytes + e.Count.Bytes}
}

// add counts what the local Pod, which sends with the addresses of the place, has sent (egress) or received.
func (p place) add(egress bool, count Count, now time.Time) {
	direction := p.direction
	if !egress {
		direction = 1 - direction
	}
	p.flow.add(direction, count, now)
}

// adoptOrphans gives what was kept to connections that are known now.
func (l *Ledger) adoptOrphans(now time.Time) {
	for k, o := range l.orphans {
		if p, ok := l.places[k.Sent]; ok {
			p.add(k.Egress, o.count, now)
		} else if now.Sub(o.since) < orphanLife {
			continue
		} else {
			l.lost.Fast = Count{Packets: l.lost.Fast.Packets + o.count.Packets, Bytes: l.lost.Fast.Bytes + o.count.Bytes}
		}
		delete(l.orphans, k)
	}
}

// readConnections takes over conntrack's part of a reading.
func (l *Ledger) readConnections(r Reading, describe Describe) {
	for _, f := range l.flows {
		f.missed++
	}
	ended := map[key]bool{}
	for _, c := range r.Ended {
		ended[keyOf(c)] = true
		if f := l.known(c, describe, r.At); f != nil {
			if !c.Stopped.IsZero() {
				f.Last = c.Stopped
			}
			l.end(f)
		}
	}
	// They come last: a connection with the addresses of an ended one takes its place.
	for _, c := range r.Connections {
		if !ended[keyOf(c)] {
			l.known(c, describe, r.At)
		}
	}
	for _, f := range l.flows {
		if f.missed >= missedReadings {
			l.end(f)
		}
	}
}

// known returns the flow of a connection, with what conntrack says of it; nil if it is not one of a local Pod.
func (l *Ledger) known(c *conntrack.Connection, describe Describe, now time.Time) *flow {
	k := keyOf(c)
	f := l.flows[k]
	if f != nil && f.restarted(c) {
		l.end(f)
		f = nil
	}
	if f == nil {
		info, ok := describe(c)
		if !ok {
			return nil
		}
		f = newFlow(c, info, now)
		l.flows[k] = f
		l.locate(f)
	}
	f.update(c, now)
	return f
}

// locate makes the flow the one that entries with its addresses count for.
func (l *Ledger) locate(f *flow) {
	l.places[f.Original] = place{f, 0}
	l.places[f.Reply] = place{f, 1}
}

// end records that the connection has ended. It stays until its last record is sent.
func (l *Ledger) end(f *flow) {
	f.gone = true
	delete(l.flows, f.key())
	l.gone = append(l.gone, f)
	if len(l.gone) > maxGone {
		l.forget(l.gone[0])
		l.gone = l.gone[1:]
		l.lost.Records++
	}
}

// drop forgets the connections that have ended and of which everything is reported.
func (l *Ledger) drop() {
	l.gone = slices.DeleteFunc(l.gone, func(f *flow) bool {
		if !f.EndSent || f.total() != f.Exported {
			return false
		}
		l.forget(f)
		return true
	})
}

func (l *Ledger) forget(f *flow) {
	for _, tuple := range []conntrack.Tuple{f.Original, f.Reply} {
		if l.places[tuple].flow == f {
			delete(l.places, tuple)
		}
	}
}
