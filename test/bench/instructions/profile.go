// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	benchbed "github.com/antrea-oncache/antrea/test/bench/bed"
	"github.com/antrea-oncache/antrea/test/bench/workload"
	"github.com/antrea-oncache/antrea/test/testbed/machine"
)

const (
	// profileDistance is the time between two samples, each of which takes some ten thousand instructions itself: no divisor of what a
	// round trip takes, nor of the kernel's ticks.
	profileDistance = 250007 * time.Nanosecond
	// profileLength is how long each row is sampled, for some ten thousand samples.
	profileLength = 3 * time.Second
)

// profileMethod is printed with the numbers.
const profileMethod = "Samples by perf (cpu-clock, with call chains) in the time that is a count of instructions, during TCP request/response with one flow " +
	"between veth devices, charged to the innermost function that belongs to a segment. The numbers are the share of a segment times the instructions of a round trip " +
	"without sampling: two packets, both Nodes, the programs included. What runs with interrupts off is charged to the place where they are switched on again."

// profile finds out where the instructions of a TCP round trip are that was counted before, if that is asked for.
func (b *bed) profile(ctx context.Context, t *table, r row, link benchbed.Link) error {
	if !b.profiled || !r.isProfiled() {
		return nil
	}
	w := tcp.workload()
	if b.breakdown == nil {
		b.breakdown = workload.NewBreakdown(w, "instructions/transaction", profileMethod)
	}
	b.progress.Printf("cost: %s, %s: where the instructions are", r, tcp)
	data := filepath.Join(os.Getenv("TESTBED_ARTIFACTS"), "perf.data")
	counts, err := workload.Sample(ctx, w, []string{"-c", strconv.Itoa(int(profileDistance))}, data, func() error {
		_, err := roundTrip(ctx, tcp, link, r.state(), profileLength)
		return err
	})
	if err != nil {
		return fmt.Errorf("profile of %s: %w", r, err)
	}
	all := 0
	for _, n := range counts {
		all += n
	}
	// A sample of the network each 200,000 instructions is far less than there must be.
	if least := int(profileLength / machine.InstructionTime / 200000); all < least {
		return fmt.Errorf("profile of %s: %d samples are of the network, of more than %d that were expected", r, all, least)
	}
	for i, n := range counts {
		b.breakdown.Segments[i].Values[r.state()] = float64(n) / float64(all) * float64(t[r][tcp])
	}
	return nil
}

// isProfiled says which rows are the three states.
func (r row) isProfiled() bool { return r == bare || r == overlay || r == oncache }
