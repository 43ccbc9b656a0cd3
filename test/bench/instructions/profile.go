// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	benchbed "github.com/antrea-oncache/antrea/test/bench/bed"
	"github.com/antrea-oncache/antrea/test/bench/result"
	"github.com/antrea-oncache/antrea/test/bench/workload"
	"github.com/antrea-oncache/antrea/test/env/testbed/marker"
)

const (
	// Other activity falls into few intervals of this length: ovs-vswitchd works for some milliseconds every 100 ms,
	// and their distance is not a multiple of that; a garbage collection of an agent, or its walk through the cache,
	// takes up to half a second, and they are spread over two.
	intervals      = 15
	intervalLength = 20 * time.Millisecond
	intervalPause  = 117 * time.Millisecond
	// idleIntervals is the highest number of intervals without any message in a profile: the machine has one CPU, which loading an eBPF
	// program, or a message that is sent again, keeps from the traffic for longer than an interval.
	idleIntervals = intervals / 3
	// profileTries limits the attempts at a profile that adds up: longer activity of other programs is rare.
	profileTries = 3
	// profileTolerance is the tolerated difference between the sum of all functions and the median of the transactions
	// at the same time, which contains no timer interrupts: with the gate off 4 % was seen. The faults that it detects,
	// lost blocks and blocks counted twice, are larger.
	profileTolerance = 0.1
	profileMethod    = "Executed instructions of TCP request/response with one flow, counted by the emulator for each function of the kernel and " +
		"each eBPF program, every block of code in %d intervals of %s; of each function the median, so that what runs in fewer than half of " +
		"them is left out. Functions that many others use (memory, locks, buffers) are a segment of their own."
	// sharedSegment has the functions that many others use.
	sharedSegment = "buffers, memory, locks"
)

// profiled are the measurements that have a profile, with the name of their table of functions.
var profiled = map[row]string{bare: "bare", hosted: "hosted", overlay: "off", oncache: "on", rewrite: "rewrite", plainOn: "noencap", encryptedOff: "wireguard", encryptedOn: "wireguard-on"}

// inBreakdown are the rows whose profiles are columns of the breakdown, one for each state.
var inBreakdown = []row{bare, overlay, oncache, rewrite}

// profiler counts instructions by function.
type profiler struct {
	// blocks is the directory of the testbed profiler's counts, tables the directory of readable lists of functions.
	blocks, tables string
	read           int // how many of the files in blocks
	segments       map[result.State]map[string]float64
}

// newProfiler returns nil where the testbed has no profiler.
func newProfiler(artifacts string) (*profiler, error) {
	blocks := filepath.Join(artifacts, "blocks")
	if _, err := os.Stat(blocks); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	// eBPF programs get symbols when they are loaded.
	if err := os.WriteFile("/proc/sys/net/core/bpf_jit_kallsyms", []byte("1"), 0); err != nil {
		return nil, err
	}
	return &profiler{blocks: blocks, tables: artifacts, segments: map[result.State]map[string]float64{}}, nil
}

// profile counts the instructions of a transaction by function. It fails if each time their sum differs from the
// workload's own measurement, or too many intervals had no traffic.
func (f *profiler) profile(ctx context.Context, r row, p protocol, link benchbed.Link) (err error) {
	for range profileTries {
		if err = f.profileOnce(ctx, r, p, link); !errors.Is(err, errUnequal) && !errors.Is(err, errIdle) {
			return err
		}
	}
	return err
}

// errUnequal tells that the sum of the functions differs from the measurement.
var errUnequal = errors.New("functions and transactions differ")

