// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
)

var begin = time.Date(2026, 11, 24, 20, 15, 40, 0, time.UTC)

// sampleAt is the n-th sample of a Node that forwards ever more packets.
func sampleAt(n int) Sample {
	k := uint64(n)
	at := begin.Add(time.Duration(n) * 2 * time.Second)
	return Sample{
		Time: at.Add(time.Duration(n%2) * 300 * time.Millisecond), // an agent that answers late
		Status: api.Status{
			Time:  at,
			State: api.StateActive, Mode: "enforce", Uplink: "eth0", Tunnel: "geneve/6081", LeaseSeconds: 5, Endpoints: 23, PodsOnOVS: 1, Nodes: 11,
			MemoryBytes: 356 << 20,
			Egress: api.DirectionStats{Entries: 412, Active: 398, Hits: 1000 * k * k, Misses: 20 * k, Learned: 3 * k, Renewed: 160 * k,
				MissReasons: map[string]uint64{"lease": 16 * k, "no_entry": 4 * k, "mtu": 9}, Uncacheable: map[string]uint64{"tcp_flags": 2 * k}},
			Ingress: api.DirectionStats{Entries: 409, Active: 397, Hits: 500_000 * k, Misses: 10 * k, Renewed: 158 * k,
				MissReasons: map[string]uint64{"lease": 10 * k}},
			Evictions: api.Evictions{Endpoint: 57 + k/2, Node: 1, All: 2},
		},
		Flows: []api.FlowInfo{
			{Direction: "ingress", Protocol: "TCP", Source: "10.10.2.17:5432", Destination: "10.10.1.5:40122", Translated: "10.96.4.1:5432", Pod: "shop/web-0",
				Node: "node-2", State: "active", Packets: 9_000_000 + 100*k, Bytes: 150_000 * k, AgeSeconds: 812 + 2*float64(n)},
			{Direction: "egress", Protocol: "UDP", Source: "[fd00::1:9]:53211", Destination: "[fd00::3:4]:8125", Pod: "shop/cart-1",
				Node: "node-3", State: "lease", Packets: 4000 * k, Bytes: 400_000 * k, AgeSeconds: 100 + 2*float64(n)},
			{Direction: "egress", Protocol: "TCP", Source: "10.10.1.7:1", Destination: "10.10.3.4:2", Pod: "shop/idle", Node: "node-3", Packets: 5, AgeSeconds: 50 + 2*float64(n)},
		},
	}
}

func watched(samples ...Sample) *Watch {
	w := &Watch{Interval: 2 * time.Second}
	for _, s := range samples {
		w.Add(s)
	}
	return w
}

func text(lines []Line) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.Text + "\n")
	}
	return b.String()
}

func requireText(t *testing.T, want, got string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Log("\n" + got)
		require.Empty(t, diff, "- want, + got")
	}
}

func TestScreen(t *testing.T) {
	requireText(t, wantScreen, text(watched(sampleAt(0), sampleAt(1), sampleAt(2), sampleAt(3)).Screen(120, 40)))
}

// TestScreenFits: nothing is longer than the terminal, whatever its size.
func TestScreenFits(t *testing.T) {
	w := watched(sampleAt(0), sampleAt(1), sampleAt(2))
	for _, size := range [][2]int{{80, 24}, {40, 10}, {20, 3}, {1, 1}, {200, 100}} {
		lines := w.Screen(size[0], size[1])
		require.LessOrEqual(t, len(lines), size[1])
		for _, l := range lines {
			require.LessOrEqual(t, utf8.RuneCountInString(l.Text), size[0], l.Text)
		}
	}
	require.Contains(t, text(w.Screen(80, 24)), "2.00k/s", "the busiest flow has no room")
}

func TestScreenWithoutRates(t *testing.T) {
	down := errors.New("connection refused")
	requireText(t, "ONCache: no answer from the agent yet\nconnection refused\n", text(watched(Sample{Time: begin, Err: down}).Screen(80, 24)))
	require.Contains(t, text(watched(sampleAt(1)).Screen(80, 24)), "The first rates are here after 2s.")
	unavailable := Sample{Time: begin, Status: api.Status{State: api.StateUnavailable, Reason: "needs Linux 5.5"}}
	requireText(t, `ONCache: Unavailable                                  20:15:40  every 2s, for 0s
needs Linux 5.5
All traffic of this Node takes the slow path until its agent is restarted.
`, text(watched(unavailable).Screen(80, 24)))
	idle := sampleAt(1)
	idle.Flows, idle.Status.Egress, idle.Status.Ingress = nil, api.DirectionStats{}, api.DirectionStats{}
	later := idle
	later.Status.Time = idle.Status.Time.Add(2 * time.Second)
	require.Contains(t, text(watched(idle, later).Screen(80, 24)), "No flow is in the cache.")
}

