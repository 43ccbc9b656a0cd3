// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/stats"
	"github.com/antrea-oncache/antrea/test/bench/result"
)

// TestGainOfReadme: the percentages below the picture of README.md follow from the committed results.
func TestGainOfReadme(t *testing.T) {
	runs, err := result.LoadDir("../results", Beds...)
	require.NoError(t, err)
	text, err := os.ReadFile("../../../README.md")
	require.NoError(t, err)
	readme := strings.Join(strings.Fields(string(text)), " ")
	saved := func(bed, workload, network, metric string) float64 {
		m := metricOn(runs[bed], workload, network, metric)
		require.NotNil(t, m)
		middle := func(state result.State) float64 { return stats.Summarize(m.Samples[state].Valid()).Median }
		return 100 * (1 - middle(result.On)/middle(result.Off))
	}
	require.Contains(t, readme, fmt.Sprintf("round trip executes %.0f %% fewer instructions", saved("instructions", "tcp_rr", "veth", "instructions")))
	require.Contains(t, readme, fmt.Sprintf("a round trip takes %.0f %% less time", saved("native", "tcp_rr", "vxlan", "p50")))
	require.Contains(t, readme, fmt.Sprintf("it executes %.1f %% fewer instructions", saved("instructions", "tcp_crr", "veth", "instructions")))
}
