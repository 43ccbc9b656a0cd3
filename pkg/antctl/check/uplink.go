// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/antrea-oncache/antrea/pkg/antctl/nodefacts"
	"github.com/antrea-oncache/antrea/pkg/uplink"
)

const (
	// fewQueues is the number of CPUs for each receive queue above which queues are few.
	fewQueues = 4
	// busyShare of a CPU's time, and oneSided of all packets: together they mean that one CPU limits the Node.
	busyShare, oneSided = 0.5, 0.8
)

// judgeUplink says what makes tunnels of a Node slow, with the command that changes it until the Node restarts. Nothing of it keeps Antrea from working.
func judgeUplink(check string, f *nodefacts.Facts, r *Report) {
	u := f.Uplink
	if u == nil {
		r.Warn(check, "unknown: %s", f.Unknown)
		return
	}
	before := r.warnings
	judgeQueues(check, u, r)
	for _, kind := range []struct {
		name string
		hash uplink.Hash
	}{{"udp4", u.UDP4}, {"udp6", u.UDP6}} {
		if kind.hash == uplink.Addresses && u.Queues > 1 {
			r.Warn(check, "%s chooses the queue of %s packets by addresses only, so all flows between two Nodes share one CPU: ethtool -N %[1]s rx-flow-hash %[2]s sdfn", u.Device, kind.name)
		}
	}
	if gro := u.Features[uplink.GRO]; !gro.On {
		r.Warn(check, "GRO of %s is off, so each packet passes through the kernel alone: ethtool -K %[1]s gro on", u.Device)
	}
	if s := u.Features[uplink.TunnelSegmentation]; !s.On && s.Changeable {
		r.Warn(check, "%s can divide large packets of tunnels, but may not: ethtool -K %[1]s %s on", u.Device, uplink.TunnelSegmentation)
	}
	if l := u.Load; l.Busiest >= oneSided && l.SoftIRQ >= busyShare && u.CPUs > 1 {
		r.Warn(check, "one of %d CPUs handles %.0f %% of all packets, which takes %.0f %% of its time: more queues, or ports in their choice, as above", u.CPUs, 100*l.Busiest, 100*l.SoftIRQ)
	}
	if u.Load.Dropped > 0 {
		r.Warn(check, "%d packets were dropped within two seconds because CPUs were behind: sysctl -w net.core.netdev_max_backlog=10000", u.Load.Dropped)
	}
	if u.Load.Squeezed > 0 {
		r.Warn(check, "CPUs stopped %d times within two seconds with packets left: sysctl -w net.core.netdev_budget=600 net.core.netdev_budget_usecs=8000", u.Load.Squeezed)
	}
	if r.warnings == before {
		r.OK(check, "%s, MTU %d, %d receive queues for %d CPUs", u.Device, u.MTU, u.Queues, u.CPUs)
	}
}

func judgeQueues(check string, u *uplink.Facts, r *Report) {
	few := u.Queues == 1 && u.CPUs > 1 || u.Queues*fewQueues < u.CPUs
	switch more := min(u.MostQueues, u.CPUs); {
	case !few || u.RPS:
	case more > u.Queues:
		r.Warn(check, "%s uses %d of %d receive queues for %d CPUs: ethtool -L %[1]s combined %[5]d", u.Device, u.Queues, u.MostQueues, u.CPUs, more)
	default:
		r.Warn(check, "%s has %d receive queues for %d CPUs, and no other CPU takes packets from them: for q in /sys/class/net/%[1]s/queues/rx-*; do echo %[4]s >$q/rps_cpus; done",
			u.Device, u.Queues, u.CPUs, cpuMask(u.CPUs))
	}
}

// cpuMask is the mask of the first n CPUs as the kernel reads it: groups of 32 bits in hexadecimal, the highest first.
func cpuMask(n int) string {
	groups := []string{}
	if n%32 > 0 {
		groups = append(groups, fmt.Sprintf("%x", uint32(1)<<(n%32)-1))
	}
	for range n / 32 {
		groups = append(groups, "ffffffff")
	}
	return strings.Join(groups, ",")
}

// mtus are Nodes by the MTU of their uplinks.
type mtus map[int][]string

func (m *mtus) add(node string, u *uplink.Facts) {
	if u == nil {
		return
	}
	if *m == nil {
		*m = mtus{}
	}
	(*m)[u.MTU] = append((*m)[u.MTU], node)
}

// judge warns if uplinks differ: a Pod's MTU follows its own Node's, and what it sends arrives at others.
func (m mtus) judge(r *Report) {
	sizes := slices.Sorted(maps.Keys(m))
	if len(sizes) < 2 {
		return
	}
	var groups []string
	for _, size := range sizes {
		names := m[size]
		slices.Sort(names)
		if more := len(names) - 3; more > 0 {
			names = append(names[:3:3], fmt.Sprintf("%d more", more))
		}
		groups = append(groups, fmt.Sprintf("%d on %s", size, strings.Join(names, ", ")))
	}
	r.Warn("mtu", "uplinks have different MTUs (%s): give them one, or set defaultMTU to the lowest less 50 (70 over IPv6)", strings.Join(groups, "; "))
}
