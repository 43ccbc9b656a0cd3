// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package attached

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/test/tools/equality"
)

// TestSamePacketDirect is TestSamePacketAsTheKernel without a tunnel: the slow path is two routers on either Node, of which one stands in for
// Open vSwitch.
func TestSamePacketDirect(t *testing.T) {
	for name, six := range map[string]bool{"IPv4": false, "IPv6": true} {
		t.Run(name, func(t *testing.T) { newDirectRouters(t, six).testSameDirect(t) })
	}
	t.Run("GRO at the uplink", func(t *testing.T) {
		r := newDirectRouters(t, false)
		for _, n := range r.nodes {
			run(t, n.Host, "ethtool -K up0 gro on")
		}
		r.testSameDirect(t)
	})
}

func (r *routers) testSameDirect(t *testing.T) {
	b := r.newRig(t)
	for name, protocol := range map[string]uint8{"UDP": unix.IPPROTO_UDP, "TCP": unix.IPPROTO_TCP} {
		flow := equality.Flow{Protocol: protocol, SourcePort: 4601, DestinationPort: 4701}
		t.Run(name, func(t *testing.T) { b.RequireSame(t, accelerated(t, equality.Stream(b.World, flow)), nil) })
	}
	t.Run("FromSocket", func(t *testing.T) { r.testFromSocket(t, b) })
}
