// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import "net/netip"

// anyIPv4 and anyIPv6 together contain every address.
var anyIPv4, anyIPv6 = netip.PrefixFrom(netip.IPv4Unspecified(), 0), netip.PrefixFrom(netip.IPv6Unspecified(), 0)

// Closing returns a rule without id that stands for unknown rules with an effect. At the place of the effect it denies Pods all
// connections of a direction, as far as such a rule can: rules of StageKubernetes isolate, others drop everything. Rules that precede
// the place still decide; in a table that is full, none of the same stage does.
func Closing(e Effect, d Direction, pods []Pod) Rule {
	if e.Order.Stage == StageKubernetes {
		return Rule{Effect: Kubernetes, Direction: d, AppliedTo: pods}
	}
	return Rule{
		Effect: Effect{Order: e.Order, Action: Drop}, Direction: d, AppliedTo: pods,
		Peers: []netip.Prefix{anyIPv4, anyIPv6}, Closes: true,
	}
}
