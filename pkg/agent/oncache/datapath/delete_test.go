// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A connection is forgotten in both directions, whichever end is named first, and no other one is.
func TestDeleteFlow(t *testing.T) {
	for name, f := range families {
		t.Run(name, func(t *testing.T) {
			w := newWorldOf(t, f)
			out, in := w.fromPod(), w.toPod()
			other, otherIn := out, in
			other.sport++
			otherIn.dport++
			pod, peer := netip.AddrPortFrom(out.src, out.sport), netip.AddrPortFrom(out.dst, out.dport)
			w.learn(other, otherIn)
			for _, ends := range [][2]netip.AddrPort{{pod, peer}, {peer, pod}} {
				w.learn(out, in)
				require.Equal(t, "hit", w.egress(0, out.bytes(t)).reason)
				require.NoError(t, w.DeleteFlow(unix.IPPROTO_TCP, ends[0], ends[1]))
				require.Equal(t, "no_entry", w.egress(0, out.bytes(t)).reason)
				require.Equal(t, "no_entry", w.ingress(0, w.fromPeer().wrap(t, in.bytes(t))).reason)
				require.Equal(t, "hit", w.egress(0, other.bytes(t)).reason)
				require.NoError(t, w.DeleteFlow(unix.IPPROTO_TCP, ends[0], ends[1]), "nothing to delete")
			}
		})
	}
}
