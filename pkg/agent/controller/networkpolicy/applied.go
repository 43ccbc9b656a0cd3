// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"github.com/antrea-oncache/antrea/pkg/agent/policy"
)

// applied are the Pods, and the groups of Services, that a rule on the switch applies to.
type applied struct {
	pods     []policy.Pod
	services []uint32
}

func appliedOf(t target) applied { return applied{podsOf(t.pods), t.services} }

func (a applied) none() bool { return len(a.pods) == 0 && len(a.services) == 0 }

// common returns the parts of a that are in b, with the same ports and addresses.
func (a applied) common(b applied) applied {
	services := slices.DeleteFunc(slices.Clone(a.services), func(g uint32) bool { return !slices.Contains(b.services, g) })
	return applied{policy.CommonPods(a.pods, b.pods), services}
}

// without returns the parts of a that are not in b.
func (a applied) without(b applied) applied {
	common := a.common(b)
	known := make(map[string]bool, len(common.pods))
	for _, pod := range common.pods {
		known[pod.InterfaceName] = true
	}
	return applied{
		slices.DeleteFunc(slices.Clone(a.pods), func(pod policy.Pod) bool { return known[pod.InterfaceName] }),
		slices.DeleteFunc(slices.Clone(a.services), func(g uint32) bool { return slices.Contains(common.services, g) }),
	}
}

// and returns the union.
func (a applied) and(b applied) applied {
	more := b.without(a)
	return applied{slices.Concat(a.pods, more.pods), slices.Concat(a.services, more.services)}
}

// asPods returns a with a Pod for each group of a Service, as policy.Closed compares Pods only. No Pod has such an address (RFC 6666).
func (a applied) asPods() []policy.Pod {
	pods := slices.Clip(a.pods)
	for _, group := range a.services {
		address := [16]byte{0: 1}
		binary.BigEndian.PutUint32(address[12:], group)
		pods = append(pods, policy.Pod{OFPort: group, IPs: []netip.Addr{netip.AddrFrom16(address)}, InterfaceName: "Service " + netip.AddrFrom16(address).String()})
	}
	return pods
}

// appliedRule returns what a rule applies to.
func appliedRule(r *policy.Rule) applied { return applied{r.AppliedTo, r.AppliedToServices} }

// withGroups returns rules that policy.Closed compares with regard to the groups of Services that they apply to.
func withGroups(rules []*policy.Rule) []*policy.Rule {
	rules = slices.Clone(rules)
	for i, r := range rules {
		if len(r.AppliedToServices) > 0 {
			with := *r
			with.AppliedTo, with.AppliedToServices = appliedRule(r).asPods(), nil
			rules[i] = &with
		}
	}
	return rules
}
