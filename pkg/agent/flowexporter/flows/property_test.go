// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"bytes"
	"flag"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
)

var runs = flag.Int("runs", 60, "number of random runs of TestSums")

// connection is an entry of conntrack.
type connection struct {
	conntrack.Connection
	// read has the counters that were in the latest dump.
	read Counts
}

// entry is an entry of the cache.
type entry struct {
	created uint64
	count   Count
	read    Count
}

// report is the report of an entry that is gone, which the agent gets at a time.
type report struct {
	Entry
	at time.Time
}

// world is a Node: what conntrack and the cache count for connections between a few addresses, which are used again.
type world struct {
	random      *rand.Rand
	now         time.Time
	clock       uint64
	connections map[uint16]*connection
	// entries are by client port and direction: egress is the direction that the local Pod, the client, sends.
	entries map[uint16]map[bool]*entry
	ended   []*conntrack.Connection
	retired []report
	// sent is the traffic that has passed, by client port.
	sent map[uint16]Counts
	// quiet: nothing happens any more.
	quiet bool
}

const ports = 5

func newWorld(seed uint64) *world {
	return &world{
		random: rand.New(rand.NewPCG(seed, 7)), now: time.Unix(1e9, 0), connections: map[uint16]*connection{},
		entries: map[uint16]map[bool]*entry{}, sent: map[uint16]Counts{},
	}
}

func tuples(port uint16) (original, reply conntrack.Tuple) {
	client, dialed, server := netip.MustParseAddr("10.0.1.2"), netip.MustParseAddr("10.96.0.1"), netip.MustParseAddr("10.0.2.2")
	original = conntrack.Tuple{Source: client, Destination: dialed, Protocol: 6, SourcePort: port, DestinationPort: 80}
	reply = conntrack.Tuple{Source: server, Destination: client, Protocol: 6, SourcePort: 8080, DestinationPort: port}
	return original, reply
}

// open is also the end of a connection with the same addresses.
func (w *world) open(port uint16) {
	if w.connections[port] != nil {
		w.retireBoth(port)
		w.remove(port)
	}
	w.clock++
	c := &connection{}
	c.Original, c.Reply = tuples(port)
	c.Started, c.TCP = w.now.Add(time.Duration(w.clock)), &conntrack.TCP{State: conntrack.StateEstablished}
	w.connections[port] = c
}

func (w *world) count(port uint16, direction int, c *Count) {
	packets := 1 + w.random.Uint64N(9)
	add := Count{Packets: packets, Bytes: packets * (20 + w.random.Uint64N(1480))}
	*c = Count{Packets: c.Packets + add.Packets, Bytes: c.Bytes + add.Bytes}
	sum := w.sent[port]
	sum[direction] = Count{Packets: sum[direction].Packets + add.Packets, Bytes: sum[direction].Bytes + add.Bytes}
	w.sent[port] = sum
}

func (w *world) retire(port uint16, egress bool) {
	if e := w.entries[port][egress]; e != nil {
		original, _ := tuples(port)
		r := report{Entry{Sent: original, Egress: egress, Created: e.created, Count: e.count}, w.now}
		if w.random.IntN(4) == 0 { // the agent is busy
			r.at = w.now.Add(time.Duration(w.random.IntN(int(reportDelay - time.Second))))
		}
		w.retired = append(w.retired, r)
		if w.random.IntN(4) == 0 { // two CPUs have replaced it
			r.at = r.at.Add(time.Duration(w.random.IntN(2)) * time.Second)
			w.retired = append(w.retired, r)
		}
		delete(w.entries[port], egress)
	}
}

func (w *world) retireBoth(port uint16) {
	w.retire(port, true)
	w.retire(port, false)
}

// remove ends a connection. It is not reported if nothing of it would be lost, as for connections that began before the listener.
func (w *world) remove(port uint16) {
	c := w.connections[port]
	if c == nil {
		return
	}
	if c.read != c.Counters || w.random.IntN(4) > 0 {
		stopped := c.Connection
		stopped.Stopped = w.now
		w.ended = append(w.ended, &stopped)
	}
	delete(w.connections, port)
}

// step lets something happen.
func (w *world) step() {
	port := uint16(1 + w.random.IntN(ports))
	c, egress := w.connections[port], w.random.IntN(2) == 0
	direction := 1
	if egress {
		direction = 0
	}
	e := w.entries[port][egress]
	switch w.random.IntN(12) {
	case 0:
		w.open(port)
	case 1: // learned, perhaps again
		if c != nil {
			w.retire(port, egress)
			w.clock++
			if w.entries[port] == nil {
				w.entries[port] = map[bool]*entry{}
			}
			w.entries[port][egress] = &entry{created: w.clock}
		}
	case 2: // FIN
		if c != nil {
			w.retireBoth(port)
			w.count(port, direction, &c.Counters[direction])
			c.TCP = &conntrack.TCP{State: conntrack.StateTimeWait}
		}
	case 3: // timeout, or deleted: the cache may continue
		w.remove(port)
	case 4: // evicted by the LRU map
		if e != nil && e.read == e.count {
			delete(w.entries[port], egress)
		}
	case 5, 6, 7:
		if c != nil {
			w.count(port, direction, &c.Counters[direction])
		}
	default:
		if e != nil {
			w.count(port, direction, &e.count)
		}
	}
}

