// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/antrea-oncache/antrea/test/bench/agentstate"
	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
	"github.com/antrea-oncache/antrea/test/tools/hitrate"
)

// standstill is the time that a flow may need to continue after an event before the state of the cluster is dumped.
const standstill = 15 * time.Second

// roundLength is the time after which traffic is ended, checked, and started again.
const roundLength = 3 * time.Minute

// run makes events happen until there were enough or the time has passed.
type run struct {
	w      *world
	plan   plan
	ledger *ledger
	// events is the number of events, 0 for any; until is the end of the time in which events begin, zero for never.
	events int
	until  time.Time
	// keepGoing: continue after a complaint.
	keepGoing bool
	artifacts string

	traffic *traffic
	// seen is the part of the traffic that has been judged.
	seen snapshot
	hits *hitrate.Watch[*cluster.Node]
	done int // events
}

func (r *run) over() bool {
	return r.events > 0 && r.done >= r.events || !r.until.IsZero() && time.Now().After(r.until) || len(r.ledger.complaints) > 0 && !r.keepGoing
}

// all runs one round after the other.
func (r *run) all(ctx context.Context) error {
	r.hits = hitrate.Start(r.w.Nodes, r.w.slowDevices()...)
	for number := 0; !r.over(); number++ {
		if err := r.round(ctx, number); err != nil {
			return err
		}
	}
	_, err := r.hits.End()
	return err
}

// start stands for the judgement before the first event of a round.
var start = event{number: -1, kind: &kind{name: "start", concerns: none}}

// round lets events happen to traffic from its start to its end.
func (r *run) round(ctx context.Context, number int) (err error) {
	r.traffic, err = r.w.startTraffic(ctx, number)
	if err == nil {
		err = r.waitFast(ctx)
	}
	if err != nil {
		return fmt.Errorf("traffic does not begin to flow: %w", err)
	}
	r.seen = r.traffic.snapshot()
	before := start
	for end := time.Now().Add(roundLength); time.Now().Before(end) && !r.over(); r.done++ {
		e := r.plan.event(r.done)
		if err := r.event(ctx, e, before); err != nil {
			return err
		}
		before = e
	}
	complaints, caught, err := r.traffic.end()
	complaints = append(complaints, r.ledger.addClearText(before, r.w.clearText.take())...)
	if caught > 0 {
		r.ledger.delivered = max(r.ledger.delivered, caught) // those that were answered have been counted
		complaints = append(complaints, fmt.Sprintf("servers that no Pod may reach have received %d packets", caught))
	}
	r.complain(complaints)
	return err
}

// event makes one event happen, waits until all is as before, and judges. The event before is blamed for losses in the
// pause.
func (r *run) event(ctx context.Context, e, before event) error {
	if err := last(ctx, e.pause); err != nil {
		return err
	}
	if err := r.traffic.waitLate(ctx, before, r.seen.flows); err != nil {
		return err
	}
	complaints := r.ledger.addAftermath(before, r.observe())
	complaints = slices.Concat(complaints, r.judgeProbes(before, nil), r.judgeOutward(before), r.ledger.addClearText(before, r.w.clearText.take()))

	act := actions[e.kind.name]
	e, err := r.meet(ctx, e)
	if err != nil {
		return err
	}
	begun, verdicts := time.Now(), r.traffic.verdicts()
	defer r.dumpWhenStill(e)()
	if err := act(ctx, r.w, e); err != nil {
		return fmt.Errorf("event %d, %s: %w", e.number, e, err)
	}
	if err := r.recover(ctx, e); err != nil {
		return fmt.Errorf("after event %d, %s: %w", e.number, e, err)
	}
	rate, err := r.hits.Since(begun)
	if err != nil {
		return err
	}
	probed := r.judgeProbes(e, verdicts)
	seen := r.observe()
	going := rate.Part()
	if !r.w.hits() {
		going = 1
	}
	complaints = slices.Concat(complaints, r.ledger.add(e, seen, going), probed, r.judgeOutward(e), r.ledger.addClearText(e, r.w.clearText.take()))
	r.w.progress.Printf("event %d: %s: %s; took %.1f s, hits continued for %.0f %%", e.number, e, describe(seen), time.Since(begun).Seconds(), 100*rate.Part())
	r.complain(complaints)
	return nil
}

// meet returns the event with its kind as it is if it meets an agent that takes the cache over: until that agent has learned flows, they have nothing
// but Open vSwitch.
func (r *run) meet(ctx context.Context, e event) (event, error) {
	if !r.w.gateOn || !e.kind.withTakeover() {
		return e, nil
	}
	met, err := takingOver(r.w.Nodes[e.node])
	if err != nil {
		return e, err
	}
	if met {
		e.kind = e.kind.duringTakeover()
		return e, nil
	}
	return e, r.waitFast(ctx) // it may have learned nothing yet
}

