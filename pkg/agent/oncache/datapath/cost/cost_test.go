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
	costPrint  = flag.Bool("cost.print", false, "print the measurements of TestCost")
	costRecord = flag.Bool("cost.record", false, "record the measurements of TestCost")
	costRounds = flag.Int("cost.rounds", 1, "multiply the number of rounds by this")
)

const (
	costFile = "testdata/cost.txt"
	// costTolerance limits a ratio relative to the recorded one, in the best of costAttempts measurements.
	costTolerance = 1.15
	costAttempts  = 5
)

// The scenarios differ in the place of a flow's entry when its packet arrives: in the first-level cache, in the second-level cache, in
// memory. Other load on the machine determines the second, so it has no budget.
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

// TestCost measures the cost of the programs and fails when a hit, relative to the hash lookup in it, costs more than
// testdata/cost.txt allows. `make bench-bpf` prints the measurement.
//
// The kernel times each run (BPF_PROG_TEST_RUN), one packet per system call: a hit changes the packet, so of several repetitions with
// one packet only the first would be a hit. The time includes reading the kernel's clock. Caches and branch predictors are in the
// state that a single arriving packet finds, not in a loop's. The time of an empty program, measured in the same way, is subtracted.
// The yardstick is a program that only does one LRU lookup of the same key; another yardstick also has the kernel make or remove the
// room for the outer header, as every hit must. Programs and yardsticks take turns, each run with a flow drawn at random. Ratios are
// taken within a round, so that the load on the machine is the same for all.
//
// The lookup's share differs between CPU models, so the record says nothing about other models.
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
			t.Errorf("more expensive than %s allows, in each of %d attempts: %s\nIf that is intended, record the measurement with `make bench-bpf COST_ARGS=-cost.record`.",
				costFile, costAttempts, strings.Join(dearer, "; "))
		}
	}
}

// TestCostIsOfHits: the packets that TestCost measures as hits are hits, which costsIn checks. TestCost itself needs a quiet machine.
func TestCostIsOfHits(t *testing.T) {
	sandbox.RequireRoot(t)
	require.Len(t, slices.DeleteFunc(costsIn(t, harness.Family{}, manyFlows), func(c cost) bool { return !c.hit }), 2)
}
