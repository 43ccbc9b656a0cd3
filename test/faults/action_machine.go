// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// stepClock sets the clock of all Nodes forward or back by an hour, and then right again.
func stepClock(ctx context.Context, _ *world, e event) error {
	step := time.Hour
	if e.node == 1 {
		step = -step
	}
	err := addToClock(step)
	if err != nil {
		return err
	}
	return errors.Join(last(ctx, e.length), addToClock(-step))
}

func addToClock(step time.Duration) error {
	var now unix.Timeval
	if err := unix.Gettimeofday(&now); err != nil {
		return err
	}
	now.Sec += int64(step / time.Second)
	if err := unix.Settimeofday(&now); err != nil {
		return fmt.Errorf("setting the clock: %w", err)
	}
	return nil
}

const conntrackMax = "/proc/sys/net/netfilter/nf_conntrack_max"

// fillConntrack fills the connection tracking of a Node. The limit belongs to the machine, and is compared with the
// connections of each network namespace.
func fillConntrack(ctx context.Context, w *world, e event) error {
	limit, err := os.ReadFile(conntrackMax)
	if err != nil {
		return err
	}
	text, err := w.Nodes[e.node].ReadFile("/proc/sys/net/netfilter/nf_conntrack_count")
	if err != nil {
		return err
	}
	count, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return err
	}
	if err := os.WriteFile(conntrackMax, []byte(strconv.Itoa(max(count, 1))), 0o644); err != nil {
		return err
	}
	return errors.Join(last(ctx, e.length), os.WriteFile(conntrackMax, limit, 0o644))
}

// spared is the memory that fillMemory leaves: packets need some at once, and the kernel ends programs without any.
const spared = 128 << 20

// fillMemory takes the machine's memory, also what files occupy in its cache, and gives it back.
func fillMemory(ctx context.Context, _ *world, e event) error {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return err
	}
	available, err := availableMemory(string(text))
	if err != nil {
		return err
	}
	if available <= spared {
		return fmt.Errorf("%d bytes of memory are available, must be more than %d", available, spared)
	}
	taken, err := unix.Mmap(-1, 0, available-spared, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return fmt.Errorf("taking %d bytes of memory: %w", available-spared, err)
	}
	return errors.Join(populate(taken), last(ctx, e.length), unix.Munmap(taken))
}

// populated is the number of bytes that are taken at once.
const populated = 16 << 20

// populate makes memory exist. A call keeps the only CPU of user-mode Linux until it returns, for minutes where the host has to find several
// gigabytes: in steps, others run in between.
func populate(memory []byte) error {
	for part := range slices.Chunk(memory, populated) {
		if err := unix.Madvise(part, unix.MADV_POPULATE_WRITE); err != nil {
			return fmt.Errorf("taking %d bytes of memory: %w", len(part), err)
		}
	}
	return nil
}

// availableMemory returns the bytes of the line MemAvailable of /proc/meminfo.
func availableMemory(meminfo string) (int, error) {
	_, rest, _ := strings.Cut(meminfo, "MemAvailable:")
	number, _, _ := strings.Cut(strings.TrimSpace(rest), " kB")
	kilobytes, err := strconv.Atoi(number)
	if err != nil {
		return 0, fmt.Errorf("/proc/meminfo has no line MemAvailable: %q", meminfo)
	}
	return kilobytes << 10, nil
}
