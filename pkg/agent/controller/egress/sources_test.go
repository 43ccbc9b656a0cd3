// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/sets"
)

// TestSources: the Egress that decides is shown for each address of a Pod, as decide chooses it.
func TestSources(t *testing.T) {
	w := newTestWorld()
	pod4, pod6, other := netip.MustParseAddr("10.10.0.5"), netip.MustParseAddr("fd00:10::5"), netip.MustParseAddr("10.10.0.6")
	w.interfaces["i"] = podInterface{pod: podNamed("p"), ofPort: 1, addrs: []netip.Addr{pod4, pod6}}
	w.interfaces["j"] = podInterface{pod: podNamed("q"), ofPort: 2, addrs: []netip.Addr{other}}
	for i, addr := range []string{"", "192.168.1.9", "192.168.1.10", "2001:db8::1"} {
		e := makeEgress("e"+addr, int64(i), addr)
		w.egresses[e.Name], w.groups[e.Name] = e, sets.New(podNamed("p"))
	}
	w.egresses["e192.168.1.9"].Status.EgressNode = "node-2"
	require.Equal(t, map[netip.Addr]Source{
		pod4: {"e192.168.1.9", netip.MustParseAddr("192.168.1.9"), "node-2"}, pod6: {"e2001:db8::1", netip.MustParseAddr("2001:db8::1"), ""},
	}, w.sources())
	p := decide(w, testNetworks, func(netip.Addr) (uint8, error) { return 1, nil })
	require.Equal(t, []netip.Addr{netip.MustParseAddr("192.168.1.9"), netip.MustParseAddr("2001:db8::1")}, []netip.Addr{p.pods["i"].sources[0].Addr, p.pods["i"].sources[1].Addr})
}
