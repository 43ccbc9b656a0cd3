// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"net/netip"
)

// leavesAs names the Egress of connections from a local Pod to an address that AntreaProxy does not have; empty if they have none.
func (e *Explainer) leavesAs(local, peer netip.Addr) string {
	if e.Egress == nil {
		return ""
	}
	name, addr, node := e.Egress(local, peer)
	switch {
	case name == "":
		return ""
	case node == "":
		return fmt.Sprintf("leaves as %s of Egress %s, which no Node has", addr, name)
	}
	return fmt.Sprintf("leaves as %s of Egress %s on Node %s", addr, name, node)
}
