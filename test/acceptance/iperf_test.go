// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// iperfReport is the part of iperf3's report that is read.
type iperfReport struct {
	Error     string `json:"error"`
	Intervals []struct {
		Sum struct {
			Bytes float64 `json:"bytes"`
			Start float64 `json:"start"`
		} `json:"sum"`
	} `json:"intervals"`
	End struct {
		Received struct {
			BitsPerSecond float64 `json:"bits_per_second"`
		} `json:"sum_received"`
	} `json:"end"`
}

// iperf runs a client of iperf3 in a Pod.
func (c *cluster) iperf(t *testing.T, from *corev1.Pod, address string, args ...string) iperfReport {
	t.Helper()
	return c.startIperf(t, from, address, args...)()
}

// waitForIperf waits until a client of iperf3 in a Pod can use the server. Connections of other programs, such as expect makes, are a turn of the
// server, and it refuses what comes before the next one.
func (c *cluster) waitForIperf(t *testing.T, from *corev1.Pod, address string) {
	t.Helper()
	eventually(t, policyDelay, func() error {
		stdout, stderr, err := c.run(t.Context(), from, "", "iperf3", "--client", address, "--connect-timeout", "2000", "--bytes", "1K")
		if err != nil {
			return fmt.Errorf("iperf3 in %s: %w: %s%s", from.Name, err, stdout, stderr)
		}
		return nil
	})
}

// startIperf starts a client of iperf3 in a Pod; the returned function waits for its report.
func (c *cluster) startIperf(t *testing.T, from *corev1.Pod, address string, args ...string) func() iperfReport {
	t.Helper()
	wait := c.start(t, from, limit(5*time.Minute), append([]string{"iperf3", "--json", "--client", address, "--connect-timeout", "10000"}, args...)...)
	return func() (report iperfReport) {
		t.Helper()
		r := wait()
		require.NoErrorf(t, json.Unmarshal([]byte(r.stdout), &report), "%s%s%v", r.stdout, r.stderr, r.err)
		require.Emptyf(t, report.Error, "iperf3 in %s", from.Name)
		require.NoError(t, r.err)
		return report
	}
}

// iperfUntil starts a client of iperf3 in a Pod. The returned function interrupts it and returns the report, which has no last interval and
// no rate that the server has received.
func (c *cluster) iperfUntil(t *testing.T, from *corev1.Pod, address string, args ...string) (end func() iperfReport) {
	t.Helper()
	command := []string{"iperf3", "--json", "--client", address, "--connect-timeout", "10000", "--time", fmt.Sprint(untilTimeout.Seconds())}
	interrupt := c.startUntil(t, from, append(command, args...)...)
	return func() (report iperfReport) {
		t.Helper()
		r := interrupt()
		require.NoErrorf(t, json.Unmarshal([]byte(r.stdout), &report), "%s%s%v", r.stdout, r.stderr, r.err)
		require.Containsf(t, report.Error, "the client has terminated", "iperf3 in %s", from.Name)
		require.Greater(t, len(report.Intervals), 1, r.stdout)
		report.Intervals = report.Intervals[:len(report.Intervals)-1]
		return report
	}
}

// mbits is the rate, in Mbit/s, that arrived.
func (c *cluster) mbits(t *testing.T, report iperfReport) float64 {
	t.Helper()
	mbits := report.End.Received.BitsPerSecond / 1e6
	t.Logf("iperf3: %.1f Mbit/s", mbits)
	return mbits
}

// longestGap is the longest time in which iperf3 could send nothing, in steps of its report.
func longestGap(report iperfReport) time.Duration {
	var longest, begun float64
	idle := false
	for _, i := range report.Intervals {
		if i.Sum.Bytes > 0 {
			idle = false
			continue
		}
		if !idle {
			idle, begun = true, i.Sum.Start
		}
		longest = max(longest, i.Sum.Start-begun+1)
	}
	return time.Duration(longest * float64(time.Second))
}
