// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// gap is how long two readings of the clock may be apart when nothing comes between them. They take about 50 ns; the shortest
// interrupt takes more than a microsecond.
const gap = 500 * time.Nanosecond

// Spin spins on a CPU until in ends. For each line of in it writes a line to out: a Reading in nanoseconds.
func Spin(cpu int, in io.Reader, out io.Writer) error {
	debug.SetGCPercent(-1) // a collection would be a gap
	ready := make(chan error)
	s := &spinner{begin: time.Now()}
	go func() {
		runtime.LockOSThread()
		err := s.settle(cpu)
		ready <- err
		if err == nil {
			s.spin()
		}
	}()
	if err := <-ready; err != nil {
		return fmt.Errorf("soaker for CPU %d: %w", cpu, err)
	}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		r, err := s.read()
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(out, r.Total.Nanoseconds(), r.Interrupts.Nanoseconds(), r.Others.Nanoseconds()); err != nil {
			return err
		}
	}
	return lines.Err()
}

type spinner struct {
	thread int
	begin  time.Time
	// ranBefore is what the thread ran before begin.
	ranBefore time.Duration
	gaps      atomic.Int64 // nanoseconds
}

func (s *spinner) settle(cpu int) error {
	var only unix.CPUSet
	only.Set(cpu)
	if err := unix.SchedSetaffinity(0, &only); err != nil {
		return fmt.Errorf("pin the thread: %w", err)
	}
	if err := unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}, 0); err != nil {
		return fmt.Errorf("set the policy SCHED_IDLE: %w", err)
	}
	s.thread = unix.Gettid()
	s.begin = time.Now()
	var err error
	s.ranBefore, err = s.ran()
	return err
}

func (s *spinner) spin() {
	for last := time.Duration(0); ; {
		now := time.Since(s.begin)
		if now-last > gap {
			s.gaps.Add(int64(now - last))
		}
		last = now
	}
}

// read takes from the gaps what other threads ran: interrupts are left.
func (s *spinner) read() (r Reading, err error) {
	ran, err := s.ran()
	if err != nil {
		return r, err
	}
	r.Total = time.Since(s.begin)
	r.Others = r.Total - (ran - s.ranBefore)
	r.Interrupts = time.Duration(s.gaps.Load()) - r.Others
	return r, nil
}

// ran is the time for which the kernel has had the thread on a CPU.
func (s *spinner) ran() (time.Duration, error) {
	path := fmt.Sprintf("/proc/self/task/%d/schedstat", s.thread)
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	var ns int64
	if _, err := fmt.Sscan(string(data), &ns); err != nil {
		return 0, fmt.Errorf("%s is %q, want nanoseconds first: %w", path, data, err)
	}
	return time.Duration(ns), nil
}
