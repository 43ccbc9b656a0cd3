// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"time"
)

// event is one thing that happens to the cluster.
type event struct {
	number int // from 0
	kind   *kind
	// node is the Node that it happens to: 0 or 1.
	node int
	// pause is the time between the end of the event before and this one, length how long the event lasts.
	pause, length time.Duration
}

func (e event) String() string {
	text := fmt.Sprintf("%s on node-%d after %s", e.kind.name, e.node+1, e.pause.Round(time.Millisecond))
	if e.length > 0 {
		text += fmt.Sprintf(" for %s", e.length.Round(time.Millisecond))
	}
	return text
}

// plan draws events. Each depends on nothing but the seed, its number and the kinds among which it is drawn, so a shorter run is the beginning
// of a longer one.
type plan struct {
	seed  uint64
	kinds []*kind
	total int
}

// newPlan returns the plan with the kinds whose names match.
func newPlan(seed uint64, kinds []kind, only *regexp.Regexp) (plan, error) {
	p := plan{seed: seed}
	for i := range kinds {
		if only.MatchString(kinds[i].name) {
			p.kinds = append(p.kinds, &kinds[i])
			p.total += kinds[i].weight
		}
	}
	if p.total == 0 {
		return p, fmt.Errorf("no kind of event matches %q", only)
	}
	return p, nil
}

// event returns the event with a number.
func (p plan) event(number int) event {
	r := rand.New(rand.NewPCG(p.seed, uint64(number)))
	e := event{number: number}
	at := r.IntN(p.total)
	for _, k := range p.kinds {
		if at -= k.weight; at < 0 {
			e.kind = k
			break
		}
	}
	e.node = r.IntN(2)
	// Half of the pauses are short: an event while the one before is not over is worth more than one in a cluster at rest.
	within := e.kind.pause
	if r.IntN(2) == 0 {
		within /= 8
	}
	e.pause = drawn(r, 0, within)
	e.length = drawn(r, e.kind.length[0], e.kind.length[1])
	return e
}

// drawn returns a time from least to most.
func drawn(r *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(r.Int64N(int64(most-least)+1))
}
