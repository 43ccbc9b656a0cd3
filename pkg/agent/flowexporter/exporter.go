// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package flowexporter sends flow records of the connections of local Pods to a collector. exporter.go reads what was counted and
// sends the records that are due, cache.go reads the cache, describe.go finds the names of what a connection concerns, collector.go finds
// the collector, waiting.go keeps reports until the next reading, metrics.go counts,
// denied.go receives packets that policies deny. Package flows decides about the records, package ipfix sends them.
package flowexporter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
	"github.com/antrea-oncache/antrea/pkg/agent/cputime"
	"github.com/antrea-oncache/antrea/pkg/agent/flowexporter/flows"
	"github.com/antrea-oncache/antrea/pkg/agent/statefile"
	"github.com/antrea-oncache/antrea/pkg/retry"
)

// DefaultStateFile is lost when the Node restarts, as are the counters that it is about.
const DefaultStateFile = "/var/run/antrea/flowrecords"

const (
	bootFile = "/proc/sys/kernel/random/boot_id"
	// readShare bounds the CPU time of readings: after a reading comes a pause of at least readShare times what it has taken.
	readShare = 20
	// dialTimeout limits the time for connecting to the collector, sendTimeout the time for sending the records that
	// are due.
	dialTimeout, sendTimeout = 10 * time.Second, 30 * time.Second
	// senderPatience limits the time for which an agent that stops waits for the sender before it stores its state.
	senderPatience = 500 * time.Millisecond
)

var sendBackoff = retry.Backoff{Min: time.Second, Max: time.Minute}

// Session is a connection to a collector; ipfix.Session implements it.
type Session interface {
	Send(records []*flows.Record) (sent int, err error)
	Close()
}

// Exporter exports flow records until it is stopped. Another one that continues with StateFile repeats none and leaves none out.
type Exporter struct {
	Poll      time.Duration
	Timeouts  flows.Timeouts
	StateFile string
	// Begun is the start of this agent: an earlier one has not reported connections that began later.
	Begun time.Time
	// BegunUptime is Begun as the cache dates its entries: datapath.Uptime.
	BegunUptime uint64
	// Connections lists the connections of conntrack, Ends reports the connections that it removes.
	Connections func(yield func(*conntrack.Connection) bool) error
	Ends        func() (*conntrack.Ends, error)
	// Cache is nil without ONCache.
	Cache Cache
	// Describer returns what describes the connections of one reading.
	Describer func() flows.Describe
	// Denied is the source of packets that policies deny; nil without records of these. Rule returns the policy of a rule by flow id.
	Denied *Denied
	Rule   func(flowID uint32) flows.Policy
	// Dial connects to the collector, and returns when ctx has ended, whatever the collector does.
	Dial func(ctx context.Context) (Session, error)

	// reconnections counts sessions after the first one.
	reconnections atomic.Uint64

	mu      sync.Mutex // protects what follows
	ledger  *flows.Ledger
	denials *flows.Denials
	ended   waiting[*conntrack.Connection]
	retired waiting[flows.Entry]
}

// Run exports until ctx ends.
func (e *Exporter) Run(ctx context.Context) {
	e.restore()
	var parts sync.WaitGroup
	parts.Go(func() { e.watchEnds(ctx) })
	if e.Denied != nil {
		parts.Go(func() { e.watchDenied(ctx) })
	}
	due, sent := make(chan struct{}, 1), make(chan struct{})
	go func() {
		defer close(sent)
		e.send(ctx, due)
	}()
	if e.cacheStarted(ctx) {
		// After the first look at the entries. Otherwise those that are gone in between would not be told from new ones.
		watchCache := sync.OnceFunc(func() {
			drained := make(chan struct{})
			parts.Go(func() { e.watchCache(ctx, sync.OnceFunc(func() { close(drained) })) })
			<-drained
		})
		e.readings(ctx, watchCache, due)
	}
	parts.Wait()
	inTime := e.awaitSender(sent)
	// These are the last reports: they are not repeated.
	if err := e.read(func() {}); err != nil {
		klog.ErrorS(err, "Flow records may lack what connections have carried that have just ended")
	}
	e.save()
	if !inTime {
		<-sent
		e.save() // includes the records sent since
	}
}

// awaitSender waits until the sender has ended, but not for long: a collector must not keep the state from being stored.
func (e *Exporter) awaitSender(sent <-chan struct{}) bool {
	timer := time.NewTimer(senderPatience)
	defer timer.Stop()
	select {
	case <-sent:
		return true
	case <-timer.C:
		return false
	}
}

// cacheStarted waits until entries of the cache can be read: those that cannot are not gone. It returns false if ctx ends before.
func (e *Exporter) cacheStarted(ctx context.Context) bool {
	if e.Cache == nil {
		return true
	}
	select {
	case <-e.Cache.Started():
		return true
	case <-ctx.Done():
		return false
	}
}

// readings makes readings until ctx ends.
func (e *Exporter) readings(ctx context.Context, watchCache func(), due chan<- struct{}) {
	task := retry.NewTask("Reading what connections have carried", e.Poll, retry.Backoff{Min: e.Poll, Max: time.Minute})
	for {
		var err error
		spent := cputime.Of(func() { err = e.read(watchCache) })
		wait := task.Done(err)
		select {
		case due <- struct{}{}:
		default: // the sender has not noticed the last one yet
		}
		if retry.Sleep(ctx, max(wait, readShare*spent)) != nil {
			return
		}
	}
}

