// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/antrea-oncache/antrea/test/bench/bed"
	"github.com/antrea-oncache/antrea/test/bench/result"
	"github.com/antrea-oncache/antrea/test/env/testbed/progress"
)

const (
	// profileRate is the samples per second and CPU. It does not divide the timers of the measured programs.
	profileRate = 2999
	// profileLength is the time for which each state is sampled.
	profileLength = 3 * time.Second
)

// profileMethod is printed with the numbers.
const profileMethod = "Samples of all CPUs by perf (cpu-clock, with call chains) during TCP request/response with one flow, charged to the innermost " +
	"function that belongs to a segment, times their distance, divided by the transactions: microseconds of CPU time per transaction, both Nodes. " +
	"Sampling slows everything down, and what runs with interrupts off is charged to the place where they are switched on again."

// Profile measures where a TCP round trip spends its CPU time.
func Profile(ctx context.Context, setup bed.Setup, m Machine, p *progress.Printer) (*result.Breakdown, error) {
	w := requestResponse("tcp", 1)
	r := Runner{Setup: setup, Progress: p}
	b := &result.Breakdown{Workload: w.Name, Unit: "us/transaction", Method: profileMethod}
	for _, s := range segments {
		b.Segments = append(b.Segments, result.Segment{Name: s.name, Values: map[result.State]float64{}})
	}
	for _, state := range setup.States() {
		p.Printf("bench: profile of state %s", state)
		counts, transactions, err := r.profile(ctx, w, state, filepath.Join(m.Dir, "perf.data"))
		if err != nil {
			return nil, fmt.Errorf("profile of state %s: %w", state, err)
		}
		for i, n := range counts {
			b.Segments[i].Values[state] = float64(n) / profileRate * 1e6 / transactions
		}
	}
	return b, nil
}

// profile counts samples by segment.
func (r *Runner) profile(ctx context.Context, w Workload, state result.State, data string) (counts []int, transactions float64, err error) {
	if err := os.MkdirAll(filepath.Dir(data), 0o755); err != nil {
		return nil, 0, err
	}
	running, err := r.serve(ctx, w, state)
	for _, p := range running {
		defer func() { _ = p.Stop(stopGrace) }()
	}
	if err != nil {
		return nil, 0, err
	}
	recorder := exec.CommandContext(ctx, "perf", "record", "-q", "-a", "-g", "-e", "cpu-clock", "-F", strconv.Itoa(profileRate), "-o", data,
		"--", "sleep", strconv.Itoa(wholeSeconds(2*profileLength)))
	if err := recorder.Start(); err != nil {
		return nil, 0, err
	}
	// The recorder's sleep is longer than the measurement and is interrupted.
	o, err := w.Measure(ctx, Target{r.Setup.Link(state), state, r.Setup.Cache(state)}, profileLength)
	_ = recorder.Process.Signal(os.Interrupt)
	_ = recorder.Wait() // it reports that it was interrupted
	if err != nil {
		return nil, 0, err
	}
	script := exec.CommandContext(ctx, "perf", "script", "-i", data, "-F", "comm,ip,sym")
	out, err := script.StdoutPipe()
	if err != nil {
		return nil, 0, err
	}
	if err := script.Start(); err != nil {
		return nil, 0, err
	}
	counts, err = countSegments(out, w.Tool)
	if waitErr := script.Wait(); err == nil && waitErr != nil {
		err = fmt.Errorf("perf script: %w", waitErr)
	}
	return counts, o.Transactions, err
}

// countSegments reads the output of perf script: a line with the program's name, then its call chain, innermost first, then
// an empty line. Samples of other programs count only if they were interrupted for the network.
func countSegments(script io.Reader, program string) ([]int, error) {
	counts := make([]int, len(segments))
	lines := bufio.NewScanner(script)
	lines.Buffer(nil, 1<<20)
	var comm string
	var chain []string
	flush := func() {
		if i, ok := segmentOf(comm == program, chain); ok {
			counts[i]++
		}
		comm, chain = "", nil
	}
	for lines.Scan() {
		text := lines.Text()
		fields := strings.Fields(text)
		switch {
		case len(fields) == 0:
			flush()
		case text[0] != ' ' && text[0] != '\t':
			comm = strings.TrimSuffix(fields[0], ":")
		case len(fields) > 1:
			chain = append(chain, fields[1])
		}
	}
	flush()
	return counts, lines.Err()
}
