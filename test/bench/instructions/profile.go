// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	benchbed "github.com/antrea-oncache/antrea/test/bench/bed"
	"github.com/antrea-oncache/antrea/test/bench/result"
	"github.com/antrea-oncache/antrea/test/testbed/marker"
)

// profiler counts instructions by function.
type profiler struct {
	// blocks is the directory in which the testbed's profiler writes what it has counted, functions that for the tables.
	blocks, functions string
	intervals         int
}

const (
	// profileLength is how long is counted.
	profileLength = 300 * time.Millisecond
)

func (f *profiler) count(ctx context.Context, name string, p protocol, link benchbed.Link, state result.State, length time.Duration) error {
	done := make(chan error, 1)
	go func() {
		_, err := roundTrip(ctx, p, link, state, 1100*time.Millisecond)
		done <- err
	}()
	if err := f.waitForTraffic(ctx, link); err != nil {
		return err
	}
	marker.Begin()
	time.Sleep(profileLength)
	marker.End()
	if err := <-done; err != nil {
		return err
	}
	in, err := os.Open(filepath.Join(f.blocks, strconv.Itoa(f.intervals)))
	if err != nil {
		return err
	}
	defer in.Close()
	f.intervals++
	list, err := os.Open("/proc/kallsyms")
	if err != nil {
		return err
	}
	defer list.Close()
	s, err := readSymbols(list)
	if err != nil {
		return err
	}
	functions, err := readBlocks(in, s)
	if err != nil {
		return err
	}
	out, err := os.Create(filepath.Join(f.functions, name))
	if err != nil {
		return err
	}
	defer out.Close()
	var total, round uint64
	for _, fn := range functions {
		total += fn.instructions
		if fn.name == "__sys_sendto" {
			round += fn.calls
		}
	}
	fmt.Fprintf(out, "total %d\n", total)
	for _, fn := range functions {
		fmt.Fprintf(out, "%10.1f %8.3f %s\n", 2*float64(fn.instructions)/float64(round), 2*float64(fn.calls)/float64(round), fn.name)
	}
	return nil
}

// waitForTraffic waits until the server receives as many packets as a workload in its steady state.
func (f *profiler) waitForTraffic(ctx context.Context, link benchbed.Link) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for before := uint64(1 << 62); ; {
		text, err := link.Server.ReadFile("/proc/thread-self/net/snmp")
		if err != nil {
			return err
		}
		_, values, _ := strings.Cut(string(text), "\nIp: ")
		fields := strings.Fields(values)
		if len(fields) < 3 {
			return fmt.Errorf("/proc/net/snmp says %q", text)
		}
		received, err := strconv.ParseUint(fields[2], 10, 64)
		if err != nil {
			return err
		}
		if received > before+100 {
			return nil
		}
		before = received
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
