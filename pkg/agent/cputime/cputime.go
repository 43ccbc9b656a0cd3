// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cputime measures the CPU time of work that must not take too much of it. Unlike the duration, it does not depend on how busy the
// machine is.
package cputime

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// Of calls do and returns the CPU time that it has taken, in this process and in the kernel on its behalf. Goroutines that do starts are not
// included.
func Of(do func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := now()
	do()
	return now() - before
}

// now is the CPU time of the thread.
func now() time.Duration {
	var t unix.Timespec
	// It fails only for a clock that does not exist.
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t)
	return time.Duration(t.Nano())
}