// TestOutage: the last figures stay, with the time from which on they are old.
func TestOutage(t *testing.T) {
	w := watched(sampleAt(0), sampleAt(1))
	for n := range 3 {
		w.Add(Sample{Time: begin.Add(time.Duration(4+2*n) * time.Second), Err: errors.New("connection refused")})
	}
	require.Contains(t, text(w.Screen(120, 40)), "No answer since 20:15:44: connection refused\n")
	require.Contains(t, text(w.Screen(120, 40)), "398")
	require.Equal(t, "no answer since 20:15:44: connection refused", w.Row())
	w.Add(sampleAt(6))
	require.NotContains(t, text(w.Screen(120, 40)), "No answer")
	require.InDelta(t, 3500, w.now.egress.fast, 1e-9, "35,000 packets in ten seconds")
}

// TestNewMaps: counters that begin again at 0 make no absurd rates.
func TestNewMaps(t *testing.T) {
	again := sampleAt(0)
	again.Status.Time = begin.Add(20 * time.Second)
	again.Status.Egress.Hits = 400
	w := watched(sampleAt(0), sampleAt(9), again)
	require.InDelta(t, 200, w.now.egress.fast, 1e-9)
	require.Zero(t, w.now.ingress.fast)
	require.EqualValues(t, 57, w.now.evictions.Endpoint)
}

// TestFlowRates: flows without packets are left out, a new entry has its own age, one that was not asked for before its average.
func TestFlowRates(t *testing.T) {
	of := func(source string, packets uint64, age float64) api.FlowInfo {
		return api.FlowInfo{Direction: "egress", Source: source, Packets: packets, Bytes: 10 * packets, AgeSeconds: age}
	}
	got := flowsBetween(
		[]api.FlowInfo{of("grows", 100, 5), of("idle", 9, 5), of("again", 700, 60)},
		[]api.FlowInfo{of("grows", 300, 7), of("idle", 9, 7), of("again", 20, 1), of("new", 50, 1), of("unseen", 1200, 12)}, 2)
	var rates []string
	for _, f := range got {
		rates = append(rates, f.Source+" "+short(f.packets)+" "+short(f.bytes))
	}
	require.Equal(t, []string{"grows 100 1.00k", "unseen 100 1.00k", "new 25 250", "again 10 100"}, rates)
}

func TestRows(t *testing.T) {
	w := watched(sampleAt(0))
	rows := Heading() + "\n" + w.Row() + "\n"
	w.Add(sampleAt(1))
	rows += w.Row() + "\n"
	suspended := sampleAt(2)
	suspended.Status.State, suspended.Status.Reason = api.StateSuspended, "transport interface eth0 is down"
	w.Add(suspended)
	rows += w.Row() + "\n"
	requireText(t, wantRows, rows)
}

func TestSparkline(t *testing.T) {
	for _, tc := range []struct {
		values  []float64
		want    string
		highest float64
	}{
		{nil, "        ", 0},
		{[]float64{0, 0}, "        ", 0},
		{[]float64{0, 1, 1000}, "      ▁█", 1000},
		{[]float64{9, 1, 2, 3, 4, 5, 6, 7, 8}, "▁▂▃▄▅▆▇█", 8},
	} {
		line, highest := sparkline(tc.values, 8, false)
		require.Equal(t, tc.want, line)
		require.InDelta(t, tc.highest, highest, 0)
	}
	line, _ := sparkline([]float64{1, 9}, 4, true)
	require.Equal(t, "  .@", line)
}

func TestShort(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 0.04: "0.0", 9.94: "9.9", 9.96: "10", 999.4: "999", 999.6: "1.00k", 12_345: "12.3k", 999_499: "999k", 999_600: "1.00M", 2.5e9: "2.50G", 3e12: "3T",
	} {
		require.Equal(t, want, short(v))
	}
}

// TestHistoryIsBounded: a watch that is left open does not grow.
func TestHistoryIsBounded(t *testing.T) {
	w := watched()
	for n := range 3 * maxHistory {
		w.Add(sampleAt(n))
	}
	require.Len(t, w.history, maxHistory)
}
