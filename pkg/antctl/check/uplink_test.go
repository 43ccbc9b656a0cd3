// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"bytes"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/antctl/nodefacts"
	"github.com/antrea-oncache/antrea/pkg/uplink"
)

var goodUplink = uplink.Facts{
	Device: "eth0", MTU: 1500, CPUs: 8, Queues: 4, MostQueues: 8, UDP4: uplink.Ports, UDP6: uplink.Ports,
	Features: map[string]uplink.Feature{uplink.GRO: {On: true, Changeable: true}, uplink.TunnelSegmentation: {On: true, Changeable: true}},
	Load:     uplink.Load{Packets: 1000, Busiest: 0.9, SoftIRQ: 0.1},
}

// TestJudgeUplink: each fault is one warning, with the command that mends it; what cannot be mended or does not matter is none.
func TestJudgeUplink(t *testing.T) {
	for want, edits := range map[string][]func(*uplink.Facts){
		"ok       uplink of a      eth0, MTU 1500, 4 receive queues for 8 CPUs": {
			func(*uplink.Facts) {},
			func(u *uplink.Facts) { u.UDP4, u.UDP6 = "", "" },
			func(u *uplink.Facts) { u.Features[uplink.TunnelSegmentation] = uplink.Feature{} },
			func(u *uplink.Facts) { delete(u.Features, uplink.TunnelSegmentation) },
			func(u *uplink.Facts) { u.Load.Busiest, u.Load.SoftIRQ = 0.5, 0.9 },
		},
		"1 receive queues for 8 CPUs": {func(u *uplink.Facts) { u.Queues, u.RPS, u.UDP4 = 1, true, uplink.Addresses }},
		"1 receive queues for 1 CPUs": {func(u *uplink.Facts) { u.Queues, u.CPUs, u.Load.SoftIRQ = 1, 1, 0.9 }},
		"warning  uplink of a      eth0 uses 1 of 8 receive queues for 6 CPUs: ethtool -L eth0 combined 6": {func(u *uplink.Facts) { u.Queues, u.CPUs = 1, 6 }},
		"eth0 uses 4 of 16 receive queues for 32 CPUs: ethtool -L eth0 combined 16":                        {func(u *uplink.Facts) { u.CPUs, u.MostQueues = 32, 16 }},
		"eth0 has 1 receive queues for 8 CPUs, and no other CPU takes packets from them: for q in /sys/class/net/eth0/queues/rx-*; do echo ff >$q/rps_cpus; done": {
			func(u *uplink.Facts) { u.Queues, u.MostQueues = 1, 1 },
			func(u *uplink.Facts) { u.Queues, u.MostQueues = 1, 0 },
		},
		"so all flows between two Nodes share one CPU: ethtool -N eth0 rx-flow-hash udp4 sdfn": {func(u *uplink.Facts) { u.UDP4 = uplink.Addresses }},
		"so all flows between two Nodes share one CPU: ethtool -N eth0 rx-flow-hash udp6 sdfn": {func(u *uplink.Facts) { u.UDP6 = uplink.Addresses }},
		"ethtool -K eth0 gro on": {func(u *uplink.Facts) { u.Features[uplink.GRO] = uplink.Feature{} }},
		"ethtool -K eth0 tx-udp_tnl-segmentation on": {func(u *uplink.Facts) {
			u.Features[uplink.TunnelSegmentation] = uplink.Feature{Changeable: true}
		}},
		"one of 8 CPUs handles 90 % of all packets, which takes 60 % of its time": {func(u *uplink.Facts) { u.Load.SoftIRQ = 0.6 }},
		"7 packets were dropped within two seconds":                               {func(u *uplink.Facts) { u.Load.Dropped = 7 }},
		"CPUs stopped 7 times within two seconds":                                 {func(u *uplink.Facts) { u.Load.Squeezed = 7 }},
	} {
		for _, edit := range edits {
			u := goodUplink
			u.Features = maps.Clone(u.Features)
			edit(&u)
			var out bytes.Buffer
			judgeUplink("uplink of a", &nodefacts.Facts{Uplink: &u}, &Report{Out: &out})
			require.Contains(t, out.String(), want)
			require.Equal(t, 1, strings.Count(out.String(), "\n"), out.String())
		}
	}
	var out bytes.Buffer
	judgeUplink("uplink of a", &nodefacts.Facts{Unknown: "no device"}, &Report{Out: &out})
	require.Contains(t, out.String(), "warning  uplink of a      unknown: no device")
}

func TestCPUMask(t *testing.T) {
	for n, want := range map[int]string{1: "1", 8: "ff", 32: "ffffffff", 36: "f,ffffffff", 64: "ffffffff,ffffffff"} {
		require.Equal(t, want, cpuMask(n))
	}
}

func TestMTUs(t *testing.T) {
	var m mtus
	var out bytes.Buffer
	m.judge(&Report{Out: &out})
	for _, node := range []string{"d", "c", "b", "a", "e"} {
		m.add(node, &uplink.Facts{MTU: 9000})
	}
	m.add("unknown", nil)
	m.judge(&Report{Out: &out})
	require.Empty(t, out.String())
	m.add("f", &uplink.Facts{MTU: 1500})
	m.judge(&Report{Out: &out})
	require.Contains(t, out.String(), "(1500 on f; 9000 on a, b, c, 2 more)")
}
