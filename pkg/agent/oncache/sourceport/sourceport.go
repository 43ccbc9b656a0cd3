// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sourceport finds out from which UDP source ports the kernel's tunnel devices choose, by the hash of a packet's flow
// (udp_flow_src_port, include/net/udp_tunnel.h, since Linux 7 include/net/udp.h). Older kernels never use the last port of a range, newer
// ones do. Which of them this one is decides about the source port of nearly every second flow. The fast path must choose as the slow path
// does, so that packets of a flow take one route through switches and receive queues.
package sourceport

import (
	"fmt"
	"os"
	"sync"
)

// Range is Count ports from First on.
type Range struct{ First, Count uint16 }

// kernel has what probe has found out, which does not change. After an error, the next call asks again.
var kernel struct {
	sync.Mutex
	known, usesLastPort bool
}

func usesLastPort() (bool, error) {
	kernel.Lock()
	defer kernel.Unlock()
	if kernel.known {
		return kernel.usesLastPort, nil
	}
	uses, err := probe()
	if err == nil {
		kernel.known, kernel.usesLastPort = true, uses
	}
	return uses, err
}

// Geneve returns the ports of a Geneve device: all but 0 (drivers/net/geneve.c).
func Geneve() (Range, error) { return between(1, 65535) }

// VXLAN returns the ports of a VXLAN device that was made without a range: net.ipv4.ip_local_port_range of the calling thread's network
// namespace.
func VXLAN() (Range, error) {
	const path = "/proc/sys/net/ipv4/ip_local_port_range"
	b, err := os.ReadFile(path)
	if err != nil {
		return Range{}, fmt.Errorf("read sysctl: %w", err)
	}
	var low, high uint16
	if _, err := fmt.Sscan(string(b), &low, &high); err != nil {
		return Range{}, fmt.Errorf("sysctl %s is %q; expected two port numbers: %w", path, b, err)
	}
	return between(low, high)
}

func between(low, high uint16) (Range, error) {
	last, err := usesLastPort()
	if err != nil {
		return Range{}, fmt.Errorf("source ports of tunnels: %w", err)
	}
	r := Range{low, high - low}
	if last {
		r.Count++
	}
	return r, nil
}
