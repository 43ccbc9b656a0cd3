// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package antctl

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
)

func TestONCacheSummary(t *testing.T) {
	s := api.Status{
		State: api.StateActive, Hook: "tcx", Uplink: "eth0", Tunnel: "geneve/6081", LeaseSeconds: 5, MaxFlows: 1000, Endpoints: 2, Nodes: 1,
		Egress: api.DirectionStats{Entries: 3, Active: 2, Hits: 990, Misses: 10, MissReasons: map[string]uint64{"lease": 4, "no_entry": 6},
			Uncacheable: map[string]uint64{"tcp_flags": 4}, Learned: 3, Renewed: 4},
		Ingress:     api.DirectionStats{Entries: 2, Active: 2, Hits: 10, MissReasons: map[string]uint64{}},
		Evictions:   api.Evictions{Endpoint: 7, All: 1},
		Conntrack:   api.Conntrack{Segments: 7, Idle: 4, Failed: 2},
		MemoryBytes: 3 << 20,
	}
	want := `ITEM                       EGRESS               INGRESS
state                      Active               -
hook                       tcx                  -
uplink                     eth0                 -
tunnel                     geneve/6081          -
lease                      5s                   -
local pods                 2                    -
remote nodes               1                    -
flows active               2                    2
flows cached               3 of 1000            2 of 1000
packets fast               990                  10
packets missed             10                   0
hit rate                   99.00 %              100.00 %
  missed: lease            4                    0
  missed: no entry         6                    0
  not cacheable: tcp flags 4                    0
entries learned            3                    0
leases renewed             4                    0
evictions                  pod 7, node 0, all 1 -
conntrack updates          11, failed 2         -
memory                     3.0 MiB              -
`
	if diff := cmp.Diff(want, oncacheSummary(s).String()); diff != "" {
		t.Log(oncacheSummary(s).String())
		require.Empty(t, diff)
	}
}

func TestONCacheSummaryWithoutFastPath(t *testing.T) {
	got := oncacheSummary(api.Status{State: api.StateUnavailable, Reason: "transport interface tun0 is not Ethernet"}).String()
	require.Contains(t, got, "Unavailable")
	require.Contains(t, got, "transport interface tun0 is not Ethernet")
	require.NotContains(t, got, "hit rate")
}
