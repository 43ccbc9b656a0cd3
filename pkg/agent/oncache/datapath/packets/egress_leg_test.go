// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package packets

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
)

// TestEgressConnectionsStay: packets of an Egress's Pod to outside the cluster travel through the tunnel to the Node with the address, and are
// established. They get no ticket, are not learned with a stolen one, and the answers, which come from a Node and from another address than
// the packets go to, are not learned either.
func TestEgressConnectionsStay(t *testing.T) {
	outside, egress := netip.MustParseAddr("203.0.113.10"), netip.MustParseAddr("192.168.77.200")
	w := harness.NewWorld(t)
	stolen := w.Egress(0, harness.FromPod().Bytes(t)).Mark
	out := harness.FromPod()
	out.Dst = outside
	toOwner := harness.ToPeer()
	toOwner.Dst = egress
	sent := out.BehindOVS(harness.GatewayMAC, harness.VirtualMAC)
	sent.TTL = out.TTL // Open vSwitch leaves it to the Node with the address
	for name, outer := range map[string]harness.Outer{"to the Egress address": toOwner, "to the Node": harness.ToPeer()} {
		r := w.Egress(0, out.Bytes(t))
		require.Equal(t, "not_remote", r.Reason, name)
		require.Zero(t, r.Mark, "no ticket")
		for _, ticket := range []uint32{0, stolen} {
			wrapped := outer.Wrap(t, sent.Bytes(t))
			r = w.EgressInit(ticket|harness.Epoch<<20, wrapped)
			require.Equal(t, harness.Next, r.Verdict, name)
			require.NotEqual(t, "learned", r.Reason, name)
			require.Equal(t, wrapped, r.Packet, "untouched")
		}
	}
	in := harness.ToPod()
	in.Src = outside
	r := w.Ingress(0, harness.FromPeer().Wrap(t, in.Bytes(t)))
	require.Equal(t, "not_remote", r.Reason)
	require.Equal(t, harness.Next, r.Verdict)
	delivered := in.BehindOVS(harness.GatewayMAC, harness.PodMAC).Bytes(t)
	require.NotEqual(t, "learned", w.IngressInit(r.Mark|harness.Epoch<<20, delivered).Reason)
	require.Empty(t, w.Entries())
	require.Equal(t, "not_remote", w.Egress(0, out.Bytes(t)).Reason, "still")
}
