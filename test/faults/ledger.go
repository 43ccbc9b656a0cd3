// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// tally sums up all events of a kind.
type tally struct {
	events int
	// sent are datagrams, segments, requests and connections. lost are datagrams that the kind allows to be lost, repaired segments that TCP has sent
	// again, and failed are short connections.
	sent, lost, repaired, failed uint64
	// still is the longest time that an established flow stood still. hits is the smallest part of an event during
	// which hits continued.
	still time.Duration
	hits  float64
	// outward is the longest time in which no connection of a Pod to outside succeeded.
	outward time.Duration
}

// ledger is the record of a run.
type ledger struct {
	events                     int
	packets, probes            uint64
	lostEstablished, delivered uint64
	// wrongSource are packets that left without the source of their Egress.
	wrongSource uint64
	// clearText are packets that were not encrypted, in mode WireGuard.
	clearText  uint64
	complaints []string
	kinds      map[string]*tally
}

func newLedger() *ledger { return &ledger{kinds: map[string]*tally{}} }

func (l *ledger) of(e event) *tally {
	if l.kinds[e.kind.name] == nil {
		l.kinds[e.kind.name] = &tally{hits: 1}
	}
	return l.kinds[e.kind.name]
}

// add judges the flows during an event, and the part of it in which hits continued.
func (l *ledger) add(e event, seen []observation, hits float64) (complaints []string) {
	t := l.of(e)
	l.events++
	t.events++
	t.hits = min(t.hits, hits)
	if hits < e.kind.hits {
		complaints = append(complaints, fmt.Sprintf("hits continued for %.0f %% of %s, must be %.0f %%", 100*hits, e, 100*e.kind.hits))
		l.complaints = append(l.complaints, complaints...)
	}
	return append(complaints, l.addAftermath(e, seen)...)
}

// addAftermath judges what flows did after an event, until the next one.
func (l *ledger) addAftermath(e event, seen []observation) (complaints []string) {
	t := l.of(e)
	for _, o := range seen {
		j := judge(e, o)
		if j.complaint != "" {
			complaints = append(complaints, j.complaint)
		}
		l.packets += o.sent
		t.sent += o.sent
		switch o.flow.pattern {
		case short:
			t.failed += o.lost
			continue
		case ping:
			t.lost += j.allowed
		default:
			t.repaired += o.lost
		}
		l.lostEstablished += j.forbidden
		t.still = max(t.still, o.still)
	}
	l.complaints = append(l.complaints, complaints...)
	return complaints
}

// addProbe judges what a probe did during an event.
func (l *ledger) addProbe(e event, name string, v verdict, sent, delivered uint64) (complaints []string) {
	l.probes += sent
	j := judgeProbe(name, v, sent, delivered, e)
	l.delivered += j.forbidden
	if j.complaint != "" {
		complaints = append(complaints, j.complaint)
	}
	l.complaints = append(l.complaints, complaints...)
	return complaints
}

// print writes a line for each kind.
func (l *ledger) print(to io.Writer) {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "event\tevents\tpackets\tlost, as allowed\tabout, repaired by TCP\tshort connections failed\tlongest standstill\tto outside\tleast time with hits\t")
	for _, k := range slices.Concat(kinds, sabotage) {
		for _, name := range []string{k.name, k.name + takeover} {
			if t := l.kinds[name]; t != nil {
				fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%.1f s\t%.1f s\t%.0f %%\t\n", name, t.events, t.sent, t.lost, t.repaired, t.failed, t.still.Seconds(), t.outward.Seconds(), 100*t.hits)
			}
		}
	}
	w.Flush()
	fmt.Fprintf(to, "%d forbidden packets were sent.\n", l.probes)
}

// summary is the last line of the output.
func (l *ledger) summary(seed uint64) string {
	return fmt.Sprintf("faults: events=%d packets=%d lost_established=%d forbidden_delivered=%d wrong_source=%d clear_text=%d seed=%d",
		l.events, l.packets, l.lostEstablished, l.delivered, l.wrongSource, l.clearText, seed)
}
