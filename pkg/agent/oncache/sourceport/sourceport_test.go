// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package sourceport

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRanges(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("making a network namespace needs root")
	}
	last, err := probe()
	require.NoError(t, err)
	for range 3 {
		again, err := probe()
		require.NoError(t, err)
		require.Equal(t, last, again, "the kernel has not changed")
	}
	geneve, err := Geneve()
	require.NoError(t, err)
	vxlan, err := VXLAN()
	require.NoError(t, err)
	require.Equal(t, uint16(1), geneve.First)
	if last {
		require.Equal(t, uint16(65535), geneve.Count, "1 to 65535")
	} else {
		require.Equal(t, uint16(65534), geneve.Count, "1 to 65534")
	}
	require.NotZero(t, vxlan.First)
	require.NotZero(t, vxlan.Count)
}
