// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestProbe: in the last quarter of a lease single packets ask Open vSwitch to renew it, and all others stay on the fast path.
func TestProbe(t *testing.T) {
	w := newWorld(t)
	out, in := fromPod(), toPod()
	w.learn(out, in)
	// So long that none of it is over before the test is.
	const lease = 1 << 20
	w.control.elements[0].Lease = lease
	now, err := w.now()
	require.NoError(t, err)
	w.changeEntries(func(v *bpfOncValidity) { v.Lease, v.Probed = now.jiffies+lease/8, uint32(now.jiffies)-lease/16 })
	tunnelled := fromPeer().wrap(t, in.bytes(t))

	require.Equal(t, "lease", w.egress(0, out.bytes(t)).reason)
	require.Equal(t, "lease", w.ingress(0, tunnelled).reason)
	require.Equal(t, "hit", w.egress(0, out.bytes(t)).reason, "the probe is under way")
	require.Equal(t, "hit", w.ingress(0, tunnelled).reason)

	// It was lost: another one a sixteenth of the lease later.
	w.changeEntries(func(v *bpfOncValidity) { v.Probed -= lease / 16 })
	require.Equal(t, "renewed", w.learnEgress(out).reason)
	require.Equal(t, "renewed", w.learnIngress(in).reason)
	for _, f := range w.flows() {
		require.InDelta(t, lease*w.jiffy, f.LeaseLeft, float64(time.Minute))
	}
	w.changeEntries(func(v *bpfOncValidity) { v.Probed = 0 })
	require.Equal(t, "hit", w.egress(0, out.bytes(t)).reason, "the new lease has just begun")
	require.Equal(t, "hit", w.ingress(0, tunnelled).reason)
}
