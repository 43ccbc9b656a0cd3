// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package attached

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
)

// TestRestoredPacketIsTooLong: GRO can merge segments of a size that a Pod has chosen to a packet that is too long for the tunnel. If Open
// vSwitch has to decide about it, it is dropped, whether the fast path is switched on or off. That is no fault of the programs: the agent
// would pause the fast path for those.
func TestRestoredPacketIsTooLong(t *testing.T) {
	const longest = 1<<16 - 1 - 50 // with the headers of the tunnel behind it
	w := harness.NewWorldWith(t, harness.Family{}, datapath.Options{MaxFlows: 4096, Rewrite: true})
	w.Control().Lease = 1 << 32
	w.SetNodeRewrites(harness.PeerSlot, true)
	out, in := w.FromPod(), w.ToPod()
	key := w.Give(out, in)
	atPeer, err := netlink.LinkByName("up0p")
	require.NoError(t, err)
	require.NoError(t, netlink.LinkSetUp(atPeer))
	for _, ifindex := range []int{w.UplinkIf, atPeer.Attrs().Index} {
		require.NoError(t, waitUp(ifindex))
	}
	uplink := packetSocket(t, atPeer.Attrs().Index)
	require.NoError(t, w.Attach(w.UplinkIf, datapath.RoleUplink))
	for _, mode := range []datapath.Mode{datapath.ModeObserve, datapath.ModeOff} {
		for length, reason := range map[int]string{longest: "restored", longest + 1: "too_long"} {
			t.Run(fmt.Sprintf("%v, %d bytes", mode, length), func(t *testing.T) {
				w.SetMode(mode)
				before, err := w.Counters()
				require.NoError(t, err)
				wire := w.RewrittenFromPeer(in, key)
				wire.Payload = length - 40
				super := superPacket{gsoType: virtioGSOTCP4, segment: 1007, transport: 34, checksumAt: 16, headerBytes: 54, frame: wire.Bytes(t)}
				require.NoError(t, unix.Send(uplink, super.bytes(), 0))
				require.Eventually(t, func() bool {
					after, err := w.Counters()
					require.NoError(t, err)
					return after["ingress"][reason] == before["ingress"][reason]+1
				}, 30*time.Second, 5*time.Millisecond, "%s is not counted", reason)
				dropped, err := w.Dropped()
				require.NoError(t, err)
				require.Zero(t, dropped)
			})
		}
	}
}
