// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
	"github.com/antrea-oncache/antrea/pkg/stats"
	"github.com/antrea-oncache/antrea/test/bench/bed"
	"github.com/antrea-oncache/antrea/test/bench/result"
	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
	"github.com/antrea-oncache/antrea/test/env/testbed/progress"
)

const (
	// warmUp is the length of the discarded measurement in each state.
	warmUp = 300 * time.Millisecond
	// readyTimeout limits the time in which a server must listen, stopGrace the time in which it must end.
	readyTimeout = 20 * time.Second
	stopGrace    = 5 * time.Second
	// slack is the additional time of a measurement: connections are opened, results exchanged.
	slack = 30 * time.Second
	// rewriteTimeout limits the time until packets are rewritten: three times as long as new maps give no keys.
	rewriteTimeout = time.Minute
)

// Runner measures workloads in one network.
type Runner struct {
	Setup    bed.Setup
	Plan     bed.Plan
	Progress *progress.Printer
	// Deadline is the time at which everything should be done, zero for never. Others is the number of workloads that
	// must still fit in after these.
	Deadline time.Time
	Others   int
}

// Run measures one workload after the other. A workload that fails completely has only Failures; an error means that
// nothing more can be measured.
func (r *Runner) Run(ctx context.Context, all []Workload) (results []result.Result, err error) {
	for i, w := range all {
		out := result.Result{Workload: w.Name, Network: r.Setup.Name(), Tool: w.Tool, Flows: w.Flows, Bytes: w.Bytes, Condition: w.Condition}
		if err := r.measure(ctx, w, &out, r.share(len(all)-i)); err != nil {
			out.Failures = append(out.Failures, err.Error())
		}
		if ctx.Err() != nil {
			return results, context.Cause(ctx)
		}
		r.Progress.Printf("bench: %d of %d: %s: %s", i+1, len(all), out.Key(), summary(&out))
		results = append(results, out)
	}
	return results, nil
}

// share is the time for the next workload when left workloads remain.
func (r *Runner) share(left int) time.Duration {
	if r.Deadline.IsZero() {
		return math.MaxInt64
	}
	return time.Until(r.Deadline) / time.Duration(left+r.Others)
}

func (r *Runner) measure(ctx context.Context, w Workload, out *result.Result, share time.Duration) (err error) {
	begin := time.Now()
	states := r.states(w)
	defer func() {
		for _, state := range states {
			err = errors.Join(err, r.withCache(state, w.After))
		}
	}()
	var running []*cluster.Process
	defer func() {
		for _, p := range running {
			_ = p.Stop(stopGrace) // killed if it does not end; it may have ended by itself after an error
		}
	}()
	for _, state := range states {
		started, err := r.serve(ctx, w, state)
		running = append(running, started...)
		if err != nil {
			return err
		}
		// This also teaches the cache the entries that a condition copies. Entries of TCP go with their connections;
		// entries of UDP workloads stay.
		if _, err := r.once(ctx, w, state, warmUp); err != nil {
			return fmt.Errorf("%s: %w", state, err)
		}
		if err := r.withCache(state, w.Before); err != nil {
			return err
		}
	}
	for round := range r.Plan.Rounds {
		if used := time.Since(begin); round >= bed.MinRounds && used+used/time.Duration(round+1) > share {
			break
		}
		for _, state := range order(states, round) {
			o, err := r.once(ctx, w, state, r.Plan.Length)
			if err != nil {
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				out.Failures = append(out.Failures, fmt.Sprintf("round %d, %s: %v", round+1, state, err))
			}
			for _, v := range o.Values {
				out.Add(v.Metric, state, round, v.Value)
			}
		}
		if len(out.Failures) > len(states) {
			return errors.New("given up")
		}
	}
	return nil
}

// states are the states of the network in which a workload is measured.
func (r *Runner) states(w Workload) []result.State {
	return slices.DeleteFunc(slices.Clone(r.Setup.States()), func(s result.State) bool { return w.States != nil && !slices.Contains(w.States, s) })
}

// withCache does something with the caches of a state if it has some; do may be nil.
func (r *Runner) withCache(state result.State, do func(bed.Cache) error) error {
	c := r.Setup.Cache(state)
	if c == nil || do == nil {
		return nil
	}
	if err := do(c); err != nil {
		return fmt.Errorf("%s: %w", state, err)
	}
	return nil
}

// order returns the states in the order of a round: each comes first, and each before each other, equally often.
func order(states []result.State, round int) []result.State {
	out := slices.Clone(states)
	if round%2 == 1 {
		slices.Reverse(out)
	}
	first := round / 2 % len(out)
	return append(out[first:], out[:first]...)
}

