// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

func shapedEgress(name string, created int64, addr, rate, burst string) *v1beta1.Egress {
	e := makeEgress(name, created, addr)
	e.Spec.Bandwidth = &v1beta1.Bandwidth{Rate: rate, Burst: burst}
	return e
}

func TestReadBandwidth(t *testing.T) {
	for _, tc := range []struct {
		rate, burst, refusal string
		want                 openflow.EgressBandwidth
	}{
		{"100M", "200M", "", openflow.EgressBandwidth{Rate: 100_000, Burst: 200_000}},
		{"1999", "0", "", openflow.EgressBandwidth{Rate: 1}},
		{"9E", "9E", "", openflow.EgressBandwidth{Rate: maxBandwidth, Burst: maxBandwidth}},
		{"999", "1M", `bandwidth.rate "999" is less than 1k`, openflow.EgressBandwidth{}},
		{"-1M", "1M", `bandwidth.rate "-1M" is not a quantity`, openflow.EgressBandwidth{}},
		{"1M", "much", `bandwidth.burst "much" is not a quantity`, openflow.EgressBandwidth{}},
	} {
		got, err := readBandwidth(&v1beta1.Bandwidth{Rate: tc.rate, Burst: tc.burst})
		if tc.refusal != "" {
			require.ErrorContains(t, err, tc.refusal)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, tc.want, got)
	}
}

// TestBandwidths: of several Egresses with one address the oldest bandwidth counts, a bandwidth that cannot be read changes nothing, and each that is not in
// force has a reason.
func TestBandwidths(t *testing.T) {
	n := newFakeNode(t)
	r := newRealizer(n, n, time.Now, n.endNone)
	w := newTestWorld()
	w.shaping = true
	const addr = "192.168.1.1"
	w.local.Insert(netip.MustParseAddr(addr))
	w.egresses["plain"] = makeEgress("plain", 0, addr)
	w.egresses["first"] = shapedEgress("first", 1, addr, "1M", "2M")
	w.egresses["second"] = shapedEgress("second", 2, addr, "3M", "2M")
	w.egresses["same"] = shapedEgress("same", 3, addr, "1000k", "2M")
	realize := func() *plan {
		t.Helper()
		p, _, err := r.realize(t.Context(), w, testNetworks)
		require.NoError(t, err)
		return p
	}
	p := realize()
	require.Equal(t, map[uint8]openflow.EgressBandwidth{1: {Rate: 1000, Burst: 2000}}, n.limits)
	require.NoError(t, p.unlimitedHere(w.egresses["first"]))
	require.NoError(t, p.unlimitedHere(w.egresses["same"]))
	require.ErrorContains(t, p.unlimitedHere(w.egresses["second"]), "is also the address of the older Egress first")

	// A new Pod of one Egress does not decide about the address, in use or not.
	w.groups["second"] = sets.New(podNamed("p"))
	w.interfaces["i"] = podInterface{pod: podNamed("p"), ofPort: 1}
	require.NoError(t, r.realizeOne(t.Context(), w.of("i"), testNetworks, "i"))
	require.Equal(t, map[uint8]openflow.EgressBandwidth{1: {Rate: 1000, Burst: 2000}}, n.limits)
	next := newFakeNode(t)
	require.NoError(t, newRealizer(next, next, time.Now, next.endNone).realizeOne(t.Context(), w.of("i"), testNetworks, "i"))
	require.Equal(t, n.limits, next.limits)

	delete(w.egresses, "second")
	delete(w.egresses, "same")
	w.egresses["first"] = shapedEgress("first", 1, addr, "soon", "2M")
	p = realize()
	require.ErrorContains(t, p.unlimitedHere(w.egresses["first"]), "is not a quantity")
	require.Equal(t, map[uint8]openflow.EgressBandwidth{1: {Rate: 1000, Burst: 2000}}, n.limits, "it stays")
	w.egresses["second"] = shapedEgress("second", 2, addr, "3M", "2M")
	realize()
	require.Equal(t, map[uint8]openflow.EgressBandwidth{1: {Rate: 3000, Burst: 2000}}, n.limits, "the younger one can be read")

	delete(w.egresses, "first")
	n.noMeters = true
	w.egresses["second"] = shapedEgress("second", 2, addr, "4M", "2M")
	p = realize()
	require.ErrorIs(t, p.unlimitedHere(w.egresses["second"]), openflow.ErrNoBandwidth)
	require.NotEmpty(t, n.tunnel, "the address has no limit, but is there")

	n.noMeters = false
	w.egresses["second"] = makeEgress("second", 2, addr)
	realize()
	require.Empty(t, n.limits)
	w.shaping = false
	w.egresses["second"] = shapedEgress("second", 2, addr, "3M", "2M")
	p = realize()
	require.ErrorIs(t, p.unlimitedHere(w.egresses["second"]), errShapingOff)
	require.Empty(t, n.limits)
}

// TestLimitBeforePackets: no packet gets an address before its bandwidth is in force, and an address that is in use stays when a change of the bandwidth fails.
func TestLimitBeforePackets(t *testing.T) {
	n := newFakeNode(t)
	r := newRealizer(n, n, time.Now, n.endNone)
	w := newTestWorld()
	w.shaping = true
	addr := netip.MustParseAddr("192.168.1.1")
	w.local.Insert(addr)
	w.egresses["e"] = shapedEgress("e", 0, addr.String(), "1M", "2M")
	calls := 0
	n.fail = func() bool { calls++; return calls == 2 } // the rules come first
	p, _, err := r.realize(t.Context(), w, testNetworks)
	require.ErrorIs(t, err, errFake)
	require.ErrorIs(t, p.refused[addr], errFake)
	require.Empty(t, n.tunnel)
	n.fail = func() bool { return false }
	_, _, err = r.realize(t.Context(), w, testNetworks)
	require.NoError(t, err)
	require.NotEmpty(t, n.tunnel)

	w.egresses["e"] = shapedEgress("e", 0, addr.String(), "5M", "2M")
	n.fail = func() bool { return true }
	p, _, err = r.realize(t.Context(), w, testNetworks)
	require.ErrorIs(t, err, errFake)
	require.Empty(t, p.refused)
	require.Equal(t, uint8(1), p.marks[addr])
}

// TestUnlimitedStatus: the Node with the address says in the status that a bandwidth is not kept, and no longer once it is.
func TestUnlimitedStatus(t *testing.T) {
	w := newTestWorld()
	addr := netip.MustParseAddr("192.168.1.1")
	w.local.Insert(addr)
	e := shapedEgress("e", 0, addr.String(), "1M", "2M")
	w.egresses["e"] = e
	p := decide(w, testNetworks, func(netip.Addr) (uint8, error) { return 1, nil })
	status, changed := statusOf(e, p, w, "n", nil)
	require.True(t, changed)
	require.Len(t, status.Conditions, 1)
	require.Equal(t, v1beta1.BandwidthLimited, status.Conditions[0].Type)
	require.Equal(t, "packets have no limit by its bandwidth: the feature gate EgressTrafficShaping is off", status.Conditions[0].Message)
	e.Status = status
	_, changed = statusOf(e, p, w, "n", nil)
	require.False(t, changed)
	w.shaping = true
	status, changed = statusOf(e, decide(w, testNetworks, func(netip.Addr) (uint8, error) { return 1, nil }), w, "n", nil)
	require.True(t, changed)
	require.Empty(t, status.Conditions)
}
