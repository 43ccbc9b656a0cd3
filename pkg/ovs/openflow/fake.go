// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Fake is a Switch in memory, for tests of code that makes flows. It refuses what the real client refuses before it sends anything.
// Like Open vSwitch, it refuses to add a group or meter that exists, to modify one that does not, and flows that point to a missing
// one. It does not detect other errors that only a switch can detect (a missing prerequisite). All methods may be called concurrently.
type Fake struct {
	version version

	mu            sync.Mutex
	state         fakeState
	history       [][]FlowMod
	packetOuts    []PacketOut
	resumed       []FakeResume
	subscriptions []*PacketIns
	failures      []error
	connected     bool
	closed        bool
	reconnected   chan struct{}
}

var _ Switch = (*Fake)(nil)

// NewFake returns a switch without flows that is not connected yet.
func NewFake(options ...Option) *Fake {
	d := dialer{version: version13}
	for _, option := range options {
		option(&d)
	}
	return &Fake{version: d.version, state: newFakeState(), reconnected: make(chan struct{}, 1)}
}

// Connect implements Switch.
func (f *Fake) Connect(ctx context.Context) (<-chan struct{}, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f.connected = true
	return f.reconnected, nil
}

// Commit implements Switch.
func (f *Fake) Commit(ctx context.Context, mods []FlowMod) error {
	return f.Apply(ctx, Transaction{Flows: mods})
}

// Apply implements Switch.
func (f *Fake) Apply(ctx context.Context, t Transaction) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.usable(ctx); err != nil {
		return err
	}
	if len(t.Meters)+len(t.Groups)+len(t.Flows) == 0 {
		return nil
	}
	if len(f.failures) > 0 {
		err := f.failures[0]
		f.failures = f.failures[1:]
		return err
	}
	state, err := f.state.apply(&t, f.version)
	f.state = state
	if err != nil {
		return err
	}
	f.history = append(f.history, slices.Clone(t.Flows))
	return nil
}

// Barrier implements Switch.
func (f *Fake) Barrier(ctx context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.usable(ctx)
}

// TableFlowCounts implements Switch.
func (f *Fake) TableFlowCounts(ctx context.Context) (map[uint8]int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.usable(ctx); err != nil {
		return nil, err
	}
	counts := map[uint8]int{}
	for _, flow := range f.state.flows {
		counts[flow.Table]++
	}
	return counts, nil
}

// IsConnected implements Switch.
func (f *Fake) IsConnected() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.connected
}

// ConnectionError implements Switch.
func (f *Fake) ConnectionError() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.usable(context.Background())
}

// Close implements Switch.
func (f *Fake) Close() error {
	f.mu.Lock()
	f.connected, f.closed = false, true
	subscriptions := f.subscriptions
	f.subscriptions = nil
	f.mu.Unlock()
	for _, p := range subscriptions {
		p.Close()
	}
	return nil
}

// Disconnect makes every call fail with ErrDisconnected until Reconnect.
func (f *Fake) Disconnect() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.connected = false
}

// Reconnect connects again and signals it on Connect's channel. loseFlows simulates a restart of the switch, which also
// loses groups and meters.
func (f *Fake) Reconnect(loseFlows bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if loseFlows {
		f.state = newFakeState()
	}
	f.connected = true
	select {
	case f.reconnected <- struct{}{}:
	default:
	}
}

// FailNext makes the next Commit or Apply return err and change nothing. Several calls queue.
func (f *Fake) FailNext(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failures = append(f.failures, err)
}

// Flows returns the flows of the switch sorted by Key.
func (f *Fake) Flows() []Flow {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.SortedFunc(maps.Values(f.state.flows), func(a, b Flow) int { return strings.Compare(a.Key(), b.Key()) })
}

// Flow returns the flow with the given Key.
func (f *Fake) Flow(key string) (Flow, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	flow, ok := f.state.flows[key]
	return flow, ok
}

// History returns the changes of flows of every Commit and Apply that succeeded, in order; its length is their number.
func (f *Fake) History() [][]FlowMod {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.history)
}

// ClearHistory forgets what History would return.
func (f *Fake) ClearHistory() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.history = nil
}

// usable returns why the switch cannot answer requests now; the caller holds mu.
func (f *Fake) usable(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if f.closed || !f.connected {
		return fmt.Errorf("fake switch: %w", ErrDisconnected)
	}
	return nil
}