// read makes a reading, and calls watchCache when it knows the cache's entries. If it fails, nothing is lost but what waiting has no room for.
func (e *Exporter) read(watchCache func()) error {
	r := flows.Reading{}
	if e.Cache != nil {
		var err error
		if r.Entries, err = e.Cache.Entries(); err != nil {
			return err
		}
		watchCache()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	err := e.Connections(func(c *conntrack.Connection) bool {
		r.Connections = append(r.Connections, c)
		return true
	})
	if err != nil {
		return err
	}
	var lostRetired, lostEnded int
	r.At = time.Now()
	r.Retired, lostRetired = e.retired.take()
	r.Ended, lostEnded = e.ended.take()
	if lostRetired+lostEnded > 0 {
		klog.InfoS("Flow records lack what passed at the end of some connections: there was no reading for too long",
			"entriesOfTheCache", lostRetired, "connections", lostEnded, "kept", maxWaiting)
	}
	before := e.ledger.Lost()
	e.ledger.Read(r, e.Describer())
	if lost := e.ledger.Lost(); lost.Records > before.Records {
		klog.InfoS("The collector does not take flow records of ended connections: the oldest are lost", "lost", lost.Records-before.Records)
	}
	return nil
}

// watchEnds collects reports of ended connections. Without them, an end is noticed by readings.
func (e *Exporter) watchEnds(ctx context.Context) {
	ends, err := e.Ends()
	if err != nil {
		klog.ErrorS(err, "Packets that pass between the last reading of a connection and its end will not be in flow records")
		return
	}
	stop := context.AfterFunc(ctx, func() { _ = ends.Close() })
	defer stop()
	for ctx.Err() == nil {
		err := ends.Next(func(c *conntrack.Connection) {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.ended.add(c)
		})
		if err != nil && !errors.Is(err, os.ErrClosed) {
			klog.ErrorS(err, "Flow records of connections that have ended may be incomplete")
		}
		if err != nil && !errors.Is(err, conntrack.ErrEndsLost) {
			return
		}
	}
}

// watchCache collects what entries of the cache have counted that are gone. It calls drained when it has those that are gone already.
func (e *Exporter) watchCache(ctx context.Context, drained func()) {
	defer drained()
	err := e.Cache.WatchRetired(ctx, drained, func(entry flows.Entry) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.retired.add(entry)
	})
	if err != nil {
		klog.ErrorS(err, "Flow records lack what the fast path carries between the last reading of an entry and its end")
	}
}

// send sends the records that are due after each reading.
func (e *Exporter) send(ctx context.Context, due <-chan struct{}) {
	var session Session
	defer func() {
		if session != nil {
			session.Close()
		}
	}()
	connected := false
	task := retry.NewTask("The export of flow records", 0, sendBackoff)
	for wait := time.Duration(0); retry.Sleep(ctx, wait) == nil; {
		select {
		case <-ctx.Done():
			return
		case <-due:
		}
		var err error
		if session == nil {
			if session, err = e.dial(ctx); err == nil {
				if connected {
					e.reconnections.Add(1)
				}
				connected = true
			}
		}
		if err == nil {
			err = e.sendDue(ctx, session)
		}
		if err != nil && session != nil {
			session.Close()
			session = nil
		}
		if ctx.Err() != nil {
			return
		}
		wait = task.Done(err)
	}
}

func (e *Exporter) dial(ctx context.Context) (Session, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	return e.Dial(ctx)
}

func (e *Exporter) sendDue(ctx context.Context, session Session) error {
	now := time.Now()
	e.mu.Lock()
	records := e.ledger.Due(now)
	allowed := len(records)
	records = append(records, e.deniedRecords(now)...)
	e.mu.Unlock()
	// A collector that does not read must not keep the agent from stopping.
	limited, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	stop := context.AfterFunc(limited, session.Close)
	defer stop()
	sent, err := session.Send(records)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ledger.Sent(records[:min(sent, allowed)], now)
	e.denials.Sent(records[min(sent, allowed):sent], now)
	return err
}

// Flows returns the connections as they were at the last reading.
func (e *Exporter) Flows() []*flows.Record {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ledger == nil {
		return nil
	}
	return e.ledger.Flows()
}

// restore continues with the state that an earlier agent has left. The file is used once: an agent that is killed
// leaves none, and then it is unknown which records it has sent.
func (e *Exporter) restore() {
	ledger := flows.New(e.Timeouts, e.Begun)
	if err := e.load(ledger); err != nil && !errors.Is(err, os.ErrNotExist) {
		klog.ErrorS(err, "Flow records do not tell what passed since the last one of the earlier agent")
	}
	ledger.IgnoreFormer(e.BegunUptime)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ledger, e.denials = ledger, flows.NewDenials(e.Timeouts)
}

func (e *Exporter) load(ledger *flows.Ledger) error {
	file, err := os.Open(e.StateFile)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := os.Remove(e.StateFile); err != nil {
		return err
	}
	boot, err := bootID()
	if err != nil {
		return err
	}
	return ledger.Load(file, boot)
}

func (e *Exporter) save() {
	if err := e.store(); err != nil {
		klog.ErrorS(err, "The next agent will not know what flow records were sent")
	}
}

func (e *Exporter) store() error {
	boot, err := bootID()
	if err != nil {
		return err
	}
	var text bytes.Buffer
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.ledger.Save(&text, boot); err != nil {
		return err
	}
	return statefile.Replace(e.StateFile, text.Bytes())
}

func bootID() (string, error) {
	text, err := os.ReadFile(bootFile)
	if err != nil {
		return "", fmt.Errorf("read which run of the kernel this is: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}
