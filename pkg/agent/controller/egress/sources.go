// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import "net/netip"

// Source is the Egress of a Pod, as others show it.
type Source struct {
	Egress string
	Addr   netip.Addr
	// Node has the address; empty while none has, or that is unknown.
	Node string
}

// Sources returns the Egresses of the addresses of this Node's Pods, for connections to outside the cluster that no exception concerns.
func (c *Controller) Sources() map[netip.Addr]Source {
	return c.snapshot().sources()
}

func (w *world) sources() map[netip.Addr]Source {
	found, byPod := map[netip.Addr]Source{}, w.deciding()
	for _, i := range w.interfaces {
		for _, e := range byPod[i.pod] {
			for _, pod := range i.addrs {
				if pod.Is4() == addrOf(e).Is4() {
					found[pod] = Source{e.Name, addrOf(e), e.Status.EgressNode}
				}
			}
		}
	}
	return found
}
