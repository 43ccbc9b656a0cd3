// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cost measures the CPU time of code for tests and benchmarks. Members and Factor are the sizes with which tests guard the cost
// of their packages.
package cost

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// ProcessorTime returns the CPU time that this process has used so far, including its garbage collector's.
func ProcessorTime(t testing.TB) time.Duration {
	var usage unix.Rusage
	require.NoError(t, unix.Getrusage(unix.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// Cheapest returns the least CPU time and the fewest allocated bytes of several calls, so that other load on the
// machine does not count. The garbage collector is off during the calls.
func Cheapest(t testing.TB, calls int, do func(i int)) (cpu time.Duration, allocated uint64) {
	runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	cpu, allocated = time.Hour, 1<<62
	for i := range calls {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began := ProcessorTime(t)
		do(i)
		cpu = min(cpu, ProcessorTime(t)-began)
		runtime.ReadMemStats(&after)
		allocated = min(allocated, after.TotalAlloc-before.TotalAlloc)
	}
	return cpu, allocated
}
