// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policycases

// The Node policies apply to Node 1, which is x: x/a is a Pod with its network. y/a is one with the network of Node 0, and z/a a Pod of Node 1. Upstream
// needs a third Node, because it leaves the control plane alone.
const (
	nodeX = 1
	nodeY = 0
)

// HostPods is the mesh of NodeHosts.
var HostPods = []Pod{{Namespace: "x", Name: "a", Node: nodeX, HostNetwork: true}, {Namespace: "y", Name: "a", Node: nodeY, HostNetwork: true}}

// NodePods is the mesh of NodeGroups: y/a has a network of its own.
var NodePods = []Pod{HostPods[0], {Namespace: "y", Name: "a", Node: nodeY}, {Namespace: "z", Name: "a", Node: nodeX}}

// Pairs of the mesh.
const (
	xToY = "x/a > y/a: "
	yToX = "y/a > x/a: "
	xToZ = "x/a > z/a: "
)

// NodeHosts are the cases of TestAntreaNodeNetworkPolicy between Nodes.
var NodeHosts = []Case{
	nodeNoIsolation("ACNPAllowNoDefaultIsolationTCP", TCP),
	nodeNoIsolation("ACNPAllowNoDefaultIsolationUDP", UDP),
	nodeNoIsolation("ACNPAllowNoDefaultIsolationSCTP", SCTP),
	nodeEgress("ACNPDropEgress", "Drop", TCP, Dropped),
	nodeEgress("ACNPDropEgressUDP", "Drop", UDP, Dropped),
	nodeEgress("ACNPDropEgressSCTP", "Drop", SCTP, Dropped),
	nodeIngress("ACNPDropIngress", "Drop", TCP, Dropped),
	nodeIngress("ACNPDropIngressUDP", "Drop", UDP, Dropped),
	nodeIngress("ACNPDropIngressSCTP", "Drop", SCTP, Dropped),
	{"ACNPPortRange", []Step{{
		Do: do(acnp("acnp-port-range", 1, appliedTo(node(nodeX)), egress(to("Drop", portRange, node(nodeY))))), Ports: []int{8080, 8081, 8082},
		Want: []string{xToY + Dropped},
	}}},
	{"ACNPSourcePort", []Step{
		{Do: do(nodeSourcePort("")), Want: []string{yToX + Dropped}},
		{Do: do(nodeSourcePort("port: 80, ")), Ports: []int{81}},
		{Do: do(nodeSourcePort("port: 80, endPort: 81, ")), Ports: []int{81}, Want: []string{yToX + Dropped}},
	}},
	// A rejected packet of the Node itself over UDP or SCTP gets no answer: sending fails, or times out.
	nodeEgress("ACNPRejectEgress", "Reject", TCP, Rejected),
	nodeEgress("ACNPRejectEgressUDP", "Reject", UDP, Dropped),
	nodeEgress("ACNPRejectEgressSCTP", "Reject", SCTP, Dropped),
	nodeIngress("ACNPRejectIngress", "Reject", TCP, Rejected),
	nodeIngress("ACNPRejectIngressUDP", "Reject", UDP, Rejected),
	{"ACNPNoEffectOnOtherProtocols", []Step{
		{Do: do(acnp("acnp-deny-ingress", 1, appliedTo(node(nodeX)), ingress(from("Drop", tcp80, node(nodeY))))), Want: []string{yToX + Dropped}},
		{Protocol: UDP},
	}},
	{"ACNPPriorityOverride", []Step{
		{Do: do(fromY("acnp-priority3", 1.003, "Drop"), fromY("acnp-priority2", 1.002, "Allow"))},
		{Do: []Change{
			remove(fromY("acnp-priority3", 1, "")), remove(fromY("acnp-priority2", 1, "")), apply(fromY("acnp-priority3", 1.003, "Drop")),
			apply(fromY("acnp-priority1", 1.001, "Drop")), apply(fromY("acnp-priority2", 1.002, "Allow")),
		}, Want: []string{yToX + Dropped}},
	}},
	{"ACNPTierOverride", []Step{
		{Do: do(fromY("acnp-tier-application", 1, "Drop", tier("application")), fromY("acnp-tier-securityops", 10, "Allow", tier("securityops")))},
		{Do: do(fromY("acnp-tier-emergency", 100, "Drop", tier("emergency"))), Want: []string{yToX + Dropped}},
	}},
	{"ACNPCustomTiers", []Step{{Do: do(
		tierObject("high-priority", 245), tierObject("low-priority", 246),
		fromY("acnp-tier-low", 1, "Drop", tier("low-priority")), fromY("acnp-tier-high", 100, "Allow", tier("high-priority")),
	)}}},
	{"ACNPPriorityConflictingRule", []Step{{Do: do(fromY("acnp-drop", 1, "Drop"), fromY("acnp-allow", 2, "Allow")), Want: []string{yToX + Dropped}}}},
	{"ACNPAppliedToClusterGroupWithNodeSelector", []Step{{
		Do:   do(clusterGroup("cg-node-x", node(nodeX)), acnp("acnp-cg-node-x", 1, appliedTo(inGroup("cg-node-x")), egress(to("Drop", tcp80, node(nodeY))))),
		Want: []string{xToY + Dropped},
	}}},
}

