// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// RequireVerified fails with the verifier's whole log when a program was refused.
func RequireVerified(t testing.TB, err error) {
	t.Helper()
	var refused *ebpf.VerifierError
	if errors.As(err, &refused) {
		t.Fatalf("%+v", refused)
	}
	require.NoError(t, err)
}

// KernelRelease returns the release of the running kernel.
func KernelRelease(t testing.TB) string {
	var name unix.Utsname
	require.NoError(t, unix.Uname(&name))
	return unix.ByteSliceToString(name.Release[:])
}

// Series returns the first two numbers of a kernel release.
func Series(kernel string) string { return strings.Join(strings.SplitN(kernel, ".", 3)[:2], ".") }

// Minor orders kernel releases, as one number.
func Minor(t testing.TB, kernel string) int {
	var x, y int
	_, err := fmt.Sscanf(Series(kernel), "%d.%d", &x, &y)
	require.NoError(t, err, "kernel release %q", kernel)
	return x*1000 + y
}

// JiffyLength is the time between two ticks of the kernel.
func JiffyLength(t testing.TB) time.Duration {
	t.Helper()
	var tick unix.Timespec
	require.NoError(t, unix.ClockGetres(unix.CLOCK_MONOTONIC_COARSE, &tick))
	return time.Duration(tick.Nano())
}
