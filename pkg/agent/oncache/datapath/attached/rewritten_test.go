// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package attached

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
	"github.com/antrea-oncache/antrea/test/tools/equality"
	"github.com/antrea-oncache/antrea/test/tools/equality/rig"
)

// TestSamePacketRewritten is TestSamePacketAsTheKernel with packets that are rewritten instead of encapsulated, where they can be: in the
// Pod they are the same, byte by byte, with what the kernel knows of them.
func TestSamePacketRewritten(t *testing.T) {
	for name, f := range map[string]harness.Family{"IPv4": {}, "IPv6": {Inner6: true, Outer6: true}} {
		t.Run(name, func(t *testing.T) { newRewritingRouters(t, f).testSameRewritten(t) })
	}
	t.Run("GRO at the uplink", func(t *testing.T) {
		r := newRewritingRouters(t, harness.Family{})
		for _, n := range r.nodes {
			run(t, n.Host, "ethtool -K up0 gro on")
		}
		r.testSameRewritten(t)
	})
}

func (r *routers) testSameRewritten(t *testing.T) {
	b := r.newRig(t)
	udp := equality.Flow{Protocol: unix.IPPROTO_UDP, SourcePort: 4601, DestinationPort: 4701}
	tcp := equality.Flow{Protocol: unix.IPPROTO_TCP, SourcePort: 4602, DestinationPort: 4702}
	b.LearnOuter(t, udp)
	for name, flow := range map[string]equality.Flow{"UDP": udp, "TCP": tcp} {
		t.Run(name, func(t *testing.T) {
			b.RequireSame(t, accelerated(t, equality.Stream(b.World, flow)), nil)
			requireRewritten(t, b)
		})
	}
	t.Run("Nested", func(t *testing.T) { r.testNested(t, b) })
	t.Run("FromSocket", func(t *testing.T) {
		r.testFromSocket(t, b)
		requireRewritten(t, b)
	})
	// For the kernel, packets that came as hits keep their inner headers.
	target := r.addTarget(t)
	for name, flow := range map[string]equality.Flow{"UDP": udp, "TCP": tcp} {
		t.Run(name+"Forwarded", func(t *testing.T) { r.testForwarded(t, target, flow) })
	}
}

// requireRewritten checks that not all packets were encapsulated.
func requireRewritten(t *testing.T, b *rig.Rig) {
	t.Helper()
	t.Logf("%d packets were rewritten", b.Rewritten)
	require.NotZero(t, b.Rewritten)
	b.Rewritten = 0
}
