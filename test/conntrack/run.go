// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/antrea-oncache/antrea/test/env/nodepair"
	"github.com/antrea-oncache/antrea/test/tools/afpacket"
)

// inFlight is the time for which the test waits for a packet that may have been dropped.
const inFlight = 15 * time.Millisecond

// outcome is the result of a batch of sequences in one world.
type outcome struct {
	// entries are conntrack's at the end of each sequence's silence.
	entries map[*sequence][]tracked
	// arrived are the packets that reached the other Pod.
	arrived map[arrival]bool
	// listed are conntrack's tables as last read.
	listed   []map[uint16]*entry
	listedAt time.Time
}

// tracked is a connection's entry in a table, nil if there is none.
type tracked struct {
	in    table
	entry *entry
}

// receiver collects the packets that arrive in both Pods of a world.
type receiver struct {
	mu      sync.Mutex
	arrived map[arrival]bool
	failed  error
}

func (r *receiver) run(w *world, at side, stop chan struct{}) {
	for {
		f, ok, err := w.sockets[at].Receive(50 * time.Millisecond)
		if err != nil {
			r.mu.Lock()
			r.failed = err
			r.mu.Unlock()
			return
		}
		if !ok {
			// The last packets may wait in the socket for longer than inFlight.
			select {
			case <-stop:
				return
			default:
			}
		}
		if !ok || f.Type != afpacket.Host {
			continue
		}
		if a, ok := read(f.Data, w.Nodes); ok && a.from == at.other() {
			r.mu.Lock()
			r.arrived[a] = true
			r.mu.Unlock()
		}
	}
}

func (r *receiver) has(all []arrival) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !slices.ContainsFunc(all, func(a arrival) bool { return !r.arrived[a] })
}

// moment is one action in a batch.
type moment struct {
	*sequence
	step    *step
	compare bool // read the entries
	at      time.Duration
}

// sent records when a packet of the sequence was sent.
func (s *sequence) sent(at time.Duration, last bool) {
	if s.begun == 0 {
		s.begun = at
	}
	if !last {
		s.ended = at
	}
}

// schedule orders all actions in a batch by time.
func schedule(sequences []*sequence) (all []moment) {
	for _, s := range sequences {
		compared := false
		for i := range s.steps {
			if s.steps[i].last && !compared {
				all = append(all, moment{s, nil, true, s.steps[i].at - least/2})
				compared = true
			}
			all = append(all, moment{s, &s.steps[i], false, s.steps[i].at})
		}
	}
	slices.SortStableFunc(all, func(a, b moment) int { return int(a.at - b.at) })
	return all
}

// stretched is the time by which a sequence may exceed its plan. On a busy machine, longer gaps and pauses would test
// something else.
const stretched = lease / 2

// runBatch plays the sequences in all worlds at the same time. It returns the sequences for which the machine was too
// slow; they prove nothing.
func runBatch(worlds []*world, sequences []*sequence) (outcomes []*outcome, slow map[*sequence]bool, err error) {
	stop := make(chan struct{})
	outcomes = make([]*outcome, len(worlds))
	receivers := make([]*receiver, len(worlds))
	var running sync.WaitGroup
	for i, w := range worlds {
		receivers[i] = &receiver{arrived: map[arrival]bool{}}
		outcomes[i] = &outcome{entries: map[*sequence][]tracked{}, arrived: receivers[i].arrived}
		for _, at := range []side{client, server} {
			running.Go(func() { receivers[i].run(w, at, stop) })
		}
	}
	slow, err = play(worlds, receivers, outcomes, schedule(sequences))
	close(stop)
	running.Wait()
	for _, r := range receivers {
		if err == nil {
			err = r.failed
		}
	}
	return outcomes, slow, err
}

// play performs the actions that are due, and waits until their packets have arrived, because the next ones depend on that.
func play(worlds []*world, receivers []*receiver, outcomes []*outcome, moments []moment) (slow map[*sequence]bool, err error) {
	begun := time.Now()
	slow, late := map[*sequence]bool{}, map[*sequence]time.Duration{}
	for len(moments) > 0 {
		time.Sleep(time.Until(begun.Add(moments[0].at)))
		now := time.Since(begun)
		due := 0
		var sent []arrival
		seen := map[*sequence]bool{}
		// One action at a time for each connection.
		for due < len(moments) && moments[due].at <= now && !seen[moments[due].sequence] {
			seen[moments[due].sequence] = true
			due++
		}
		var comparing []*sequence
		for _, m := range moments[:due] {
			lag := time.Since(begun) - m.at
			if _, begun := late[m.sequence]; !begun {
				late[m.sequence] = lag
			}
			if lag-late[m.sequence] > stretched {
				slow[m.sequence] = true
			}
			switch {
			case m.compare:
				comparing = append(comparing, m.sequence)
			case m.step.flush:
				if err := flush(worlds, m.sequence, m.step.from); err != nil {
					return slow, err
				}
			default:
				if !m.step.packet.lost {
					m.sent(time.Since(begun), m.step.last)
					sent = append(sent, arrival{m.port, m.step.from, m.step.packet.id})
				}
				for _, w := range worlds {
					if err := w.sockets[m.step.from].Send(afpacket.Frame{Data: m.step.packet.frame(m.sequence, m.step.from, w.Nodes)}); err != nil {
						return slow, err
					}
				}
			}
		}
		moments = moments[due:]
		for deadline := time.Now().Add(inFlight); time.Now().Before(deadline); time.Sleep(200 * time.Microsecond) {
			if !slices.ContainsFunc(receivers, func(r *receiver) bool { return !r.has(sent) }) {
				break
			}
		}
		if len(comparing) > 0 {
			if err := readEntries(worlds, outcomes, comparing); err != nil {
				return slow, err
			}
		}
	}
	return slow, nil
}

// flush deletes the connection's entry on one Node.
func flush(worlds []*world, s *sequence, on side) error {
	protocol := "tcp"
	if s.udp {
		protocol = "udp"
	}
	for _, w := range worlds {
		version := "ipv4"
		if w.Inner6 {
			version = "ipv6"
		}
		// It fails if there is none.
		script := fmt.Sprintf("conntrack -D -f %s -p %s --sport %d --dport %d 2>&1 || true", version, protocol, s.port, serverPort)
		if err := nodepair.Run(w.Nodes[on].Host, script); err != nil {
			return err
		}
	}
	return nil
}

// fresh is the maximum age of a table: the silence before it is read is much longer.
const fresh = 200 * time.Millisecond

func readEntries(worlds []*world, outcomes []*outcome, of []*sequence) error {
	for i, w := range worlds {
		o := outcomes[i]
		if time.Since(o.listedAt) > fresh {
			o.listedAt, o.listed = time.Now(), nil
			for _, in := range w.tables() {
				found, err := w.entries(in)
				if err != nil {
					return err
				}
				o.listed = append(o.listed, found)
			}
		}
		for _, s := range of {
			o.entries[s] = nil
			for i, in := range w.tables() {
				o.entries[s] = append(o.entries[s], tracked{in, o.listed[i][s.port]})
			}
		}
	}
	return nil
}
