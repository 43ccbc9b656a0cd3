// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
	"github.com/antrea-oncache/antrea/test/tools/hitrate"
)

// roundLength is the time after which traffic is ended, checked, and started anew.
const roundLength = 3 * time.Minute

// run makes events happen until there were enough or the time is over.
type run struct {
	w      *world
	plan   plan
	ledger *ledger
	// events is the number of events, 0 for any; until is when no event begins any more, zero for never.
	events int
	until  time.Time
	// keepGoing goes on after a complaint.
	keepGoing bool
	artifacts string

	traffic *traffic
	hits    *hitrate.Watch[*cluster.Node]
	done    int // events
}

func (r *run) over() bool {
	return r.events > 0 && r.done >= r.events || !r.until.IsZero() && time.Now().After(r.until) || len(r.ledger.complaints) > 0 && !r.keepGoing
}

// all runs one round after the other.
func (r *run) all(ctx context.Context) error {
	r.hits = hitrate.Start(r.w.Nodes, tunnelDevice)
	for number := 0; !r.over(); number++ {
		if err := r.round(ctx, number); err != nil {
			return err
		}
	}
	_, err := r.hits.End()
	return err
}

// round lets events happen to traffic from its start to its end.
func (r *run) round(ctx context.Context, number int) (err error) {
	r.traffic, err = r.w.startTraffic(ctx, number)
	if err == nil {
		err = r.waitFast(ctx)
	}
	if err != nil {
		return fmt.Errorf("traffic does not begin to flow: %w", err)
	}
	for end := time.Now().Add(roundLength); time.Now().Before(end) && !r.over(); r.done++ {
		if err := r.event(ctx, r.plan.event(r.done)); err != nil {
			return err
		}
	}
	complaints, caught, err := r.traffic.end()
	if caught > 0 {
		r.ledger.delivered += caught
		complaints = append(complaints, fmt.Sprintf("servers that nobody may reach have received %d packets", caught))
	}
	r.complain(complaints)
	return err
}

// event makes one event happen, waits until all is as before, and judges.
func (r *run) event(ctx context.Context, e event) error {
	if err := last(ctx, e.pause); err != nil {
		return err
	}
	begun := time.Now()
	before, probesBefore, verdictsBefore := map[flow]progressOf{}, map[string]progressOf{}, map[string]verdict{}
	for f, p := range r.traffic.flows {
		before[f] = p.begin()
	}
	for name, p := range r.traffic.probes {
		probesBefore[name], verdictsBefore[name] = p.begin(), r.traffic.verdictOf(name)
	}
	if err := actions[e.kind.name](ctx, r.w, e); err != nil {
		return fmt.Errorf("event %d, %s: %w", e.number, e, err)
	}
	if err := r.recover(ctx, e, before); err != nil {
		return fmt.Errorf("after event %d, %s: %w", e.number, e, err)
	}
	rate, err := r.hits.Since(begun)
	if err != nil {
		return err
	}
	var complaints []string
	var seen []observation
	for f, p := range r.traffic.flows {
		now, still := p.state()
		seen = append(seen, observation{flow: f, sent: now.sent - before[f].sent, lost: now.late - min(now.late, before[f].late), still: still, broken: p.broken()})
	}
	complaints = append(complaints, r.ledger.add(e, seen, rate.Part())...)
	for name, p := range r.traffic.probes {
		now, _ := p.state()
		v := r.traffic.verdictOf(name)
		if v != verdictsBefore[name] {
			v = unsettled
		}
		complaints = append(complaints, r.ledger.addProbe(e, name, v, now.sent-probesBefore[name].sent, now.received-probesBefore[name].received)...)
	}
	for _, p := range r.w.probed {
		complaints = append(complaints, r.ledger.addProbe(e, p.name, forbidden, p.sent, p.delivered)...)
	}
	r.w.probed = nil
	r.w.progress.Printf("event %d: %s: %s; took %.1f s, hits went on for %.0f %%", e.number, e, describe(seen), time.Since(begun).Seconds(), 100*rate.Part())
	r.complain(complaints)
	return nil
}

// describe says what was lost, in a line.
func describe(seen []observation) string {
	var parts []string
	var sent uint64
	var slowest observation
	for _, o := range seen {
		sent += o.sent
		if o.flow.established() && o.still >= slowest.still {
			slowest = o
		}
		if o.lost > 0 {
			parts = append(parts, fmt.Sprintf("%s lost %d of %d, stood still for %.1f s", o.flow, o.lost, o.sent, o.still.Seconds()))
		}
	}
	if len(parts) == 0 {
		parts = []string{"nothing lost"}
	}
	return fmt.Sprintf("%d packets, %s, longest standstill %.1f s (%s)", sent, strings.Join(parts, ", "), slowest.still.Seconds(), slowest.flow)
}

// recover waits until agents are ready, everything flows, takes the fast path, and all packets have been judged.
func (r *run) recover(ctx context.Context, e event, before map[flow]progressOf) error {
	ready, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := r.w.EachNode(func(n *cluster.Node) error { return n.WaitAgentReady(ready) }); err != nil {
		return err
	}
	if err := r.traffic.waitFlowing(ctx); err != nil {
		return err
	}
	if err := r.traffic.waitVerdict(ctx); err != nil {
		return err
	}
	if err := r.waitFast(ctx); err != nil {
		return err
	}
	return r.traffic.waitJudged(ctx, e, before)
}

// waitFast waits until most packets between Nodes are hits, with the gate on.
func (r *run) waitFast(ctx context.Context) error {
	if !r.w.gateOn {
		return nil
	}
	begun := time.Now()
	return eventually(ctx, "hits", func() error {
		rate, err := r.hits.Since(begun)
		if err == nil && rate.Last < 0.5 {
			err = fmt.Errorf("hits are %.0f %% of the packets", 100*rate.Last)
		}
		return err
	})
}

// complain prints complaints, and dumps the state of the cluster for the first of them.
func (r *run) complain(complaints []string) {
	for _, c := range complaints {
		r.w.progress.Printf("FAILED: %s", c)
	}
	if len(complaints) > 0 {
		r.dump(fmt.Sprintf("event-%d", r.done))
	}
}

// dump writes what is needed to understand a failure.
func (r *run) dump(name string) {
	dir := filepath.Join(r.artifacts, name)
	err := r.w.Dump(dir)
	if r.traffic != nil {
		err = errors.Join(err, r.traffic.dump(filepath.Join(dir, "traffic")))
	}
	if err != nil {
		r.w.progress.Printf("dumping the cluster's state: %v", err)
	}
	fmt.Fprintf(os.Stderr, "faults: flows, maps, conntrack and the output of traffic are in %s, the logs of all programs in %s\n", dir, r.artifacts)
}
