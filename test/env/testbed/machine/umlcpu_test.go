// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Machines are spread over the processors, and a place is free again when its machine has ended.
func TestReserveCPU(t *testing.T) {
	var usable unix.CPUSet
	require.NoError(t, unix.SchedGetaffinity(0, &usable))
	machines := map[int]int{}
	var all []*reservation
	for range 2 * usable.Count() {
		r, err := reserveCPU()
		require.NoError(t, err)
		if r == nil {
			t.Skip("other machines have taken places")
		}
		defer r.Close()
		all = append(all, r)
		machines[r.cpu]++
	}
	if len(machines) == usable.Count() { // Otherwise machines of others are there.
		for cpu, n := range machines {
			require.Equal(t, 2, n, "processor %d", cpu)
		}
	}
	last := all[len(all)-1]
	last.Close()
	again, err := reserveCPU()
	require.NoError(t, err)
	defer again.Close()
	require.Equal(t, last.cpu, again.cpu)
}
