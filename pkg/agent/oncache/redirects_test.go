// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
)

// TestOpeningsAreMarked: with openings, marks of Pods ask for them, the gateway's do not.
func TestOpeningsAreMarked(t *testing.T) {
	for _, openings := range []bool{false, true} {
		e := newEnv(t)
		e.openings = openings
		e.add(t, "a", "10.10.1.2")
		e.add(t, "gw", "10.10.1.1")
		e.endpoints["gw"].pod.Gateway = true
		for _, m := range e.writeMarks() {
			require.Equal(t, openings && m.InterfaceName == "a", m.Openings, "%+v", m)
		}
	}
}

// TestAddressesOfPodsThatBecomeServices: a Service at a Pod's address redirects new connections to the Pod. Packets that Open vSwitch still treats
// otherwise must not teach openings, so all epochs change. Without openings nothing is concerned.
func TestAddressesOfPodsThatBecomeServices(t *testing.T) {
	for address, concerned := range map[string]bool{
		"10.96.0.10": false, "192.168.77.12": false, "10.10.1.77": false, // no Pod has it
		"10.10.2.9": true, "fd00:10:2::9": true, "10.10.1.2": true,
	} {
		for _, openings := range []bool{false, true} {
			e := newEnv(t, "a", "b")
			e.openings = openings
			_, end := e.Begin(coherency.Change{Nodes: []coherency.Node{remote("node-2", "192.168.77.12", "10.10.2.0/24", "fd00:10:2::/64")}})
			end(nil)
			marks, end := e.Begin(coherency.Change{Frontends: []netip.Addr{netip.MustParseAddr("10.96.0.1"), netip.MustParseAddr(address)}})
			end(nil)
			if concerned && openings {
				require.Equal(t, []string{"a=2", "b=2"}, describe(marks), address)
			} else {
				require.Empty(t, marks, address)
			}
		}
	}
}
