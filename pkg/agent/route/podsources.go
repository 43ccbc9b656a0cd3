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

// dropForgedPods drops these packets where the host forwards them: policies would take their sender for the Pod. Linux only does so where rp_filter is 1,
// and not for IPv6. Tunnel packets are not forwarded: a rule in PREROUTING would take each 700 instructions.
func (t *table) dropForgedPods(p ruleParams) {
	for _, forged := range p.forgedPods() {
		t.add(chainPrefix+chainForward, "drop packets from elsewhere with addresses of local Pods",
			slices.Concat(forged, []string{"-m", "addrtype", "!", "--src-type", "LOCAL", "-j", "DROP"})...)
	}
}

// untranslated matches packets that leave the cluster with a local Pod's source, although the Node gives such packets its own: the kernel translates none that
// it calls invalid, such as the end of a TCP connection that connection tracking has forgotten, because an address of the Node has gone or time has passed.
func (p ruleParams) untranslated() [][]string {
	if !p.podCIDR.IsValid() || p.noSNAT {
		return nil
	}
	return [][]string{{"-i", p.gateway, "!", "-o", p.gateway, "-s", p.podCIDR.String(), "-m", "conntrack", "--ctstate", "INVALID", "-m", "set", "!", "--match-set", p.podSet, "dst"}}
}

func (t *table) dropUntranslated(p ruleParams) {
	for _, match := range p.untranslated() {
		t.add(chainPrefix+chainForward, "drop packets to outside that cannot be translated", append(match, "-j", "DROP")...)
	}
}
