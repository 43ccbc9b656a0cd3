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
	lease := w.control.elements[0].Lease
	now, err := w.now()
	require.NoError(t, err)
	w.setLease(t, func(v *bpfOncValidity) { v.Lease = now.jiffies + lease/8 })
	tunnelled := fromPeer().wrap(t, in.bytes(t))

	require.Equal(t, "lease", w.egress(0, out.bytes(t)).reason)
	require.Equal(t, "lease", w.ingress(0, tunnelled).reason)
	require.Equal(t, "hit", w.egress(0, out.bytes(t)).reason, "the probe is under way")
	require.Equal(t, "hit", w.ingress(0, tunnelled).reason)

	// It was lost: another one a sixteenth of the lease later.
	w.setLease(t, func(v *bpfOncValidity) { v.Probed -= uint32(lease / 16) })
	require.Equal(t, "renewed", w.learnEgress(out).reason)
	require.Equal(t, "renewed", w.learnIngress(in).reason)
	for _, f := range w.flows() {
		require.InDelta(t, 5*time.Second, f.LeaseLeft, float64(time.Second))
	}
	w.setLease(t, func(v *bpfOncValidity) { v.Probed = 0 })
	require.Equal(t, "hit", w.egress(0, out.bytes(t)).reason, "the new lease has just begun")
	require.Equal(t, "hit", w.ingress(0, tunnelled).reason)
}

// setLease changes the only entry of each IPv4 map.
func (w *world) setLease(t *testing.T, change func(*bpfOncValidity)) {
	t.Helper()
	var egress bpfOncEgress
	key := only[bpfOncFlow4](t, w.objects.EgressFlows4)
	require.NoError(t, w.objects.EgressFlows4.Lookup(key, &egress))
	change(&egress.V)
	require.NoError(t, w.objects.EgressFlows4.Put(key, egress))
	var ingress bpfOncIngress
	key = only[bpfOncFlow4](t, w.objects.IngressFlows4)
	require.NoError(t, w.objects.IngressFlows4.Lookup(key, &ingress))
	change(&ingress.V)
	require.NoError(t, w.objects.IngressFlows4.Put(key, ingress))
}
