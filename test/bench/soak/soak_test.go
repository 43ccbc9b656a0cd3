// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// asSoaker makes the test binary a soaker.
const asSoaker = "SOAK_TEST_SPIN"

func TestMain(m *testing.M) {
	if os.Getenv(asSoaker) != "" {
		if err := Spin(0, os.Stdin, os.Stdout); err != nil {
			panic(err)
		}
		return
	}
	os.Exit(m.Run())
}

func TestOthersAreNoInterrupts(t *testing.T) {
	t.Setenv(asSoaker, "1")
	s, err := Start(0, "/proc/self/exe")
	require.NoError(t, err)
	defer s.Stop()
	before, err := s.Read()
	require.NoError(t, err)
	after := before
	// This test takes CPU time, perhaps the soaker's; so may others.
	for after.Total-before.Total < 250*time.Millisecond {
		for begin := time.Now(); time.Since(begin) < 100*time.Millisecond; {
		}
		after, err = s.Read()
		require.NoError(t, err)
	}
	total, interrupts := after.Total-before.Total, after.Interrupts-before.Interrupts
	require.GreaterOrEqual(t, interrupts, -10*time.Millisecond)
	require.Less(t, interrupts, total*6/10, "of %v; what other threads took counts as interrupts", total)
}
