// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/test/bench/guard"
	"github.com/antrea-oncache/antrea/test/bench/result"
)

// A row in two networks must pass both bands. Ratios and lower bounds say nothing about a single number.
func TestLimits(t *testing.T) {
	band := func(key string, state result.State, limit float64) guard.Band {
		return guard.Band{Key: key, Metric: "instructions", State: state, Limit: limit, Less: true}
	}
	ratio := band("tcp_rr veth flows=1 bytes=14", result.On, 1)
	ratio.To = result.Off
	least := band("udp_rr veth flows=1 bytes=14", result.On, 2)
	least.Less = false
	other := band("udp_rr veth flows=1 bytes=14", result.On, 3)
	other.Metric = "p50"
	l := limitsOf([]guard.Band{
		band("tcp_rr veth flows=1 bytes=14", result.Off, 80000), band("tcp_rr netkit flows=1 bytes=14", result.Off, 79000),
		band("tcp_rr netkit flows=1 bytes=14", result.On, 42000), band("tcp_rr veth flows=1 bytes=14 (ClusterIP)", result.On, 43000),
		ratio, least, other,
	})
	require.Equal(t, limits{overlay: {tcp: 79000}, oncacheNetkit: {tcp: 42000}, serviceOn: {tcp: 43000}}, l)
}

// The numbers that make test measures have bands: without them it would make all runs.
func TestLimitsOfTheRecord(t *testing.T) {
	bands, err := guard.Load("../bands.json")
	require.NoError(t, err)
	l := limitsOf(bands.For(bedName, result.Machine{}))
	for _, r := range []row{bare, overlay, oncache, oncacheNetkit} {
		for _, p := range protocols {
			require.NotZero(t, l[r][p], "%s, %s", r, p)
		}
	}
}

// The lowest run counts, and the first one is not counted.
func TestEnough(t *testing.T) {
	b := &bed{limits: limits{oncache: {tcp: 40000}}}
	for _, c := range []struct {
		name   string
		r      row
		p      protocol
		counts []uint64
		want   bool
	}{
		{"nothing", oncache, tcp, nil, false},
		{"the path is not warm", oncache, tcp, []uint64{39000}, false},
		{"passes", oncache, tcp, []uint64{45000, 40000}, true},
		{"too many", oncache, tcp, []uint64{39000, 40001}, false},
		{"passes late", oncache, tcp, []uint64{45000, 41000, 41000, 39000}, true},
		{"all runs", oncache, tcp, []uint64{45000, 41000, 41000, 41000, 41000, 41000}, true},
		{"no band", oncache, udp, []uint64{45000, 10}, false},
		{"hosts need fewer runs", bare, tcp, []uint64{1, 1, 1, 1}, true},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, b.enough(c.r, c.p, c.counts)) })
	}
}
