// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package switchhealth finds out within seconds whether ovs-vswitchd runs but has hung. The OpenFlow connection needs half a minute for that,
// because what ends it must be certain: on an overloaded machine a working ovs-vswitchd has been silent for 12 seconds. A problem that is only
// shown may be wrong for a moment.
package switchhealth

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/antrea-oncache/antrea/pkg/retry"
)

const (
	// interval is the time between two questions.
	interval = 2 * time.Second
	// patience is the time for which an answer may be missing.
	patience = 10 * time.Second
)

// Caller asks ovs-vswitchd something that its main thread answers.
type Caller interface {
	Call(ctx context.Context, command string, args ...string) (output string, err error)
}

// Watch knows whether ovs-vswitchd answers. Make it with New, and run it.
type Watch struct {
	vswitchd Caller
	// tell is called with the reason when ovs-vswitchd no longer answers, and with nil when it does again.
	tell func(error)
	// interval and patience are the constants; tests shorten them.
	interval, patience time.Duration

	mu  sync.Mutex
	err error
}

// New returns a Watch that calls tell on the goroutine of Run: first with a reason, then alternately.
func New(vswitchd Caller, tell func(error)) *Watch {
	return &Watch{vswitchd: vswitchd, tell: tell, interval: interval, patience: patience}
}

// Err is why ovs-vswitchd counts as away, nil while it answers.
func (w *Watch) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Run asks until ctx ends.
func (w *Watch) Run(ctx context.Context) {
	answered := time.Now()
	for ctx.Err() == nil {
		err := w.ask(ctx)
		if ctx.Err() != nil {
			return
		}
		switch now := time.Now(); {
		case err == nil:
			answered = now
			w.set(nil)
		case now.Sub(answered) >= w.patience:
			w.set(err)
		}
		_ = retry.Sleep(ctx, w.interval)
	}
}

func (w *Watch) ask(ctx context.Context) error {
	asked, cancel := context.WithTimeout(ctx, w.patience)
	defer cancel()
	_, err := w.vswitchd.Call(asked, "version")
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("ovs-vswitchd runs, but has not answered for %s", w.patience)
	}
	return fmt.Errorf("ovs-vswitchd has not answered for %s: %w", w.patience, err)
}

func (w *Watch) set(err error) {
	w.mu.Lock()
	changed := (err == nil) != (w.err == nil)
	w.err = err
	w.mu.Unlock()
	if changed {
		w.tell(err)
	}
}
