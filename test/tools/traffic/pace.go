// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/pflag"
)

// pacing is the rate at which a client starts its requests one after the other, and the interval of its progress.
type pacing struct {
	// rate is per second, 0 for as fast as possible. Nothing makes up for what was late.
	rate     float64
	progress time.Duration

	due, reported time.Time
}

// add adds flags. things are the client's requests.
func (p *pacing) add(f *pflag.FlagSet, things string) {
	f.Float64Var(&p.rate, "rate", 0, things+" per second; 0 for as many as possible")
	f.DurationVar(&p.progress, "progress", 0, "how often to write \"received NUMBER of NUMBER, NUMBER late\" to stderr: the numbers of "+things+" that have succeeded and ended; late are the failed ones, of a connection that lasts its lost segments")
}

func (p *pacing) begin(now time.Time) { p.due, p.reported = now, now }

// wait waits until the next one is due. It returns false when ctx ends.
func (p *pacing) wait(ctx context.Context) bool {
	if p.rate <= 0 {
		return ctx.Err() == nil
	}
	ok := waitUntil(ctx, p.due)
	p.due = time.Now().Add(time.Duration(float64(time.Second) / p.rate))
	return ok
}

// isDue reports whether it is time to write the progress.
func (p *pacing) isDue() bool {
	now := time.Now()
	if p.progress <= 0 || now.Sub(p.reported) < p.progress {
		return false
	}
	p.reported = now
	return true
}

func writeProgress(status io.Writer, succeeded, ended, late int) {
	fmt.Fprintf(status, "received %d of %d, %d late\n", succeeded, ended, late)
}

// waitUntil returns at a time, or false when ctx ends before.
func waitUntil(ctx context.Context, at time.Time) bool {
	wait := time.Until(at)
	if wait <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
