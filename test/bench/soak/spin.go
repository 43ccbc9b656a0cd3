// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// gap is the maximum distance of two readings of the clock with nothing in between. They take about 50 ns; the shortest
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
	// ranBefore is the time of the thread before begin.
	ranBefore time.Duration
	// gaps, and last (the last reading of the clock since begin), are in nanoseconds.
	gaps, last atomic.Int64
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
		s.last.Store(int64(now))
	}
}

// consistent limits the time for reading all values: if it takes longer, the spinner may have lost the CPU in between.
const consistent = 50 * time.Microsecond

// read subtracts from the gaps the time of other threads, which leaves interrupts. All values are as of the spinner's last
// reading of the clock, which is long ago if other threads have the CPU.
func (s *spinner) read() (r Reading, err error) {
	for range 100000 {
		last, gaps := s.last.Load(), s.gaps.Load()
		ran, err := s.ran()
		if err != nil {
			return r, err
		}
		if s.last.Load()-last > int64(consistent) || s.gaps.Load() != gaps {
			continue
		}
		r.Total = time.Duration(last)
		r.Others = r.Total - (ran - s.ranBefore)
		r.Interrupts = time.Duration(gaps) - r.Others
		return r, nil
	}
	return r, errors.New("the CPU is interrupted too often for a consistent reading")
}

// ran returns how long the kernel has had the thread on a CPU, from its CPU clock (MAKE_THREAD_CPUCLOCK in
// include/linux/posix-timers.h).
func (s *spinner) ran() (time.Duration, error) {
	const perThread, sched = 4, 2
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^s.thread<<3|perThread|sched), &ts); err != nil {
		return 0, fmt.Errorf("read the CPU clock of thread %d: %w", s.thread, err)
	}
	return time.Duration(ts.Nano()), nil
}
