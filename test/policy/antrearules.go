// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	crd "github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// middlePort divides source ports.
const middlePort = 30000

func (g *Generator) action(tier string) *crd.RuleAction {
	actions := []crd.RuleAction{crd.RuleActionAllow, crd.RuleActionAllow, crd.RuleActionDrop, crd.RuleActionDrop, crd.RuleActionReject, crd.RuleActionPass}
	if tier == crd.BaselineTier {
		actions = actions[:len(actions)-1]
	}
	return ptr.To(pick(g.rng, actions))
}

// antreaRule returns a rule. Its name is unique in the policy.
func (g *Generator) antreaRule(namespace, direction, tier string, perRule bool) crd.Rule {
	rule := crd.Rule{Action: g.action(tier), Name: fmt.Sprint(direction, g.ruleNumber)}
	g.ruleNumber++
	for range pick(g.rng, []int{0, 1, 1, 2, 3}) {
		peer := g.antreaPeer(namespace)
		if direction == "egress" {
			if g.turnover && g.chance(10) {
				peer = crd.NetworkPolicyPeer{FQDN: g.fqdn()}
			}
			rule.To = append(rule.To, peer)
		} else {
			rule.From = append(rule.From, peer)
		}
	}
	switch n := g.rng.IntN(100); {
	case direction == "egress" && g.turnover && n < 12:
		rule.To = nil
		for range 1 + g.rng.IntN(2) {
			rule.ToServices = append(rule.ToServices, g.peerService(namespace))
		}
	case direction == "egress" && g.turnover && n < 24:
		rule.To = []crd.NetworkPolicyPeer{{FQDN: g.fqdn()}, {FQDN: g.fqdn()}}
	default:
		g.addPorts(&rule)
	}
	if perRule {
		rule.AppliedTo = g.appliedTo(namespace)
	}
	return rule
}

// peerService names a Service that is dialed, or one that does not exist.
func (g *Generator) peerService(namespace string) crd.PeerService {
	to := pick(g.rng, clusterIPs)
	service := crd.PeerService{Namespace: to.Namespace, Name: to.Name}
	if namespace != "" && g.chance(50) {
		service.Namespace = ""
	}
	return service
}

// addPorts adds ports and protocols to a rule.
func (g *Generator) addPorts(rule *crd.Rule) {
	rule.Ports = g.antreaPorts()
	if g.chance(30) {
		icmp := &crd.ICMPProtocol{}
		if g.chance(75) {
			icmp.ICMPType = ptr.To(pick(g.rng, []int32{echoRequest, echoRequest, echoRequest6, echoRequest6, 0, 13}))
			if g.chance(75) {
				icmp.ICMPCode = ptr.To(pick(g.rng, []int32{0, 1, 1}))
			}
		}
		rule.Protocols = append(rule.Protocols, crd.NetworkPolicyProtocol{ICMP: icmp})
	}
}

// groupName returns the name of a group that may exist, more often of the one with children.
func (g *Generator) groupName(namespace string) string {
	names := groupNames
	if namespace == "" {
		names = clusterGroupNames
	}
	if g.chance(30) {
		return fmt.Sprint("g", names-1)
	}
	return fmt.Sprint("g", g.rng.IntN(names))
}

func (g *Generator) serviceAccount() *crd.NamespacedName {
	return &crd.NamespacedName{Namespace: namespaceName(g.rng.IntN(namespaces)), Name: pick(g.rng, accounts)}
}

// appliedTo returns one or two entries. Nodes and Services are not among them.
func (g *Generator) appliedTo(namespace string) (entries []crd.AppliedTo) {
	for range 1 + g.rng.IntN(2) {
		var entry crd.AppliedTo
		switch n := g.rng.IntN(10); {
		case n < 2, n < 4 && namespace != "":
			entry.Group = g.groupName(namespace)
		case n < 3 && namespace == "":
			entry.ServiceAccount = g.serviceAccount()
		case n < 6 && namespace == "":
			entry.NamespaceSelector = g.namespaceSelector()
			if g.chance(50) {
				entry.PodSelector = ptr.To(g.selector())
			}
		default:
			entry.PodSelector = ptr.To(g.selector())
		}
		entries = append(entries, entry)
	}
	return entries
}

func (g *Generator) antreaPeer(namespace string) (peer crd.NetworkPolicyPeer) {
	switch n := g.rng.IntN(28); {
	case n < 3:
		block := g.block()
		peer.IPBlock = &crd.IPBlock{CIDR: block.CIDR, Except: block.Except}
	case n < 9:
		peer.Group = g.groupName(namespace)
	case n < 12:
		peer.NodeSelector = g.nodeSelector()
	case n < 14 && namespace == "":
		peer.ServiceAccount = g.serviceAccount()
	case n < 19 && namespace == "":
		peer.Namespaces = &crd.PeerNamespaces{Match: crd.NamespaceMatchSelf}
		if g.chance(72) {
			peer.Namespaces = &crd.PeerNamespaces{SameLabels: pick(g.rng, [][]string{{"team"}, {"env"}, {"team", "env"}, {"env", "team"}, {"team", "env"}, {"env", "team"}, {"team", "env"}, {"env", "team"}})}
		}
		if g.chance(40) {
			peer.PodSelector = ptr.To(g.selector())
		}
	case n < 20:
		// An empty peer is all Pods.
	case n < 24:
		peer.NamespaceSelector = g.namespaceSelector()
		if g.chance(50) {
			peer.PodSelector = ptr.To(g.selector())
		}
	default:
		peer.PodSelector = ptr.To(g.selector())
	}
	return peer
}

// antreaPorts returns ports as Kubernetes' policies have them, some with source ports, and these more often of SCTP: it has flows of its own.
func (g *Generator) antreaPorts() (ports []crd.NetworkPolicyPort) {
	if g.chance(40) {
		return nil
	}
	for _, port := range g.ports() {
		p := crd.NetworkPolicyPort{Protocol: port.Protocol, Port: port.Port, EndPort: port.EndPort}
		if g.chance(45) {
			r := pick(g.rng, [][2]int32{{0, middlePort - 1}, {middlePort, 65535}, {middlePort - 1, middlePort}, {middlePort, middlePort}, {10007, 44001}})
			p.SourcePort, p.SourceEndPort = &r[0], &r[1]
			if r[0] == r[1] {
				p.SourceEndPort = nil
			}
			if g.chance(30) {
				p.Protocol = ptr.To(corev1.ProtocolSCTP)
			}
		}
		ports = append(ports, p)
	}
	return ports
}

// sourcePort returns a port that policies name or the one before or after it, always so for SCTP, which policies name least; 0 means any.
func (g *Generator) sourcePort(protocol corev1.Protocol) uint16 {
	if !g.antrea || protocol == ICMP || protocol != corev1.ProtocolSCTP && g.chance(60) {
		return 0
	}
	return pick(g.rng, []uint16{middlePort - 2, middlePort - 1, middlePort, middlePort + 1, 10006, 10007, 44001, 44002})
}
