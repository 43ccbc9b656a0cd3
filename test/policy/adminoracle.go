// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"

	networkingv1 "k8s.io/api/networking/v1"

	crd "github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// The places of the kinds of the Kubernetes network policy API among Antrea's tiers, which Antrea's documentation names.
const (
	clusterTier       = 220
	adminTier         = 251
	lastBaselineTier  = 254
	baselineAdminRank = 1
)

// place returns a policy's place among the tiers, and its priority there.
func (a *AdminPolicy) place() (tier int32, priority float64) {
	switch {
	case a.Kind == AdminKind:
		return adminTier, float64(a.Priority)
	case a.Kind == BaselineKind:
		return lastBaselineTier, baselineAdminRank
	case a.Baseline:
		return lastBaselineTier, float64(a.Priority)
	}
	return clusterTier, float64(a.Priority)
}

// rulesOf returns the rules of a direction.
func (a *AdminPolicy) rulesOf(direction networkingv1.PolicyType) []AdminRule {
	if direction == networkingv1.PolicyTypeEgress {
		return a.Egress
	}
	return a.Ingress
}

// adminMatching returns the matching rules of policies of the Kubernetes network policy API.
func (w *World) adminMatching(p *Probe, direction networkingv1.PolicyType, subject, peer *Pod) (matching []ordered) {
	for _, policy := range w.AdminPolicies {
		if !w.isAmong(&policy.Subject, subject) {
			continue
		}
		tier, priority := policy.place()
		for i, rule := range policy.rulesOf(direction) {
			if rule.portMatches(p) && slices.ContainsFunc(rule.Peers, func(a AdminPeer) bool { return w.adminPeerMatches(&a, peer, p) }) {
				matching = append(matching, ordered{tier, priority, i, rule.Action})
			}
		}
	}
	return matching
}

// isAmong reports whether a Pod is selected.
func (w *World) isAmong(pods *AdminPods, pod *Pod) bool {
	return w.selected("", pods.Namespaces, pods.Pods, pod)
}

func (w *World) adminPeerMatches(peer *AdminPeer, pod *Pod, p *Probe) bool {
	switch {
	case peer.Pods != nil:
		return w.isAmong(peer.Pods, pod)
	case peer.Nodes != nil:
		return w.isNode(peer.Nodes, pod)
	}
	return slices.ContainsFunc(peer.Networks, func(cidr string) bool { return inAntreaBlock(&crd.IPBlock{CIDR: cidr}, pod, p) }) ||
		slices.ContainsFunc(peer.Names, func(name string) bool { return w.hasName(name, pod) })
}

// portMatches reports whether one of the ports matches. The name of a port stands for the ports of the destination that have it, whatever their
// protocol.
func (r *AdminRule) portMatches(p *Probe) bool {
	return len(r.Ports) == 0 || slices.ContainsFunc(r.Ports, func(port AdminPort) bool {
		if port.Name != "" {
			return p.To.hasPort(port.Name, p.Protocol, p.Port)
		}
		return port.Protocol == p.Protocol && port.First <= int32(p.Port) && int32(p.Port) <= port.Last
	})
}

// hasNames reports whether a rule names destinations.
func (a *AdminPolicy) hasNames() bool {
	return slices.ContainsFunc(a.Egress, func(rule AdminRule) bool {
		return slices.ContainsFunc(rule.Peers, func(peer AdminPeer) bool { return len(peer.Names) > 0 })
	})
}
