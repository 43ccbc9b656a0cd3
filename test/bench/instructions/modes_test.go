// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/test/bench/guard"
	"github.com/antrea-oncache/antrea/test/bench/result"
)

func tableOfModes() *table {
	return &table{
		bare: {30000, 28000}, hosted: {38000, 36000}, plainOff: {74000, 72000}, plainOn: {34400, 32400},
		encryptedHosts: {70000, 68000}, encryptedOff: {120000, 118000}, encryptedOn: {121000, 118000},
	}
}

// Each mode has its own host to host and gate off, from which its share and the estimate for WireGuard are computed.
func TestTableOfModes(t *testing.T) {
	text := tableOfModes().String()
	words := strings.Join(strings.Fields(text), " ")
	for _, row := range []string{
		"noEncap, gate off 74000 72000 - - -", "noEncap, gate on 34400 32400 90.0 % 90.0 % -",
		"host to host, WireGuard 70000 68000 - - -", "WireGuard, gate off 120000 118000 - - -", "WireGuard, gate on 121000 118000 -2.0 % 0.0 % -",
	} {
		require.Contains(t, words, row)
	}
	require.True(t, strings.HasSuffix(text, `
cost: noEncap tcp bare=30000 overlay=74000 oncache=34400 removed=90.0% udp bare=28000 overlay=72000 oncache=32400 removed=90.0%
cost: WireGuard tcp bare=70000 overlay=120000 oncache=121000 removed=-2.0% udp bare=68000 overlay=118000 oncache=118000 removed=0.0%
cost: hits with WireGuard, an estimate: tcp 74400, 38.0% less than with the gate off, removed=91.2% udp 72400, 38.6% less than with the gate off, removed=91.2%
`), text)
	require.NotContains(t, (&table{bare: {30000, 28000}}).String(), "noEncap", "it was not measured")
	require.NotContains(t, (&table{bare: {30000, 28000}}).String(), "WireGuard", "it was not measured")
}

func TestResultsOfModes(t *testing.T) {
	samples := map[string]map[result.State]result.Samples{}
	for _, r := range tableOfModes().results() {
		samples[r.Key()] = r.Metric("instructions").Samples
	}
	require.Equal(t, map[string]map[result.State]result.Samples{
		"tcp_rr veth flows=1 bytes=14 (agents run)": {result.Bare: {38000}},
		"udp_rr veth flows=1 bytes=14 (agents run)": {result.Bare: {36000}},
		"tcp_rr veth flows=1 bytes=14 (noEncap)":    {result.Bare: {30000}, result.Off: {74000}, result.On: {34400}},
		"udp_rr veth flows=1 bytes=14 (noEncap)":    {result.Bare: {28000}, result.Off: {72000}, result.On: {32400}},
		"tcp_rr veth flows=1 bytes=14 (WireGuard)":  {result.Bare: {70000}, result.Off: {120000}, result.On: {121000}},
		"udp_rr veth flows=1 bytes=14 (WireGuard)":  {result.Bare: {68000}, result.Off: {118000}, result.On: {118000}},
	}, samples)
}

// The numbers of modes are recorded and checked apart from others, which -quick measures, and are not saved.
func TestModesHaveBandsOfTheirOwn(t *testing.T) {
	dir := t.TempDir()
	path, out := filepath.Join(dir, "bands.json"), filepath.Join(dir, "instructions.json")
	other := guard.Band{Key: "tcp_rr veth flows=1 bytes=14", Metric: "instructions", State: result.On, Limit: 1, Less: true}
	require.NoError(t, guard.Bands{"instructions": {other}}.Save(path))
	b, started := &bed{modes: true}, time.Now()
	require.NoError(t, b.conclude(tableOfModes(), started, out, guarded{path: path, record: true}))
	require.NoError(t, b.conclude(tableOfModes(), started, out, guarded{path: path}))
	bands, err := guard.Load(path)
	require.NoError(t, err)
	require.Equal(t, []guard.Band{other}, bands["instructions"])
	more := tableOfModes()
	more[plainOn][udp] = more[plainOn][udp] * 103 / 100
	require.ErrorContains(t, b.conclude(more, started, out, guarded{path: path}), "1 of 14 numbers are too high")
	_, err = os.Stat(out)
	require.ErrorIs(t, err, os.ErrNotExist)
}

// Bands of all numbers would fail in each shorter run.
func TestRecordNeedsAShorterRun(t *testing.T) {
	err := run(t.Context(), &bed{}, "", guarded{record: true})
	require.ErrorContains(t, err, "-record makes bands of all numbers, which no shorter run would measure again: use it with -quick or -modes")
}

// The breakdown has one column for each state: a profile of a mode must not replace it.
func TestBreakdownHasOneRowOfEachState(t *testing.T) {
	states := map[result.State]bool{}
	for _, r := range inBreakdown {
		require.NotEmpty(t, profiled[r], r)
		require.False(t, states[r.state()], r)
		states[r.state()] = true
	}
	names := map[string]bool{}
	for r, name := range profiled {
		require.False(t, names[name], r)
		names[name] = true
	}
}
