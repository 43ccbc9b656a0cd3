// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"net/netip"
	"slices"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
)

// redirects reports whether new connections to a Pod's address may lead to a Service after the change, as with an address of a Pod in
// externalIPs. Entries of established flows are not concerned; openings are, and packets that would teach them. The caller holds mu.
func (l *ledger) redirects(c coherency.Change) bool {
	return l.openings && slices.ContainsFunc(c.Frontends, l.inPodNetwork)
}

// inPodNetwork reports whether the address is in the Pod network of a remote Node, or a local Pod's. The caller holds mu.
func (l *ledger) inPodNetwork(address netip.Addr) bool {
	contains := func(p netip.Prefix) bool { return p.Contains(address) }
	for _, n := range l.eachNode() {
		if slices.ContainsFunc(n.PodCIDRs, contains) {
			return true
		}
	}
	for _, e := range l.endpoints {
		if slices.Contains(e.pod.IPs, address) {
			return true
		}
	}
	return false
}