func (w *world) steps() {
	if w.quiet {
		return
	}
	for range w.random.IntN(4) {
		w.step()
	}
}

// reading reads the world, which changes during the reading.
func (w *world) reading() (r Reading) {
	w.now = w.now.Add(time.Second)
	r.At = w.now.Add(time.Millisecond) // connections that begin meanwhile have begun before
	for port, entries := range w.entries {
		original, _ := tuples(port)
		for egress, e := range entries {
			e.read = e.count
			r.Entries = append(r.Entries, Entry{Sent: original, Egress: egress, Created: e.created, Count: e.count})
		}
	}
	w.steps()
	w.retired = slices.DeleteFunc(w.retired, func(report report) bool {
		due := w.quiet || !report.at.After(w.now)
		if due {
			r.Retired = append(r.Retired, report.Entry)
		}
		return due
	})
	w.steps()
	for _, c := range w.connections {
		c.read = c.Counters
		listed := c.Connection
		r.Connections = append(r.Connections, &listed)
	}
	w.steps()
	r.Ended, w.ended = w.ended, nil
	return r
}

func everything(*conntrack.Connection) (Info, bool) { return Info{}, true }

func plus(a, b Counts) Counts {
	for d := range a {
		a[d] = Count{Packets: a[d].Packets + b[d].Packets, Bytes: a[d].Bytes + b[d].Bytes}
	}
	return a
}

// collector adds up the deltas of records.
type collector struct {
	t     *testing.T
	ports map[uint16]Counts
	flows map[*flow]Counts
}

func (c *collector) take(records []*Record) {
	for _, r := range records {
		port := r.Client.Port()
		c.ports[port] = plus(c.ports[port], r.Delta)
		c.flows[r.flow] = plus(c.flows[r.flow], r.Delta)
		require.Equal(c.t, r.Total, c.flows[r.flow], "the deltas of a connection's records are its total: %+v", r)
	}
}

// Connections begin and end, entries of the cache come, go and are replaced, readings are not atomic, records cannot be sent for a while,
// and agents are replaced. Each packet is in one record.
func TestSums(t *testing.T) {
	for seed := range uint64(*runs) {
		w := newWorld(seed)
		l, to := New(Timeouts{Active: 3 * time.Second, Idle: 6 * time.Second}, w.now), &collector{t, map[uint16]Counts{}, map[*flow]Counts{}}
		for range 60 {
			w.steps()
			l.Read(w.reading(), everything)
			for _, c := range w.connections {
				f := l.flows[keyOf(&c.Connection)]
				require.True(t, f == nil || l.places[f.Original].flow == f, "seed %d: the cache's counts are for the connection that continues", seed)
			}
			if w.random.IntN(3) > 0 {
				due := l.Due(w.now)
				sent := due[:w.random.IntN(len(due)+1)]
				to.take(sent)
				l.Sent(sent, w.now)
			}
			if w.random.IntN(20) == 0 {
				var file bytes.Buffer
				require.NoError(t, l.Save(&file, "boot"))
				reported := map[key]Counts{}
				for _, f := range l.flows {
					reported[f.key()] = f.Exported
				}
				another := New(l.timeouts, w.now)
				require.NoError(t, another.Load(&file, "boot"))
				for _, f := range another.flows {
					to.flows[f] = reported[f.key()]
				}
				for _, f := range another.gone {
					to.flows[f] = f.Exported
				}
				another.orphans, another.lost = l.orphans, l.lost
				l = another
			}
		}
		for port := range uint16(ports) {
			w.open(port + 1) // what waits for a connection finds one
		}
		w.quiet = true
		for range 4 {
			l.Read(w.reading(), everything)
			due := l.Due(w.now.Add(time.Hour))
			to.take(due)
			l.Sent(due, w.now)
		}
		require.Zero(t, l.Lost(), "seed %d", seed)
		require.Empty(t, l.orphans, "seed %d", seed)
		for port := range uint16(ports) {
			require.Equal(t, w.sent[port+1], to.ports[port+1], "seed %d, client port %d", seed, port+1)
		}
		require.LessOrEqual(t, len(l.places), 4*ports, "seed %d: nothing is kept of connections that are no more", seed)
	}
}
