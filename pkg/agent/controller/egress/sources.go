// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"net/netip"
	"slices"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

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
	found := map[netip.Addr]Source{}
	ordered := slices.DeleteFunc(oldestFirst(w.egresses), func(e *v1beta1.Egress) bool { return !addrOf(e).IsValid() })
	for _, i := range w.interfaces {
		for _, pod := range i.addrs {
			decides := func(e *v1beta1.Egress) bool { return addrOf(e).Is4() == pod.Is4() && w.groups[e.Name].Has(i.pod) }
			if at := slices.IndexFunc(ordered, decides); at >= 0 {
				e := ordered[at]
				found[pod] = Source{e.Name, addrOf(e), e.Status.EgressNode}
			}
		}
	}
	return found
}