func (f *profiler) profileOnce(ctx context.Context, r row, p protocol, link benchbed.Link) error {
	length := intervals*(p.intervalLength()+intervalPause) + time.Second
	var measured uint64
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	// Each of the two ends when the other end fails, instead of waiting for traffic that has ended.
	group, together := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		if measured, err = roundTrip(together, p, link, r.state(), length); err == nil {
			end(errors.New("the workload has ended"))
		}
		return err
	})
	group.Go(func() error {
		if err := waitForTraffic(together, link); err != nil {
			return err
		}
		for range intervals {
			time.Sleep(intervalPause)
			marker.Begin()
			time.Sleep(p.intervalLength())
			marker.End()
		}
		return context.Cause(together) // counts from after the end do not belong to the workload
	})
	if err := group.Wait(); err != nil {
		return err
	}
	symbols, err := kernelSymbols()
	if err != nil {
		return err
	}
	all, err := f.readIntervals(symbols, p)
	if err != nil {
		return fmt.Errorf("%s, %s: %w", r, p, err)
	}
	functions := medians(all)
	if err := writeFunctions(filepath.Join(f.tables, fmt.Sprintf("functions-%s-%s.txt", p, profiled[r])), functions); err != nil {
		return err
	}
	if p == tcp && slices.Contains(inBreakdown, r) {
		f.segments[r.state()] = bySegment(functions)
	}
	sum := 0.0
	for _, one := range functions {
		sum += one.instructions
	}
	if math.Abs(sum/float64(measured)-1) > profileTolerance {
		return fmt.Errorf("%s, %s: %w: the profile adds up to %.0f instructions, but a transaction takes %d", r, p, errUnequal, sum, measured)
	}
	return nil
}

// readIntervals reads the files of one profile, and leaves out intervals without traffic.
func (f *profiler) readIntervals(s *symbols, p protocol) (all []map[string]function, err error) {
	var idle error
	for range intervals {
		one, err := f.readInterval(s, p)
		switch {
		case errors.Is(err, errIdle):
			idle = err
		case err != nil:
			return nil, err
		default:
			all = append(all, one)
		}
	}
	if n := intervals - len(all); n > idleIntervals {
		return nil, fmt.Errorf("%d of %d intervals were idle, of which %d would pass: %w", n, intervals, idleIntervals, idle)
	}
	return all, nil
}

// readInterval reads the next file of the profiler: functions by name, per transaction.
func (f *profiler) readInterval(s *symbols, p protocol) (map[string]function, error) {
	file, err := os.Open(filepath.Join(f.blocks, strconv.Itoa(f.read)))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	f.read++
	functions, err := readBlocks(file, s)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file.Name(), err)
	}
	return perTransaction(functions, p)
}

func kernelSymbols() (*symbols, error) {
	file, err := os.Open("/proc/kallsyms")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return readSymbols(file)
}

// breakdown is the profile by segment.
func (f *profiler) breakdown() *result.Breakdown {
	b := &result.Breakdown{Workload: tcp.workload().Name, Unit: "instructions/transaction", Method: fmt.Sprintf(profileMethod, intervals, intervalLength)}
	for _, name := range append(workload.Segments(), sharedSegment) {
		values := map[result.State]float64{}
		for state, segments := range f.segments {
			values[state] = segments[name]
		}
		b.Segments = append(b.Segments, result.Segment{Name: name, Values: values})
	}
	return b
}

// waitForTraffic waits until the server receives as many packets as a workload in its steady state.
func waitForTraffic(ctx context.Context, link benchbed.Link) error {
	const interval, packets = 50 * time.Millisecond, 30
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for before := uint64(math.MaxUint64) - packets; ; {
		received, err := receivedPackets(link.Server)
		if err != nil {
			return err
		}
		if received > before+packets {
			return nil
		}
		before = received
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for more than %d packets in %s, %d packets were received until now: %w", packets, interval, received, context.Cause(ctx))
		case <-tick.C:
		}
	}
}

// receivedPackets is the counter ipInReceives (RFC 4293).
func receivedPackets(at benchbed.Space) (uint64, error) {
	const path = "/proc/thread-self/net/snmp"
	text, err := at.ReadFile(path)
	if err != nil {
		return 0, err
	}
	// Two lines: names, values.
	_, values, _ := strings.Cut(string(text), "\nIp: ")
	fields := strings.Fields(values)
	if len(fields) < 3 {
		return 0, fmt.Errorf("%s has no values of Ip: %q", path, text)
	}
	return strconv.ParseUint(fields[2], 10, 64)
}
