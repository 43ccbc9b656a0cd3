// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package tracking

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/recovery"
)

// merged is the time that the runner waits after a segment has passed conntrack, to handle several together. A RST would be lost if it
// came within that time and more than 2 GiB after the segment, that is, at 860 Gbit/s.
const merged = 20 * time.Millisecond

// shortestLease bounds what a sysctl can do to the rate of probes and rounds.
const shortestLease = 200 * time.Millisecond

// longestPromise bounds how long the fast path continues without an agent, for connections that become idle then.
const longestPromise = 2 * time.Minute

// Config is the configuration of a runner.
type Config struct {
	Cache *datapath.Datapath
	// Lease is the configured lease. The runner shortens it where a kernel timeout is shorter than three leases.
	Lease time.Duration
	// Tables are conntrack's, one for each of the runner's goroutines.
	Tables [2]Table
	// Timeouts reads the kernel's timeouts.
	Timeouts func() (Timeouts, error)
	// ZoneIPv4 and ZoneIPv6 are the conntrack zones of the Pods' connections.
	ZoneIPv4, ZoneIPv6 uint16
}

// Runner runs a keeper for the flows of a cache.
type Runner struct {
	Config
	afterSegments, whenIdle *Keeper
	reader                  *datapath.PassedReader
	failed                  atomic.Uint64

	// lease is the present length of a lease.
	lease time.Duration
	// The last round over the idle connections: its time, and how many packets the cache had counted at that time and
	// before.
	last              time.Time
	packets, previous uint64
}

// New makes a runner. When it returns, the runner has promised to maintain conntrack's entries.
func New(config Config) (*Runner, error) {
	r := &Runner{
		Config:        config,
		afterSegments: NewKeeper(config.Tables[0], config.ZoneIPv4, config.ZoneIPv6),
		whenIdle:      NewKeeper(config.Tables[1], config.ZoneIPv4, config.ZoneIPv6),
	}
	timeouts, err := config.Timeouts()
	if err != nil {
		return nil, err
	}
	if err := r.attend(timeouts); err != nil {
		return nil, err
	}
	r.reader, err = config.Cache.NewPassedReader()
	return r, err
}

// Close ends Run.
func (r *Runner) Close() error { return r.reader.Close() }

// Stats counts entries of conntrack that were changed after a segment had passed, entries of idle connections, and
// failures.
type Stats struct{ Passed, Idle, Failed uint64 }

// Stats returns the counts since New.
func (r *Runner) Stats() Stats {
	return Stats{Passed: r.afterSegments.Changed(), Idle: r.whenIdle.Changed(), Failed: r.failed.Load()}
}

// Run works until stopCh closes.
func (r *Runner) Run(stopCh <-chan struct{}) {
	go func() {
		<-stopCh
		_ = r.Close()
	}()
	go recovery.Keep(wait.ContextForChannel(stopCh), "oncache", func(context.Context) { r.watchSegments(stopCh) })
	var complaints complaints
	for {
		begun := time.Now()
		if err := recovery.Call("oncache", recovery.Part("ONCache conntrack"), r.Round); err != nil {
			r.failed.Add(1)
			complaints.say(err, "Could not bring conntrack's entries of all idle connections up to date")
		}
		select {
		case <-stopCh:
			return
		case <-time.After(rest(r.pause(), time.Since(begun))):
		}
	}
}

// rest returns the time until the next round, after a round that took took. Reading a million entries takes a second and
// should take at most a twentieth of one CPU. Conntrack's timeouts are minutes; the promise must not end before the next
// round.
func rest(pause, took time.Duration) time.Duration {
	return min(max(pause, 20*took), longestPromise/4)
}

// pause is the minimum time between two rounds, and how long a connection must be silent to be idle.
func (r *Runner) pause() time.Duration { return r.lease / 2 }

// attend renews the promise, and keeps the lease below the kernel's timeouts.
func (r *Runner) attend(timeouts Timeouts) error {
	r.lease = max(min(r.Lease, timeouts.Shortest/3), shortestLease)
	r.Cache.SetLease(r.lease)
	return r.Cache.Attend(max(min(longestPromise, timeouts.Unacknowledged/2), 2*r.pause()))
}

// waiting are the connections to look for in a moment. Most connections with one request are over by then.
type waiting map[datapath.Connection]struct{}

func (w waiting) note(p datapath.Passed) {
	if p.Over {
		delete(w, p.Connection)
	} else {
		w[p.Connection] = struct{}{}
	}
}

// watchSegments reads the programs' reports.
func (r *Runner) watchSegments(stopCh <-chan struct{}) {
	var complaints complaints
	waiting := waiting{}
	for {
		err := r.reader.Wait(time.Time{}, waiting.note)
		if errors.Is(err, os.ErrClosed) {
			return
		}
		select {
		case <-stopCh:
			return
		case <-time.After(merged):
		}
		if err == nil {
			err = r.reader.Drain(waiting.note)
		}
		if err != nil {
			r.failed.Add(1)
			complaints.say(err, "Could not read which segments have passed conntrack")
		}
		for c := range waiting {
			if err := r.passed(c); err != nil {
				r.failed.Add(1)
				complaints.say(err, "Could not bring conntrack's entries of accelerated connections up to date")
			}
		}
		clear(waiting)
	}
}

// passed is called a moment after conntrack has seen a segment. A connection that the cache has not kept that long, or of
// which it has lost this half, has been in conntrack's sight since, or will be with the segment that brings the half back.
func (r *Runner) passed(c datapath.Connection) error {
	f, err := r.Cache.Cached(c)
	if err != nil || f == nil {
		return err
	}
	err = r.afterSegments.Passed(tupleOf(c.Source, c.Destination))
	if f.Direct {
		err = errors.Join(err, r.afterSegments.PassedHost(hostTuple(f)))
	}
	return err
}

