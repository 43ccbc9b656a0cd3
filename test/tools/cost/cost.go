// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cost measures for tests and benchmarks what code takes of the processor. Members and Factor say how large the
// guards of package tests are.
package cost

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// ProcessorTime is what this process has used so far, with its garbage collector.
func ProcessorTime(t testing.TB) time.Duration {
	var usage unix.Rusage
	require.NoError(t, unix.Getrusage(unix.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// Cheapest returns the processor time and the allocated bytes of the cheapest of several calls: what else the machine does
// meanwhile does not count, nor does the garbage collector's part.
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