// once makes one measurement with its cost.
func (r *Runner) once(ctx context.Context, w Workload, state result.State, length time.Duration) (Outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, length+slack)
	defer cancel()
	carried, err := r.carried(state)
	if err != nil {
		return Outcome{}, err
	}
	before, err := r.Setup.Cost(state)
	if err != nil {
		return Outcome{}, err
	}
	o, err := w.Measure(ctx, Target{r.Setup.Link(state), state, r.Setup.Cache(state)}, length)
	if err != nil {
		return Outcome{}, err
	}
	after, err := r.Setup.Cost(state)
	if err != nil {
		return Outcome{}, err
	}
	now, err := r.carried(state)
	if err != nil {
		return Outcome{}, err
	}
	if hits := now.hits - carried.hits; hits > 0 {
		o.add(Rewritten, "% of hits", false, 100*float64(now.rewritten-carried.rewritten)/float64(hits))
	}
	client, server := after.Client-before.Client, after.Server-before.Server
	unit, work := "us/transaction", 1e6/o.Transactions
	if o.Transactions == 0 {
		unit, work = "s/GB", 1e9/o.Bytes
	}
	if math.IsInf(work, 0) {
		return o, nil
	}
	if !o.ServerOnly {
		o.add(CPU, unit, true, (client+server).Seconds()*work)
		o.add(CPUClient, unit, true, client.Seconds()*work)
	}
	o.add(CPUServer, unit, true, server.Seconds()*work)
	return o, nil
}

// carriage counts the packets that left a Node as hits, on both Nodes, and the rewritten ones among them.
type carriage struct{ hits, rewritten uint64 }

// carried reads the carriage of state Rewrite. Of other states it is nothing.
func (r *Runner) carried(state result.State) (c carriage, err error) {
	if state != result.Rewrite {
		return c, nil
	}
	all, err := r.Setup.Cache(state).Status()
	for _, s := range all {
		c.hits, c.rewritten = c.hits+s.Egress.Hits, c.rewritten+s.Egress.RewrittenHits
	}
	return c, err
}

// AwaitRewriting repeats a workload in state Rewrite until its packets are rewritten in both directions. New maps give no keys at first.
func (r *Runner) AwaitRewriting(ctx context.Context, w Workload) error {
	ctx, cancel := context.WithTimeoutCause(ctx, rewriteTimeout, fmt.Errorf("no packet was rewritten in both directions within %v", rewriteTimeout))
	defer cancel()
	running, err := r.serve(ctx, w, result.Rewrite)
	for _, p := range running {
		defer func() { _ = p.Stop(stopGrace) }()
	}
	for err == nil {
		var all []*api.Status
		if all, err = r.Setup.Cache(result.Rewrite).Status(); err != nil {
			break
		}
		if !slices.ContainsFunc(all, func(s *api.Status) bool { return s.Egress.RewrittenHits == 0 }) {
			return nil
		}
		_, err = w.Measure(ctx, Target{r.Setup.Link(result.Rewrite), result.Rewrite, r.Setup.Cache(result.Rewrite)}, warmUp)
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return fmt.Errorf("%s: %w", result.Rewrite, err)
}

// serve starts the servers of a state and waits until they listen.
func (r *Runner) serve(ctx context.Context, w Workload, state result.State) (started []*cluster.Process, err error) {
	link := r.Setup.Link(state)
	servers, err := w.Servers(link.AtServer(), state)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", state, err)
	}
	for _, s := range servers {
		p, err := link.Server.Start(s.Args...)
		if err != nil {
			return started, err
		}
		started = append(started, p)
		if err := listening(ctx, link.Server, s, p); err != nil {
			return started, fmt.Errorf("%s: %w", state, err)
		}
	}
	return started, nil
}

// listening waits until the kernel's table of sockets has the server's port.
func listening(ctx context.Context, space bed.Space, s Server, p *cluster.Process) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		for _, table := range []string{s.Protocol, s.Protocol + "6"} {
			sockets, err := space.ReadFile("/proc/thread-self/net/" + table)
			if err != nil {
				return err
			}
			if hasPort(string(sockets), s.Port) {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%q does not listen at %s port %d: %s", strings.Join(s.Args, " "), s.Protocol, s.Port, p.Stderr())
		case <-p.Done():
			return fmt.Errorf("%q has ended: %s %s", strings.Join(s.Args, " "), p.Stdout(), p.Stderr())
		case <-tick.C:
		}
	}
}

// hasPort reports whether a table of sockets (proc(5), /proc/net/tcp and udp) has an unconnected one at a local port.
func hasPort(table string, port int) bool {
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) > 3 && strings.HasSuffix(fields[1], fmt.Sprintf(":%04X", port)) && strings.HasSuffix(fields[2], ":0000") {
			return true
		}
	}
	return false
}

// summary formats a line of progress: medians, and how the states compare.
func summary(r *result.Result) string {
	if len(r.Metrics) == 0 {
		return "FAILED: " + strings.Join(r.Failures, "; ")
	}
	m := r.Metrics[0]
	var parts []string
	for _, s := range append(slices.Clone(result.States), result.Cilium) {
		if v := m.Samples[s].Valid(); len(v) > 0 {
			parts = append(parts, fmt.Sprintf("%s %.4g", s, stats.Summarize(v).Median))
		}
	}
	text := strings.Join(parts, ", ") + " " + m.Unit
	for _, pair := range [][2]result.State{{result.On, result.Bare}, {result.On, result.Off}, {result.Rewrite, result.Bare}, {result.Rewrite, result.On}, {result.On, result.Cilium}} {
		if ratio := stats.Summarize(stats.Ratios(m.Samples[pair[0]], m.Samples[pair[1]])); ratio.N > 0 {
			text += fmt.Sprintf(", %s/%s %.3f (%.3f-%.3f)", pair[0], pair[1], ratio.Median, ratio.Low, ratio.High)
		}
	}
	if len(r.Failures) > 0 {
		text += fmt.Sprintf(", %d failures: %s", len(r.Failures), r.Failures[0])
	}
	return text
}