// NodeGroups are the cases of TestAntreaNodeNetworkPolicy about Pods as peers of a Node.
var NodeGroups = []Case{
	{"ACNPNamespaceIsolation", []Step{{
		Do:   do(acnp("test-acnp-ns-isolation", 1, tier("baseline"), appliedTo(node(nodeX)), egress(to("Drop", "", namespace("y"))))),
		Want: []string{xToY + Dropped},
	}}},
	{"ACNPClusterGroupUpdate", []Step{
		{Do: do(clusterGroup("cg-z-then-y", namespace("z")), toGroup("cg-z-then-y")), Want: []string{xToZ + Dropped}},
		{Do: do(clusterGroup("cg-z-then-y", namespace("y"))), Want: []string{xToY + Dropped}},
	}},
	{"ACNPClusterGroupRefRuleIPBlocks", []Step{{
		Do:   do(clusterGroup("cg-block-y", blocks("y/a")), clusterGroup("cg-block-z", blocks("z/a")), toGroup("cg-block-y", "cg-block-z")),
		Want: []string{xToY + Dropped, xToZ + Dropped},
	}}},
	{"ACNPNestedClusterGroup", []Step{
		{Do: do(clusterGroup("cg-z", namespace("z")), clusterGroup("cg-parent", children("cg-z", "cg-later")), toGroup("cg-parent")), Want: []string{xToZ + Dropped}},
		{Do: do(clusterGroup("cg-later", namespace("y"))), Want: []string{xToY + Dropped, xToZ + Dropped}},
		{Do: do(clusterGroup("cg-parent", children("cg-later"))), Want: []string{xToY + Dropped}},
	}},
	{"ACNPNestedIPBlockClusterGroup", []Step{
		{Do: do(clusterGroup("cg-block-z", blocks("z/a")), clusterGroup("cg-parent", children("cg-block-z")), toGroup("cg-parent")), Want: []string{xToZ + Dropped}},
		{Do: do(clusterGroup("cg-pods-y", in("y", "a")), clusterGroup("cg-parent", children("cg-block-z", "cg-pods-y"))), Want: []string{xToY + Dropped, xToZ + Dropped}},
	}},
}

func nodeNoIsolation(name, protocol string) Case {
	return Case{name, []Step{{
		Do:       do(acnp("acnp-allow-y", 1.1, appliedTo(node(nodeX)), ingress(from("Allow", port(protocol, 81), node(nodeY))), egress(to("Allow", port(protocol, 81), node(nodeY))))),
		Protocol: protocol, Ports: []int{81},
	}}}
}

func nodeEgress(name, action, protocol, want string) Case {
	policy := acnp("acnp-egress", 1, appliedTo(node(nodeX)), egress(to(action, port(protocol, 80), node(nodeY))))
	return Case{name, []Step{{Do: do(policy), Protocol: protocol, Want: []string{xToY + want}}}}
}

func nodeIngress(name, action, protocol, want string) Case {
	policy := acnp("acnp-ingress", 1, appliedTo(node(nodeX)), ingress(from(action, port(protocol, 80), node(nodeY))))
	return Case{name, []Step{{Do: do(policy), Protocol: protocol, Want: []string{yToX + want}}}}
}

func nodeSourcePort(destination string) Object {
	return acnp("acnp-source-port", 1, appliedTo(node(nodeX)),
		ingress(from("Drop", "ports: [{protocol: TCP, "+destination+"sourcePort: ${first port}, sourceEndPort: ${last port}}]", node(nodeY))))
}

// fromY is a policy for connections from Node y to Node x.
func fromY(name string, priority float64, action string, fields ...string) Object {
	return acnp(name, priority, append(fields, appliedTo(node(nodeX)), ingress(from(action, tcp80, node(nodeY))))...)
}

// toGroup drops connections from Node x to the members of groups.
func toGroup(names ...string) Object {
	var peers []string
	for _, n := range names {
		peers = append(peers, inGroup(n))
	}
	return acnp("acnp-to-group", 1, appliedTo(node(nodeX)), egress(to("Drop", tcp80, peers...)))
}
