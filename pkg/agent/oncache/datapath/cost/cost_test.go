// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cost

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
	"github.com/antrea-oncache/antrea/test/env/sandbox"
)

var (
	costPrint  = flag.Bool("cost.print", false, "print what TestCost measured")
	costRecord = flag.Bool("cost.record", false, "make what TestCost measured the record")
	costRounds = flag.Int("cost.rounds", 1, "measure so many times as many rounds")
)

const (
	costFile = "testdata/cost.txt"
	// costTolerance is how much a ratio may be above the recorded one, in the best of costAttempts measurements.
	costTolerance = 1.15
	costAttempts  = 5
)

// The scenarios differ in where a flow's entry is when its packet comes: in the first-level cache, in the second-level
// cache, in memory. What else runs on the machine decides about the second, so it is no budget.
const (
	oneFlow   = "one flow"
	fewFlows  = "1024 flows"
	manyFlows = "1M flows"
)

var scenarios = map[string]scenario{
	oneFlow:   {flows: 1, batch: 64, warmUp: 8, rounds: 150},
	fewFlows:  {flows: 1 << 10, batch: 2048, warmUp: 1536, rounds: 15},
	manyFlows: {flows: 1 << 20, batch: 256, warmUp: 16, rounds: 30},
}

// TestCost measures what the programs cost and fails when a hit has become dearer, relative to the hash lookup in it, than
// testdata/cost.txt says. `make bench-bpf` prints the measurement.
//
// A run is timed by the kernel (BPF_PROG_TEST_RUN), one packet per system call: a hit changes the packet, so of several
// repetitions on one packet only the first would be a hit. Its time has the kernel's clock in it, and begins with caches
// and branch predictors as a packet that comes along finds them, not as a loop leaves them. What an empty program takes in
// the same way is subtracted. The yardstick is a program that does one LRU lookup of the same key and nothing else; another one
// then has the kernel make or remove the room for the outer header, which no hit can do without. Programs and yardsticks take turns, each run with a flow drawn at random; ratios are taken within a round, in which the machine is
// busy or idle for all of them alike.
//
// How much of it is the lookup's differs between processors: on another one than the record's there is nothing to compare with.
func TestCost(t *testing.T) {
	recorded, processor := readCosts(t)
	if here := thisProcessor(t); here != processor && !*costPrint && !*costRecord {
		t.Skipf("%s is of %s, this is %s", costFile, processor, here)
	}
	var best map[string]cost
	for attempt := range costAttempts {
		measured := measureCosts(t)
		if *costPrint {
			fmt.Print(costTable(measured, recorded))
		}
		if *costRecord {
			writeCosts(t, measured)
			return
		}
		if best == nil {
			best = map[string]cost{}
		}
		var dearer []string
		for _, c := range measured {
			if b, seen := best[c.name]; !seen || c.ratio < b.ratio {
				best[c.name] = c
			}
			r, known := recorded[c.name]
			if limit := r.ratio * costTolerance; c.budget && (!known || best[c.name].ratio > limit) {
				dearer = append(dearer, fmt.Sprintf("%s: %.2f lookups, at most %.2f", c.name, best[c.name].ratio, limit))
			}
		}
		if len(dearer) == 0 {
			return
		}
		t.Logf("attempt %d: %s", attempt+1, strings.Join(dearer, "; "))
		if attempt == costAttempts-1 {
			t.Errorf("dearer than %s allows, in each of %d attempts: %s\nIf that is intended, make the measurement the record with `make bench-bpf COST_ARGS=-cost.record`.",
				costFile, costAttempts, strings.Join(dearer, "; "))
		}
	}
}

// TestCostIsOfHits: what TestCost takes for hits are some, of which costsIn makes sure. TestCost itself wants a quiet machine.
func TestCostIsOfHits(t *testing.T) {
	sandbox.RequireRoot(t)
	require.Len(t, slices.DeleteFunc(costsIn(t, harness.Family{}, manyFlows), func(c cost) bool { return !c.hit }), 2)
}
