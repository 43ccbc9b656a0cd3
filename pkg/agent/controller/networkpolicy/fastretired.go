// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"maps"
	"net/netip"
	"sync"
	"time"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2"
)

const (
	// mostRetired is the number of entries that are remembered between two readings. The last counts of more are lost.
	mostRetired = 1 << 17
	// reportDelay is the time within which the report of an entry that is gone is expected. An entry that the LRU map has evicted has none.
	reportDelay = 30 * time.Second
)

var lostEntries = metrics.NewCounter(&metrics.CounterOpts{
	Name: "antrea_agent_networkpolicy_stats_lost_entry_count", StabilityLevel: metrics.ALPHA,
	Help: "Entries of the cache whose last packets no statistics of NetworkPolicies have, because too many ended between two readings.",
})

var registerLostEntries = sync.OnceFunc(func() { legacyregistry.MustRegister(lostEntries) })

// retiredEntries are entries of the cache that are gone, with counts that no reading has seen.
type retiredEntries struct {
	mu      sync.Mutex
	entries map[retiredKey]retiredCount
	// lost is the number of entries for which there was no room, and that no one has been told of.
	lost int
	// missing are the entries that have vanished between two readings, with the counts that have been read: their reports may come late.
	missing map[retiredKey]missingEntry
	// counted are the entries whose reports the last reading has counted: when two CPUs replace an entry, both report it.
	counted map[retiredKey]FastCount
}

// retiredKey identifies an entry: source and destination are of what the local Pod sends.
type retiredKey struct {
	egress              bool
	protocol            uint8
	source, destination netip.AddrPort
	created             uint64
}

type retiredCount struct {
	FastCount
	// early is set if the entry was gone when the agent began to watch: a former agent may have counted it.
	early bool
}

type missingEntry struct {
	FastCount
	since time.Time
}

// retiredReading is the difference between two readings.
type retiredReading struct {
	entries map[retiredKey]retiredCount
	fresh   map[ends]FastCount
	missing map[retiredKey]missingEntry
}

// add remembers an entry that is gone.
func (r *retiredEntries) add(f CachedFlow, early bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.entries == nil {
		r.entries = map[retiredKey]retiredCount{}
	}
	if len(r.entries) >= mostRetired {
		r.lost++
		return
	}
	r.entries[retiredKey{f.Egress, f.Protocol, f.Source, f.Destination, f.Created}] = retiredCount{FastCount{f.Packets, f.Bytes}, early}
}

// tellLost logs and counts the entries that were lost since the last call.
func (r *retiredEntries) tellLost() {
	r.mu.Lock()
	lost := r.lost
	r.lost = 0
	r.mu.Unlock()
	if lost == 0 {
		return
	}
	lostEntries.Add(float64(lost))
	klog.InfoS("Statistics of NetworkPolicies lack the last packets of entries of the cache: too many ended between two readings", "lost", lost, "remembered", mostRetired)
}

// since returns what entries have counted between the last reading, before, and their end, if that was before the present reading, after.
func (r *retiredEntries) since(before, after map[CachedFlow]EntryCount, now time.Time) retiredReading {
	r.mu.Lock()
	entries := maps.Clone(r.entries)
	r.mu.Unlock()
	reading := retiredReading{entries: entries, fresh: map[ends]FastCount{}, missing: map[retiredKey]missingEntry{}}
	for key, m := range r.missing {
		if now.Sub(m.since) < reportDelay {
			reading.missing[key] = m
		}
	}
	for f, count := range before {
		if left, exists := after[f]; !exists || left.Created != count.Created {
			reading.missing[f.retiredKey(count.Created)] = missingEntry{FastCount{count.Packets, count.Bytes}, now}
		}
	}
	for f, count := range after {
		// The reading came before the end. The next one counts the rest.
		delete(entries, f.retiredKey(count.Created))
	}
	for key, last := range entries {
		counted, known := r.knownCount(reading.missing, key)
		delete(reading.missing, key)
		if last.early && !known || last.Packets < counted.Packets || last.Bytes < counted.Bytes {
			continue
		}
		e := endsOf(key.protocol, key.source, key.destination)
		reading.fresh[e] = reading.fresh[e].plus(last.Packets-counted.Packets, last.Bytes-counted.Bytes)
	}
	return reading
}

// knownCount returns the counts of an entry that is gone as far as readings have counted them.
func (r *retiredEntries) knownCount(missing map[retiredKey]missingEntry, key retiredKey) (count FastCount, known bool) {
	if m, ok := missing[key]; ok {
		return m.FastCount, true
	}
	count, known = r.counted[key]
	return count, known
}

// addTo adds the counts to the counts of connections.
func (r retiredReading) addTo(fresh map[ends]FastCount) {
	for e, count := range r.fresh {
		if count != (FastCount{}) {
			fresh[e] = fresh[e].plus(count.Packets, count.Bytes)
		}
	}
}

// take forgets what a reading has counted.
func (r *retiredEntries) take(reading retiredReading) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.missing, r.counted = reading.missing, make(map[retiredKey]FastCount, len(reading.entries))
	for key, last := range reading.entries {
		delete(r.entries, key)
		r.counted[key] = last.FastCount
	}
}

// retiredKey returns the key of an entry of the time created: as datapath.Flow.Sent says.
func (f CachedFlow) retiredKey(created uint64) retiredKey {
	key := retiredKey{f.Egress, f.Protocol, f.Source, f.Destination, created}
	if !f.Egress {
		key.source, key.destination = f.Destination, f.Source
		if f.Translated.IsValid() {
			switch {
			case f.SourceTranslated:
				key.destination = f.Translated
			default:
				key.source = f.Translated
			}
		}
	}
	return key
}
