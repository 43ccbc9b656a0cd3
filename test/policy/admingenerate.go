// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// adminNames are names and patterns that rules of the Kubernetes network policy API have.
var adminNames = [...]string{"a.test", "b.test.", "*.sub.test", "x.sub.test"}

// adminPolicies returns policies of the Kubernetes network policy API, new ones and some of the last World's, unchanged or edited. Five of
// eight Worlds may have some.
func (g *Generator) adminPolicies() (policies []*AdminPolicy) {
	if g.set%8 < 2 || g.quiet() {
		return nil
	}
	last := map[string]*AdminPolicy{}
	if g.last != nil {
		for _, p := range g.last.AdminPolicies {
			last[p.Kind+p.Name] = p
		}
	}
	for _, place := range [][2]string{{AdminKind, "p0"}, {AdminKind, "p1"}, {BaselineKind, "default"}, {ClusterKind, "np0"}, {ClusterKind, "np1"}} {
		old := last[place[0]+place[1]]
		switch n := g.rng.IntN(100); {
		case old != nil && n < 30:
			policies = append(policies, old)
		case n < 50:
			p := &AdminPolicy{Kind: place[0], Name: place[1], UID: types.UID(fmt.Sprint(place[0], "-", place[1], "-", g.set)), Generation: 1}
			if old != nil {
				p.UID, p.Generation = old.UID, old.Generation+1
			}
			g.fillAdmin(p)
			policies = append(policies, p)
		}
	}
	return policies
}

func (g *Generator) fillAdmin(p *AdminPolicy) {
	p.Priority = pick(g.rng, []int32{0, 5, 5, 10, 1000})
	p.Baseline = p.Kind == ClusterKind && g.chance(40)
	p.Subject = g.adminPods()
	for range g.rng.IntN(4) {
		p.Ingress = append(p.Ingress, g.adminRule(p, false))
	}
	for range g.rng.IntN(4) {
		p.Egress = append(p.Egress, g.adminRule(p, true))
	}
}

func (g *Generator) adminPods() AdminPods {
	pods := AdminPods{Namespaces: g.namespaceSelector()}
	if g.chance(60) {
		pods.Pods = ptr.To(g.selector())
	}
	return pods
}

// adminRule returns a rule. The API permits names of destinations only with the action Allow, and names of ports only beside Pods.
func (g *Generator) adminRule(p *AdminPolicy, egress bool) AdminRule {
	rule := AdminRule{Action: pick(g.rng, []Opinion{MayAllow, MayDrop, MayDrop, mayPass, mayPass})}
	if p.Kind == BaselineKind && rule.Action == mayPass {
		rule.Action = MayAllow
	}
	namesOfPorts := true
	for range 1 + g.rng.IntN(2) {
		var peer AdminPeer
		switch n := g.rng.IntN(10); {
		case egress && n < 1:
			peer.Nodes = g.nodeSelector()
		case egress && n < 3:
			peer.Networks = []string{g.block().CIDR, g.block().CIDR}
		case egress && n < 5 && g.turnover && p.Kind != BaselineKind:
			rule.Action, peer.Names = MayAllow, []string{pick(g.rng, adminNames[:]), g.freshName()}
		default:
			peer.Pods = ptr.To(g.adminPods())
		}
		namesOfPorts = namesOfPorts && peer.Pods != nil
		rule.Peers = append(rule.Peers, peer)
	}
	for range pick(g.rng, []int{0, 0, 1, 2}) {
		number := pick(g.rng, numbers)
		port := AdminPort{Protocol: pick(g.rng, protocols), First: int32(number), Last: int32(number)}
		switch n := g.rng.IntN(10); {
		case n < 5 && namesOfPorts:
			port = AdminPort{Name: pick(g.rng, names)}
		case n < 7:
			port.Last = pick(g.rng, []int32{port.First + 1, 8083, 65535})
		}
		if port.Last < port.First {
			port.Last = 65535
		}
		rule.Ports = append(rule.Ports, port)
	}
	return rule
}

// limits returns the first and last ports of the policy's ranges.
func (a *AdminPolicy) limits(add func(protocol corev1.Protocol, first, last int32)) {
	for _, rules := range [][]AdminRule{a.Ingress, a.Egress} {
		for _, rule := range rules {
			for _, port := range rule.Ports {
				if port.Name == "" {
					add(port.Protocol, port.First, port.Last)
				}
			}
		}
	}
}
