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
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
)

// longestRestored is the length of the longest IPv4 packet in front of which the headers of the tunnel have room.
const longestRestored = 1<<16 - 1 - 50

// merged is a Node that gets rewritten packets which GRO has merged from segments of a size that a Pod has chosen.
type merged struct {
	*harness.World
	in     harness.Packet
	key    uint16
	uplink int
}

func newMerged(t *testing.T) *merged {
	w := harness.NewWorldWith(t, harness.Family{}, datapath.Options{MaxFlows: 4096, Rewrite: true})
	w.Control().Lease = 1 << 30 // jiffies
	w.SetNodeRewrites(harness.PeerSlot, true)
	out, in := w.FromPod(), w.ToPod()
	key := w.Give(out, in)
	atPeer, err := netlink.LinkByName("up0p")
	require.NoError(t, err)
	require.NoError(t, netlink.LinkSetUp(atPeer))
	for _, ifindex := range []int{w.UplinkIf, atPeer.Attrs().Index} {
		require.NoError(t, waitUp(ifindex))
	}
	require.NoError(t, w.Attach(w.UplinkIf, datapath.RoleUplink))
	return &merged{w, in, key, packetSocket(t, atPeer.Attrs().Index)}
}

// requireCounted sends a packet of the length, and waits until it is counted for the reason.
func (m *merged) requireCounted(t *testing.T, length int, reason string) {
	t.Helper()
	before, err := m.Counters()
	require.NoError(t, err)
	wire := m.RewrittenFromPeer(m.in, m.key)
	wire.Payload = length - 40
	super := superPacket{gsoType: virtioGSOTCP4, segment: 1007, transport: 34, checksumAt: 16, headerBytes: 54, frame: wire.Bytes(t)}
	require.NoError(t, unix.Send(m.uplink, super.bytes(), 0))
	require.Eventually(t, func() bool {
		after, err := m.Counters()
		return err == nil && after["ingress"][reason] == before["ingress"][reason]+1
	}, 30*time.Second, 5*time.Millisecond, "%s is not counted", reason)
	dropped, err := m.Dropped()
	require.NoError(t, err)
	require.Equal(t, map[string]uint64{"egress": 0, "ingress": 0}, dropped)
}

// TestRestoredPacketIsTooLong: GRO can merge segments of a size that a Pod has chosen to a packet that is too long for the tunnel. If Open
// vSwitch has to decide about it, it is dropped, whether the fast path is switched on or off. That is no fault of the programs: the agent
// would pause the fast path for those.
func TestRestoredPacketIsTooLong(t *testing.T) {
	m := newMerged(t)
	for _, mode := range []datapath.Mode{datapath.ModeObserve, datapath.ModeOff} {
		for length, reason := range map[int]string{longestRestored: "restored", longestRestored + 1: "too_long"} {
			t.Run(fmt.Sprintf("%v, %d bytes", mode, length), func(t *testing.T) {
				m.SetMode(mode)
				m.requireCounted(t, length, reason)
			})
		}
	}
}

// TestTooLongProbe: of the packets that are too long to probe Open vSwitch, one is dropped when a probe is due, and not all until a shorter one
// comes.
func TestTooLongProbe(t *testing.T) {
	m := newMerged(t)
	lease, now := m.Control().Lease, m.Jiffies(t)
	m.ChangeEntries(func(v *object.BpfOncValidity) { v.Lease, v.Probed = now+lease/8, uint32(now-lease/4) })
	m.requireCounted(t, longestRestored+1, "too_long")
	m.requireCounted(t, longestRestored+1, "hit_rewritten")
}
