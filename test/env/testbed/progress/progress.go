// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package progress prints the steps of a long operation, one line each, with the time since the start.
package progress

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"
)

// Printer writes progress lines. It is safe for concurrent use; a nil Printer prints nothing.
type Printer struct {
	mu    sync.Mutex
	w     io.Writer
	start time.Time
	// Fields of a Printer made by Of.
	of   *Printer
	name string
}

// New returns a Printer whose clock starts now.
func New(w io.Writer) *Printer { return Continue(w, 0) }

// Continue returns a Printer for a part of an operation that has begun elapsed ago.
func Continue(w io.Writer, elapsed time.Duration) *Printer {
	return &Printer{w: w, start: time.Now().Add(-elapsed)}
}

// Of returns a Printer that puts a name before each message, for one of several parts that proceed at the same time.
func (p *Printer) Of(name string) *Printer {
	if p == nil {
		return nil
	}
	return &Printer{start: p.start, of: p, name: name}
}

// Elapsed is the time since the start.
func (p *Printer) Elapsed() time.Duration { return time.Since(p.start) }

// Printf writes one line: "[  12.3s] message".
func (p *Printer) Printf(format string, args ...any) {
	if p == nil {
		return
	}
	if p.of != nil {
		p.of.Printf("%s: %s", p.name, fmt.Sprintf(format, args...))
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.w, "[%6.1fs] %s\n", p.Elapsed().Seconds(), fmt.Sprintf(format, args...))
}

// Every prints "message (N s so far)" each interval until the returned function is called or ctx ends.
func (p *Printer) Every(ctx context.Context, interval time.Duration, message string) (stop func()) {
	ctx, stop = context.WithCancel(ctx)
	begun := time.Now()
	go func() {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				p.Printf("%s (%d s so far)", message, int(time.Since(begun).Seconds()))
			}
		}
	}()
	return stop
}
