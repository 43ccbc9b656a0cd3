// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
)

// progressOf is the last output of a program.
type progressOf struct{ received, sent, late uint64 }

// program is a client whose progress is watched.
type program struct {
	process *cluster.Process

	mu    sync.Mutex
	now   progressOf
	since time.Time // of the last progress
	still time.Duration
}

// read reads the last line with progress: "received NUMBER of NUMBER, NUMBER late".
func (p *program) read(now time.Time) {
	last, ok := lastProgress(p.process.Stderr())
	p.mu.Lock()
	defer p.mu.Unlock()
	if ok && last.received > p.now.received {
		p.since = now
	}
	if ok {
		p.now = last
	}
	p.still = max(p.still, now.Sub(p.since))
}

func lastProgress(text string) (p progressOf, ok bool) {
	i := strings.LastIndex(text, "received ")
	for i >= 0 && !strings.Contains(text[i:], "\n") {
		i = strings.LastIndex(text[:i], "received ") // the last line is not complete
	}
	if i < 0 {
		return p, false
	}
	n, _ := fmt.Sscanf(text[i:], "received %d of %d, %d late", &p.received, &p.sent, &p.late)
	return p, n == 3
}

func (p *program) state() progressOf {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now
}

// stillSince returns for how long there has been no progress now.
func (p *program) stillSince(now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return now.Sub(p.since)
}

// longestStill returns the longest standstill since the last call.
func (p *program) longestStill() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	still := p.still
	p.still = 0
	return still
}

// broken is the message of a program that has ended.
func (p *program) broken() string {
	select {
	case <-p.process.Done():
		return fmt.Sprintf("exit code %d: %s", p.process.ExitCode(), lastLine(p.process.Stderr()))
	default:
		return ""
	}
}

func lastLine(text string) string {
	text = strings.TrimRight(text, "\n")
	return text[strings.LastIndex(text, "\n")+1:]
}
