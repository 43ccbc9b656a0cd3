// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package packets

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
)

// TestTunnelKeepsTheEpochOfTickets: on the tunnel device packets without a ticket lose their epoch. Nothing else changes.
func TestTunnelKeepsTheEpochOfTickets(t *testing.T) {
	w := harness.NewWorld(t)
	b := w.FromPod().BehindOVS(harness.GatewayMAC, harness.VirtualMAC).Bytes(t)
	const foreign = ^uint32(harness.OwnBits)
	for _, mode := range []datapath.Mode{datapath.ModeObserve, datapath.ModeEnforce, datapath.ModeOff} {
		w.SetMode(mode)
		for _, c := range []struct{ mark, want uint32 }{
			{0, 0}, {foreign, foreign}, {harness.EpochBits, 0}, {harness.Epoch << 20, 0}, {foreign | harness.EpochBits, foreign},
			{harness.TicketBits, harness.TicketBits}, {^uint32(0), ^uint32(0)}, {0x100 | harness.Epoch<<20, 0x100 | harness.Epoch<<20},
			{0x80000 | harness.EpochBits, 0x80000 | harness.EpochBits},
		} {
			r := w.Run(w.Programs.OncacheTunnel, w.UplinkIf, c.mark, b)
			if mode == datapath.ModeOff {
				c.want = c.mark
			}
			require.Equal(t, c.want, r.Mark|r.Stamp, "%#x", c.mark)
			require.Equal(t, harness.Next, r.Verdict)
			require.Empty(t, r.Reason, "not counted")
			require.Empty(t, cmp.Diff(b, r.Packet))
		}
	}
}
