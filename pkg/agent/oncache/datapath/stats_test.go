// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
)

// TestMapStatsHaveAllMaps: a map that is not listed would be missing from the memory that users see.
func TestMapStatsHaveAllMaps(t *testing.T) {
	w := harness.NewWorld(t)
	spec, err := object.LoadBpf()
	require.NoError(t, err)
	var want, got []string
	for name := range spec.Maps {
		if !strings.HasPrefix(name, ".") { // the programs' constants
			want = append(want, name)
		}
	}
	stats, err := w.MapStats()
	require.NoError(t, err)
	for _, s := range stats {
		if ring := s.Name == object.BpfMapPassed || s.Name == object.BpfMapRetired; !ring || harness.Minor(t, harness.KernelRelease(t)) >= 6004 { // older kernels do not report the memory of ring buffers
			require.NotZero(t, s.Bytes, s.Name)
		}
		got = append(got, s.Name)
	}
	require.ElementsMatch(t, want, got)
}