// takingOver reports whether the agent of a Node, which runs, has not made the cache its own yet.
func takingOver(n *cluster.Node) (bool, error) {
	log, err := os.ReadFile(n.AgentLog())
	if err != nil {
		return false, err
	}
	return bytes.LastIndex(log, []byte("ONCache started")) < bytes.LastIndex(log, []byte("Starting antrea-agent")), nil
}

// dumpWhenStill dumps the state of the cluster while a flow stands still: the cause is visible only as long as it
// lasts.
func (r *run) dumpWhenStill(e event) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	watching.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case now := <-tick.C:
				for f, p := range r.traffic.flows {
					if p.stillSince(now) > e.length+standstill {
						r.w.progress.Printf("event %d: %s stands still", e.number, f)
						r.dump(fmt.Sprintf("standstill-%d", e.number))
						return
					}
				}
			}
		}
	})
	return func() { cancel(); watching.Wait() }
}

// observe returns the observations since the last call, and starts new ones.
func (r *run) observe() (seen []observation) {
	now := r.traffic.snapshot()
	for f, p := range r.traffic.flows {
		before, after := r.seen.flows[f], now.flows[f]
		seen = append(seen, observation{
			flow: f, sent: after.sent - before.sent, lost: after.late - min(after.late, before.late), still: p.longestStill(), broken: p.broken(),
		})
	}
	r.seen.flows = now.flows
	return seen
}

// judgeProbes judges the probes since the last call. verdicts are the verdicts before an event, which may change them.
func (r *run) judgeProbes(e event, verdicts map[string]verdict) (complaints []string) {
	now := r.traffic.snapshot()
	for name, v := range r.traffic.verdicts() {
		if was, changed := verdicts[name]; changed && was != v {
			v = unsettled
		}
		before, after := r.seen.probes[name], now.probes[name]
		complaints = append(complaints, r.ledger.addProbe(e, name, v, after.sent-before.sent, after.received-before.received)...)
	}
	for _, p := range r.w.probed {
		complaints = append(complaints, r.ledger.addProbe(e, p.name, forbidden, p.sent, p.delivered)...)
	}
	r.w.probed, r.seen.probes = nil, now.probes
	return complaints
}

// judgeOutward judges the connections to outside since the last call.
func (r *run) judgeOutward(e event) (complaints []string) {
	right := r.w.rightSources()
	wrong := r.w.sources.takeOther(right)
	for i, p := range r.traffic.outward {
		complaints = append(complaints, r.ledger.addOutward(e, r.w.strangers[i].Name, p.longestStill(), p.broken())...)
	}
	return append(complaints, r.ledger.addSources(e, wrong, right)...)
}

// describe says what was lost, in a line.
func describe(seen []observation) string {
	var parts []string
	var sent, lost uint64
	var slowest observation
	for _, o := range seen {
		sent += o.sent
		if o.flow.established() && o.still >= slowest.still {
			slowest = o
		}
		if o.lost > 0 {
			lost += o.lost
			parts = append(parts, fmt.Sprintf("%s %d of %d", o.flow, o.lost, o.sent))
		}
	}
	text := fmt.Sprintf("%d of %d packets lost", lost, sent)
	if len(parts) > 0 {
		slices.Sort(parts)
		text += " (" + strings.Join(parts, ", ") + ")"
	}
	return fmt.Sprintf("%s, longest standstill %.1f s (%s)", text, slowest.still.Seconds(), slowest.flow)
}

// recover waits until agents are ready, everything flows, takes the fast path, and all packets have been judged.
func (r *run) recover(ctx context.Context, e event) error {
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
	if err := r.traffic.waitOutward(ctx); err != nil {
		return err
	}
	if err := r.waitFast(ctx); err != nil {
		return err
	}
	if err := r.waitRewritten(ctx); err != nil {
		return err
	}
	return r.traffic.waitJudged(ctx, e, r.seen.flows)
}

// waitFast waits until most packets between Nodes are hits, with the gate on.
func (r *run) waitFast(ctx context.Context) error {
	if !r.w.hits() {
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

// waitRewritten waits until both Nodes rewrite hits, if they are to: after any trouble, keys must be told again.
func (r *run) waitRewritten(ctx context.Context) error {
	if !r.w.gateOn || r.w.tunnel != tunnelRewrite {
		return nil
	}
	for _, n := range r.w.Nodes[:2] {
		before, err := rewrittenBy(ctx, n)
		if err != nil {
			return err
		}
		if err := eventually(ctx, "rewritten packets of "+n.Name, func() error {
			now, err := rewrittenBy(ctx, n)
			if err == nil && now <= before {
				err = fmt.Errorf("%d before, now %d", before, now)
			}
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// rewrittenBy is the number of packets that a Node has rewritten since its maps were made.
func rewrittenBy(ctx context.Context, n *cluster.Node) (uint64, error) {
	status, err := agentstate.Cache(ctx, n)
	if err != nil {
		return 0, err
	}
	if status.Ingress.UnknownKeys > 0 {
		return 0, fmt.Errorf("%s has dropped %d packets with keys that it has not given", n.Name, status.Ingress.UnknownKeys)
	}
	return status.Egress.RewrittenHits, nil
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