// complaints logs at most once a minute: a fault of one segment may affect a thousand of them every second.
type complaints struct{ last time.Time }

func (c *complaints) say(err error, what string) {
	if time.Since(c.last) >= time.Minute {
		c.last = time.Now()
		klog.ErrorS(err, what)
	}
}

func tupleOf(source, destination netip.AddrPort) conntrack.Tuple {
	return conntrack.Tuple{
		Source: source.Addr(), Destination: destination.Addr(), Protocol: unix.IPPROTO_TCP,
		SourcePort: source.Port(), DestinationPort: destination.Port(),
	}
}

// Round updates the entries of all connections that have become idle since the last round; the first round updates all idle
// connections.
func (r *Runner) Round() error {
	timeouts, err := r.Timeouts()
	if err != nil {
		return err
	}
	quiet, err := r.unchanged()
	if err != nil {
		return err
	}
	if quiet {
		return r.attend(timeouts)
	}
	now := time.Now()
	from, to := r.window(now)
	var idle []datapath.Flow
	if err := r.Cache.Flows(func(f datapath.Flow) bool {
		// Conntrack sees all packets of a connection that has been learned in one direction only.
		if f.Protocol == unix.IPPROTO_TCP && f.Proved() && f.Seen.Ago >= from && f.Seen.Ago < to {
			idle = append(idle, f)
		}
		return true
	}); err != nil {
		return err
	}
	// A connection that the kernel refuses to change is tried twice, like all others. It must not end the promise to the
	// others; but when every one fails, there is nothing to promise.
	tried, errs, err := r.allIdle(idle, from, to, timeouts)
	r.last = now
	if len(errs) > 0 {
		err = errors.Join(err, fmt.Errorf("%d of %d connections: %w", len(errs), tried, errs[0]))
	}
	if len(errs) > 0 && len(errs) == tried {
		return err
	}
	return errors.Join(err, r.attend(timeouts))
}

// allIdle handles the flows that have become idle. This takes longer the more connections Pods have, so it renews the promise on the
// way, unless all flows have failed since the last renewal, or connections that become idle now could be too late for the next round.
// It returns the number of connections tried, the errors of single connections, and the error of a renewal.
func (r *Runner) allIdle(flows []datapath.Flow, from, to time.Duration, timeouts Timeouts) (tried int, failed []error, renewal error) {
	begun := time.Now()
	renewed, well := begun, false
	for i := range flows {
		second, err := r.idle(&flows[i], from, to, timeouts)
		if second {
			continue
		}
		tried++
		if err != nil {
			failed = append(failed, err)
		}
		well = well || err == nil
		if now := time.Now(); well && now.Sub(renewed) > r.pause() && now.Sub(begun) < timeouts.Unacknowledged/2 {
			renewal = r.attend(timeouts)
			renewed, well = time.Now(), false
		}
	}
	return tried, failed, renewal
}

// window returns the idle times that a round looks for; the first round looks for any. Windows overlap so that no
// connection is left out; some are found twice.
func (r *Runner) window(now time.Time) (from, to time.Duration) {
	if r.last.IsZero() {
		return r.pause(), math.MaxInt64
	}
	return r.pause(), now.Sub(r.last) + 2*r.pause()
}

// idle looks for the other direction of a flow that has become idle. second: the other direction has also become idle, and handles the
// connection.
func (r *Runner) idle(f *datapath.Flow, from, to time.Duration, timeouts Timeouts) (second bool, err error) {
	other, err := r.Cache.Opposite(f)
	if err != nil {
		return false, err
	}
	if other != nil && other.Seen.Ago < from {
		return false, nil // the connection is not idle
	}
	if other != nil && other.Seen.Ago < to && follows(f, other) {
		return true, nil
	}
	// Between two Pods of the Node, either direction may be taken for egress.
	c := &Connection{Tuple: tupleOf(f.Sent()), Egress: seen(f), Ingress: seen(other)}
	if f.Direction == datapath.DirectionIngress {
		c.Egress, c.Ingress = c.Ingress, c.Egress
	}
	err = r.whenIdle.Idle(c, timeouts)
	if f.Direct {
		c.Tuple = hostTuple(f)
		err = errors.Join(err, r.whenIdle.IdleHost(c, timeouts))
	}
	return false, err
}

// hostTuple returns the addresses with which the host forwards the Pod's packets of a flow, behind Open vSwitch.
func hostTuple(f *datapath.Flow) conntrack.Tuple {
	peer, pod := f.Received()
	return tupleOf(pod, peer)
}

// follows reports whether the other direction of a connection is the one that handles it. One that becomes idle after the round has begun does so in
// the next one.
func follows(f, other *datapath.Flow) bool {
	if f.Direction != other.Direction {
		return f.Direction == datapath.DirectionIngress
	}
	return cmp.Or(f.Source.Compare(other.Source), f.Destination.Compare(other.Destination)) > 0
}

func seen(f *datapath.Flow) *Seen {
	if f == nil {
		return nil
	}
	s := Seen(f.Seen)
	return &s
}

// unchanged reports whether the cache has seen no packet during the last two rounds. In that case nothing can have become
// idle.
func (r *Runner) unchanged() (bool, error) {
	counters, err := r.Cache.Counters()
	if err != nil {
		return false, err
	}
	packets := uint64(0)
	for _, program := range []string{"egress", "ingress"} {
		for _, reason := range []string{"hit", "hit_local", "hit_rewritten", "observed", "lease"} {
			packets += counters[program][reason]
		}
		packets += counters[program+"_init"]["learned"]
	}
	same := !r.last.IsZero() && packets == r.packets && packets == r.previous
	r.previous, r.packets = r.packets, packets
	return same, nil
}
