// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"net/netip"
	"slices"
)

// Closed reports whether the rules after allow no connection of the Pods that the rules before deny, whatever other rules there are. It may
// return false although that is so: it compares rules one by one, and does not add them up.
//
// It is so if each rule that allows is within one of before, each rule that denies is still within one of after, each rule that passes is
// within one of after that passes or denies, none passes more than before, and Pods that were isolated still are; all at the same place in
// the evaluation. Then the first rule of after that matches a connection and allows it has one of before around it, and no rule of before
// comes earlier and denies or passes: it would be within one of after.
func Closed(before, after []*Rule, pods []Pod) bool {
	for _, r := range after {
		if r.Effect.allows() && !r.withinOne(before, Effect.allows, r.AppliedTo) || r.Effect.Action == Pass && !r.withinOne(before, Effect.passes, r.AppliedTo) {
			return false
		}
	}
	for _, r := range before {
		applied := CommonPods(r.AppliedTo, pods)
		if r.Effect.denies() && !r.withinOne(after, Effect.denies, applied) || r.Effect.Action == Pass && !r.withinOne(after, Effect.keeps, applied) {
			return false
		}
		if r.Effect.Isolates && !isolatesAll(after, r.Direction, applied) {
			return false
		}
	}
	return true
}

func (e Effect) allows() bool { return e.Action == Allow }
func (e Effect) passes() bool { return e.Action == Pass }
func (e Effect) denies() bool { return !e.allows() && !e.passes() }
func (e Effect) keeps() bool  { return !e.allows() }

// withinOne reports whether one of the rules, at the same place in the evaluation and with such an action, matches every connection that r
// matches at the Pods applied.
func (r *Rule) withinOne(rules []*Rule, action func(Effect) bool, applied []Pod) bool {
	nowhere := len(applied) == 0 && len(r.AppliedToServices) == 0
	return nowhere || PeersOf(r, true, true).None() && len(r.PeerServices) == 0 || slices.ContainsFunc(rules, func(other *Rule) bool {
		return action(other.Effect) && r.Effect.Order == other.Effect.Order && r.Direction == other.Direction &&
			r.servicesWithin(other) && r.peersWithin(other) && podsWithin(applied, other.AppliedTo) &&
			(other.matchesAnyPeer() || groupsWithin(r.PeerServices, other.PeerServices)) && groupsWithin(r.AppliedToServices, other.AppliedToServices) &&
			(len(r.AppliedToServices) > 0) == (len(other.AppliedToServices) > 0)
	})
}

// matchesAnyPeer reports whether every address is a peer of the rule.
func (r *Rule) matchesAnyPeer() bool {
	return slices.Contains(r.Peers, anyIPv4) && slices.Contains(r.Peers, anyIPv6)
}

// groupsWithin reports whether all groups are among others.
func groupsWithin(groups, others []uint32) bool {
	return !slices.ContainsFunc(groups, func(g uint32) bool { return !slices.Contains(others, g) })
}

func (r *Rule) servicesWithin(other *Rule) bool {
	if len(other.Services) == 0 || len(r.Services) == 0 {
		return len(other.Services) == 0
	}
	return !slices.ContainsFunc(r.Services, func(s Service) bool { return !slices.ContainsFunc(other.Services, s.within) })
}

// isolatesAll reports whether rules isolate each of the Pods.
func isolatesAll(rules []*Rule, direction Direction, pods []Pod) bool {
	var isolated []Pod
	for _, r := range rules {
		if r.Effect.Isolates && r.Direction == direction {
			isolated = append(isolated, r.AppliedTo...)
		}
	}
	return podsWithin(pods, isolated)
}

// podsWithin reports whether all addresses of pods belong to others.
func podsWithin(pods, others []Pod) bool {
	addresses := map[netip.Addr]bool{}
	for _, pod := range others {
		for _, ip := range pod.IPs {
			addresses[ip] = true
		}
	}
	for _, pod := range pods {
		for _, ip := range pod.IPs {
			if !addresses[ip] {
				return false
			}
		}
	}
	return true
}

// CommonPods returns the Pods of old that are in now with the same port and addresses.
func CommonPods(old, now []Pod) []Pod {
	present := make(map[string]Pod, len(now))
	for _, pod := range now {
		present[pod.InterfaceName] = pod
	}
	var common []Pod
	for _, pod := range old {
		if same, ok := present[pod.InterfaceName]; ok && same.OFPort == pod.OFPort && slices.Equal(same.IPs, pod.IPs) {
			common = append(common, pod)
		}
	}
	return common
}
