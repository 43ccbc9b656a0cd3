// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math/rand/v2"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/test/env/switchpair"
	"github.com/antrea-oncache/antrea/test/services"
	"github.com/antrea-oncache/antrea/test/tools/wire"
)

// mostOpen is the number of connections that stay open during changes.
const mostOpen = 40

// mostData is the number of packets with data that a connection may have, see wire.Data.
const mostData = 14

// churnResult counts checks of connections that were opened before a change: how many kept their Endpoint, were ended and opened again
// elsewhere, and did what they must not.
type churnResult struct{ kept, moved, lost int }

func (r churnResult) String() string {
	return fmt.Sprintf("kept=%d moved=%d lost=%d", r.kept, r.moved, r.lost)
}

// choose returns some of the connections that were served and answered, to stay open.
func choose(rng *rand.Rand, trials []*trial) (open []*connection) {
	for _, t := range trials {
		if t.verdict.Outcome != services.Served || t.Protocol == corev1.ProtocolSCTP {
			continue
		}
		for _, c := range t.connections {
			if c.answered && len(c.arrivals) == 1 {
				open = append(open, c)
			}
		}
	}
	rng.Shuffle(len(open), func(i, j int) { open[i], open[j] = open[j], open[i] })
	return open[:min(len(open), mostOpen)]
}

// lostConnection is an open connection that has done what it must not.
type lostConnection struct {
	*connection
	text string
}

// checkOpen sends data through the open connections, both ways, and returns the faults. fate returns what may happen to
// one.
func (b *bench) checkOpen(w *services.World, fate func(*connection) services.Continuation) (wrong []lostConnection, err error) {
	for _, n := range b.pair.Nodes {
		n.ForgetMegaflows()
	}
	b.openConnections = slices.DeleteFunc(b.openConnections, func(c *connection) bool { return c.data+2 > mostData })
	was, fates := map[*connection]arrival{}, map[*connection]services.Continuation{}
	var frames []switchpair.Outgoing
	var late []switchpair.Fence
	for _, c := range b.openConnections {
		was[c], fates[c] = c.arrivals[0], fate(c)
		if fates[c] != services.Keeps && c.Client.Kind != services.FromPod {
			// The host also opens it again.
			if c.to, c.led = b.agentOf(c.Client.Node).host.lead(c.Probe); !c.led {
				continue
			}
		}
		from := b.port(&c.Client)
		frames = append(frames, switchpair.Outgoing{At: from, Frame: wire.Data(b.leg(c), protocolNumbers[c.Protocol], c.id, c.data, false)})
		if v := w.Verdict(c.Probe); v.Outcome == services.Rejected && fates[c] == services.Moves {
			late = append(late, switchpair.Fence{ID: c.id + 1 + uint32(c.data), At: from})
		}
	}
	arrived, err := b.exchange(frames, late...)
	if err != nil {
		return nil, err
	}
	frames = nil
	for _, c := range b.openConnections {
		b.receive(c, c.id+1+uint32(c.data), arrived)
		c.data++
		if len(c.arrivals) == 1 {
			a := c.arrivals[0]
			frames = append(frames, switchpair.Outgoing{At: a.at, Frame: wire.Data(b.legBack(c, a), protocolNumbers[c.Protocol], c.id, c.data, true)})
		}
	}
	if arrived, err = b.exchange(frames); err != nil {
		return nil, err
	}
	var still []*connection
	for _, c := range b.openConnections {
		b.receiveAnswer(c, c.id+1+uint32(c.data), arrived)
		c.data++
		text, kept := b.judgeOpen(w, c, was[c], fates[c])
		if text != "" {
			b.churn.lost++
			wrong = append(wrong, lostConnection{c, fmt.Sprintf("%s, which was open at %s: %s; it was %s", c.Probe, was[c].header.Destination, text, c.outcome())})
		}
		if kept {
			b.churn.kept++
			still = append(still, c)
		} else if text == "" {
			b.churn.moved++
		}
	}
	b.openConnections = still
	return wrong, nil
}

// judgeOpen says what is wrong with a connection after a change, and whether it has kept its Endpoint.
func (b *bench) judgeOpen(w *services.World, c *connection, was arrival, fate services.Continuation) (wrong string, kept bool) {
	kept = len(c.arrivals) == 1 && c.arrivals[0] == movedTo(was, c.arrivals[0]) && c.answered && c.stray == ""
	v := w.Verdict(c.Probe)
	asNew := b.judge(w, c, &v)
	stays := slices.Contains(v.Addresses(), was.header.Destination)
	switch {
	case fate == services.Keeps && !kept:
		return "it must keep its Endpoint", false
	case fate == services.Moves && kept && !stays:
		return "it must be ended", true
	case fate == services.Either && (v.Outcome == services.Rejected || v.Outcome == services.Dropped) && len(c.arrivals) == 0:
		return "", false // the rejection was not waited for
	case fate != services.Keeps && !kept && asNew != "":
		return "it must be treated as a new one: " + asNew, false
	}
	return "", kept
}

// movedTo returns an arrival as it was, with the number of a later packet.
func movedTo(was, now arrival) arrival {
	was.header.Number = now.header.Number
	return was
}
