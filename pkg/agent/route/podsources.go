// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import "slices"

// forgedPods matches packets from other devices with the address of a local Pod, besides the gateway's own. With noSNAT such a packet may have come
// back from a load balancer outside: nothing matches.
func (p ruleParams) forgedPods() [][]string {
	if !p.podCIDR.IsValid() || p.noSNAT {
		return nil
	}
	return [][]string{{"!", "-i", p.gateway, "-s", p.podCIDR.String()}}
}

// dropForgedPods drops these packets: policies would take their sender for the Pod. Linux only does so where rp_filter is 1, and not for IPv6.
func (t *table) dropForgedPods(p ruleParams) {
	for _, forged := range p.forgedPods() {
		t.add(chainPrefix+chainPrerouting, "drop packets from elsewhere with addresses of local Pods",
			slices.Concat(forged, []string{"-m", "addrtype", "!", "--src-type", "LOCAL", "-j", "DROP"})...)
	}
}

// rawMatches match what rawTable drops or does not track in PREROUTING.
func rawMatches(p ruleParams) [][]string {
	if p.tunnelPort == 0 {
		return p.forgedPods()
	}
	return slices.Concat(tunnelMatches(p), p.forgedPods())
}
