// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
)

// DeleteFlow deletes both directions of a connection, whichever end is the client, and no other connection.
func TestDeleteFlow(t *testing.T) {
	for name, f := range harness.Families {
		t.Run(name, func(t *testing.T) {
			w := harness.NewWorldOf(t, f)
			out, in := w.FromPod(), w.ToPod()
			other, otherIn := out, in
			other.SrcPort++
			otherIn.DstPort++
			pod, peer := netip.AddrPortFrom(out.Src, out.SrcPort), netip.AddrPortFrom(out.Dst, out.DstPort)
			w.Learn(other, otherIn)
			for _, ends := range [][2]netip.AddrPort{{pod, peer}, {peer, pod}} {
				client, server := ends[0], ends[1]
				w.Learn(out, in)
				require.Equal(t, "hit", w.Egress(0, out.Bytes(t)).Reason)
				require.NoError(t, w.DeleteFlow(unix.IPPROTO_TCP, client, server, server))
				require.Equal(t, "no_entry", w.Egress(0, out.Bytes(t)).Reason)
				require.Equal(t, "no_entry", w.Ingress(0, w.FromPeer().Wrap(t, in.Bytes(t))).Reason)
				require.Equal(t, "hit", w.Egress(0, other.Bytes(t)).Reason)
				require.NoError(t, w.DeleteFlow(unix.IPPROTO_TCP, client, server, server), "nothing to delete")
			}
		})
	}
}
