// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package watch turns samples of a Node's cache into text that a person can leave open: antctl get oncache --watch. It
// does no I/O: a Watch turns samples into a screen or into lines.
//
// watch.go computes rates between samples, screen.go draws a terminal, lines.go prints lines for everything else; both
// use number.go and sparkline.go.
package watch

import (
	"cmp"
	"slices"
	"time"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
)

// maxHistory is the number of intervals that a sparkline can show.
const maxHistory = 240

// Sample is an answer of the agent, or the error.
type Sample struct {
	// Time is the time of the request. Rates use the times in the answers, because the agent may answer late.
	Time   time.Time
	Status api.Status
	// Flows are the flows with the most packets, as far as they were asked for.
	Flows []api.FlowInfo
	Err   error
}

// Watch is the result of several samples.
type Watch struct {
	// Interval is the time between two samples, to be shown.
	Interval time.Duration
	// ASCII avoids other characters.
	ASCII bool

	began time.Time
	// latest and former are the last samples without an error; nil before.
	latest, former *Sample
	// now has the rates between the two; nil while there are none.
	now     *interval
	history []interval
	// err is why the last sample failed, since when samples have failed; nil after a good one.
	err   error
	since time.Time
}

// interval has the rates between two samples.
type interval struct {
	egress, ingress direction
	evictions       api.Evictions
	// failed are the failed updates of conntrack per second.
	failed float64
	flows  []flow
}

// direction has packets and entries per second.
type direction struct {
	fast, wouldBeFast, missed, learned, renewed float64
	missReasons, uncacheable                    map[string]float64
}

// flow is an entry with its rates per second.
type flow struct {
	api.FlowInfo
	packets, bytes float64
}

// Add takes the next sample.
func (w *Watch) Add(s Sample) {
	if w.began.IsZero() {
		w.began = s.Time
	}
	if s.Err != nil {
		if w.err == nil {
			w.since = s.Time
		}
		w.err = s.Err
		return
	}
	w.err = nil
	w.former, w.latest = w.latest, &s
	if w.former == nil {
		return
	}
	seconds := s.Status.Time.Sub(w.former.Status.Time).Seconds()
	if seconds <= 0 {
		return
	}
	i := between(w.former, &s, seconds)
	w.now = &i
	w.history = append(w.history, i)
	if len(w.history) > maxHistory {
		w.history = slices.Delete(w.history, 0, len(w.history)-maxHistory)
	}
}

func between(former, latest *Sample, seconds float64) interval {
	a, b := &former.Status, &latest.Status
	return interval{
		egress:  directionBetween(&a.Egress, &b.Egress, seconds),
		ingress: directionBetween(&a.Ingress, &b.Ingress, seconds),
		evictions: api.Evictions{
			Endpoint: increase(a.Evictions.Endpoint, b.Evictions.Endpoint), Node: increase(a.Evictions.Node, b.Evictions.Node),
			All: increase(a.Evictions.All, b.Evictions.All),
		},
		failed: rate(a.Conntrack.Failed, b.Conntrack.Failed, seconds),
		flows:  flowsBetween(former.Flows, latest.Flows, seconds),
	}
}

func directionBetween(a, b *api.DirectionStats, seconds float64) direction {
	return direction{
		fast: rate(a.Hits, b.Hits, seconds), wouldBeFast: rate(a.WouldHit, b.WouldHit, seconds), missed: rate(a.Misses, b.Misses, seconds),
		learned: rate(a.Learned, b.Learned, seconds), renewed: rate(a.Renewed, b.Renewed, seconds),
		missReasons: ratesOf(a.MissReasons, b.MissReasons, seconds), uncacheable: ratesOf(a.Uncacheable, b.Uncacheable, seconds),
	}
}

// ratesOf leaves out what has not grown.
func ratesOf(a, b map[string]uint64, seconds float64) map[string]float64 {
	rates := map[string]float64{}
	for name, n := range b {
		if r := rate(a[name], n, seconds); r > 0 {
			rates[name] = r
		}
	}
	return rates
}

// increase of a counter. One that is lower than before has begun again at 0: the agent, or its maps, are new.
func increase(a, b uint64) uint64 {
	if b < a {
		return b
	}
	return b - a
}

func rate(a, b uint64, seconds float64) float64 { return float64(increase(a, b)) / seconds }

// flowsBetween returns the flows with packets between two samples, the busiest first. The time of an old entry is the
// growth of its age; of a new entry, seconds.
func flowsBetween(former, latest []api.FlowInfo, seconds float64) []flow {
	type key struct{ direction, protocol, source, destination string }
	keyOf := func(f *api.FlowInfo) key { return key{f.Direction, f.Protocol, f.Source, f.Destination} }
	before := map[key]*api.FlowInfo{}
	for i := range former {
		before[keyOf(&former[i])] = &former[i]
	}
	var flows []flow
	for _, f := range latest {
		packets, bytes, during := f.Packets, f.Bytes, seconds
		// An entry that is younger than the former sample has replaced another one of the same flow.
		if b := before[keyOf(&f)]; b != nil && f.AgeSeconds > b.AgeSeconds {
			packets, bytes, during = increase(b.Packets, packets), increase(b.Bytes, bytes), f.AgeSeconds-b.AgeSeconds
		} else if f.AgeSeconds > seconds {
			during = f.AgeSeconds // not among those asked for before: its average
		}
		if packets > 0 {
			flows = append(flows, flow{f, float64(packets) / during, float64(bytes) / during})
		}
	}
	slices.SortStableFunc(flows, func(a, b flow) int { return cmp.Compare(b.packets, a.packets) })
	return flows
}
