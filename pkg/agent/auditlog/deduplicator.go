// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package auditlog

import (
	"fmt"
	"time"
)

const (
	// buffering is the time for which a line waits for equal lines.
	buffering = time.Second
	// maxBuffered limits the number of lines that wait. Only a flood reaches it.
	maxBuffered = 4096
)

// deduplicator makes one line of equal ones that come within an interval. It does no I/O, and has no clock.
type deduplicator struct {
	interval time.Duration
	// counts has the lines that wait, and how often each has come. order has them by the time of the first.
	counts map[string]int
	order  []waiting
}

type waiting struct {
	line  string
	since time.Time
}

func newDeduplicator(interval time.Duration) *deduplicator {
	return &deduplicator{interval: interval, counts: map[string]int{}}
}

// has reports whether an equal line waits.
func (d *deduplicator) has(line string) bool { return d.counts[line] > 0 }

// add takes a line that comes now. It returns false if there is no room for it: it has to be written at once.
func (d *deduplicator) add(line string, now time.Time) bool {
	if d.counts[line] == 0 {
		if len(d.order) == maxBuffered {
			return false
		}
		d.order = append(d.order, waiting{line, now})
	}
	d.counts[line]++
	return true
}

// take returns the lines that have waited long enough, and no longer has them.
func (d *deduplicator) take(now time.Time) []string {
	var lines []string
	for len(d.order) > 0 && now.Sub(d.order[0].since) >= d.interval {
		lines = append(lines, d.first(now))
	}
	return lines
}

// takeAll returns all lines, and no longer has them.
func (d *deduplicator) takeAll(now time.Time) []string {
	var lines []string
	for len(d.order) > 0 {
		lines = append(lines, d.first(now))
	}
	return lines
}

func (d *deduplicator) first(now time.Time) string {
	w := d.order[0]
	d.order = d.order[1:]
	count := d.counts[w.line]
	delete(d.counts, w.line)
	if count == 1 {
		return w.line
	}
	return fmt.Sprintf("%s [%d packets in %v]", w.line, count, now.Sub(w.since))
}

// wait returns how long it is until take returns a line; ok is false if none waits.
func (d *deduplicator) wait(now time.Time) (wait time.Duration, ok bool) {
	if len(d.order) == 0 {
		return 0, false
	}
	return max(d.interval-now.Sub(d.order[0].since), 0), true
}
