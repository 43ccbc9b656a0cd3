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

func TestONCacheSummaryWithoutOpenVSwitch(t *testing.T) {
	s := api.Status{State: api.StateActive, OpenVSwitchAway: &api.Absence{Reason: "not connected", Seconds: 12.3, HeldSeconds: 47.7}}
	require.Contains(t, oncacheSummary(s).String(), "open vswitch      away for 12s, leases are held for 48s more: not connected -\n")
	s.OpenVSwitchAway.HeldSeconds = 0
	require.Contains(t, oncacheSummary(s).String(), "away for 12s, leases end: not connected")
	s.Rewrite, s.NotRewriting = "tcp+udp/585", "packets would be lost"
	require.Regexp(t, `\n  none to this node +packets would be lost +-\n`, oncacheSummary(s).String())
}

func TestONCacheSummaryWithoutFastPath(t *testing.T) {
	got := oncacheSummary(api.Status{State: api.StateUnavailable, Reason: "transport interface tun0 is not Ethernet"}).String()
	require.Contains(t, got, "Unavailable")
	require.Contains(t, got, "transport interface tun0 is not Ethernet")
	require.NotContains(t, got, "hit rate")
}

// Both addresses of a translated flow are shown, and columns stay aligned whatever their lengths.
func TestONCacheFlows(t *testing.T) {
	flows := []api.FlowInfo{
		{Direction: "ingress", Protocol: "TCP", Source: "10.10.2.17:5432", Destination: "10.10.1.5:40122", Translated: "10.96.4.1:5432",
			Pod: "shop/web-0", Node: "node-2", State: "active", Packets: 81233, Bytes: 117301120, LeaseSeconds: 3.2, AgeSeconds: 812},
		{Direction: "egress", Protocol: "TCP", Source: "10.10.1.5:40122", Destination: "10.96.4.1:5432", Translated: "10.10.2.17:5432",
			Pod: "shop/web-0", Node: "node-2", State: "active", Packets: 40519, Bytes: 3970862, LeaseSeconds: 1.7, AgeSeconds: 812, Rewritten: true},
		{Direction: "egress", Protocol: "UDP", Source: "[fd00::1:9]:53211", Destination: "[fd00::3:4]:8125",
			Pod: "shop/cart-1", Peer: "shop/web-0", State: "not_proved", LeaseSeconds: -2, AgeSeconds: 0.6},
	}
	result := UnsortedList(oncacheFlowColumns...).result(flows)
	require.Equal(t, `DIRECTION PROTO SOURCE            DESTINATION      TRANSLATED      LOCAL-POD   REMOTE-NODE LOCAL-PEER STATE      REWRITTEN PACKETS BYTES     LEASE AGE
ingress   TCP   10.10.2.17:5432   10.10.1.5:40122  10.96.4.1:5432  shop/web-0  node-2      -          active     -         81233   117301120 3.2s  13m32s
egress    TCP   10.10.1.5:40122   10.96.4.1:5432   10.10.2.17:5432 shop/web-0  node-2      -          active     yes       40519   3970862   1.7s  13m32s
egress    UDP   [fd00::1:9]:53211 [fd00::3:4]:8125 -               shop/cart-1 -           shop/web-0 not_proved -         0       0         0s    600ms
`, result.Table.String())
}
