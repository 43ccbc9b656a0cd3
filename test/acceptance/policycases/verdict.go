// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policycases

// verdicts are cases about actions, protocols and ports.
var verdicts = []Case{
	noIsolation("ACNPAllowNoDefaultIsolationTCP", TCP),
	noIsolation("ACNPAllowNoDefaultIsolationUDP", UDP),
	noIsolation("ACNPAllowNoDefaultIsolationSCTP", SCTP),
	dropEgress("ACNPDropEgress", TCP),
	dropEgress("ACNPDropEgressUDP", UDP),
	dropEgress("ACNPDropEgressSCTP", SCTP),
	{"ACNPDropIngressInNamespace", []Step{{
		Do: do(acnp("acnp-deny-ingress-to-x", 1, appliedTo(namespace("x")), ingress(from("Drop", tcp80)))), Want: []string{"*/* > x/*: Dropped"},
	}}},
	{"ACNPDropIPBlockWithExcept", []Step{
		{
			Do: do(acnp("acnp-deny-except", 1, appliedTo(in("y", "a")), egress(
				to("Drop", tcp80, "ipBlock: {cidr: 0.0.0.0/0, except: ["+address("x/a")+", "+address("x/b")+"]}")))),
			Want: []string{"y/a > */*: Dropped", "y/a > x/a,b: Connected"},
		},
		{
			Do:   do(acnp("acnp-deny-ya-to-xa", 2, appliedTo(in("y", "a")), egress(to("Drop", tcp80, in("x", "a"))))),
			Want: []string{"y/a > */*: Dropped", "y/a > x/b: Connected"},
		},
	}},
	{"ACNPPortRange", []Step{{
		Do: do(acnp("acnp-port-range", 1, appliedTo(pods("a")), egress(to("Drop", portRange, namespace("z"))))), Ports: []int{8080, 8081, 8082},
		Want: []string{"*/a > z/*: Dropped"},
	}}},
	{"ANNPPortRange", []Step{{
		Do: do(annp("y", "annp-port-range", 1, appliedTo(pods("b")), egress(to("Drop", portRange, namespace("z"))))), Ports: []int{8080, 8081, 8082},
		Want: []string{"y/b > z/*: Dropped"},
	}}},
	{"ACNPSourcePort", []Step{
		{Do: do(sourcePort("")), Want: []string{"x/b > */a: Dropped"}},
		{Do: do(sourcePort("port: 80, ")), Ports: []int{81}},
		{Do: do(sourcePort("port: 80, endPort: 81, ")), Ports: []int{81}, Want: []string{"x/b > */a: Dropped"}},
	}},
	{"ACNPRejectEgress", []Step{{
		Do: do(acnp("acnp-reject-a-to-z-egress", 1, appliedTo(pods("a")), egress(to("Reject", tcp80, namespace("z"))))), Want: []string{"*/a > z/*: Rejected"},
		Evaluations: []Evaluation{{"x/a", "z/b", "acnp-reject-a-to-z-egress", "Reject"}},
	}}},
	rejectIngress("ACNPRejectIngress", TCP),
	rejectIngress("ACNPRejectIngressUDP", UDP),
	{"ACNPNoEffectOnOtherProtocols", []Step{
		{Do: do(acnp("acnp-deny-a-to-z-ingress", 1, appliedTo(pods("a")), ingress(from("Drop", tcp80, namespace("z"))))), Want: []string{"z/* > */a: Dropped"}},
		{Protocol: UDP},
	}},
	{"ACNPICMPSupport", []Step{{
		Do: do(
			acnp("acnp-reject-icmp", 1, appliedTo(in("x", "b")), egress(to("Reject", "protocols: [{icmp: {icmpType: 8, icmpCode: 0}}]", in("z", "a")))),
			acnp("acnp-drop-icmp", 1, appliedTo(in("x", "b")), egress(to("Drop", "protocols: [{icmp: {}}]", in("z", "b")))),
		),
		NoMesh: true, Protocol: ICMP,
		Probes: []Probe{
			{From: "x/b", To: "${z/a}", Want: Rejected}, {From: "x/b", To: "${z/b}", Want: Dropped}, {From: "x/b", To: "${z/c}", Want: Connected},
			{From: "x/b", To: "${z/a}", Protocol: TCP, Want: Connected},
		},
	}}},
}

const portRange = "ports: [{protocol: TCP, port: 8080, endPort: 8082}]"

func noIsolation(name, protocol string) Case {
	return Case{name, []Step{{
		Do: do(acnp("acnp-allow-x-ingress-y-egress-z", 1.1, appliedTo(namespace("x")),
			ingress(from("Allow", port(protocol, 81), namespace("y"))), egress(to("Allow", port(protocol, 81), namespace("z"))))),
		Protocol: protocol, Ports: []int{81},
	}}}
}

func dropEgress(name, protocol string) Case {
	return Case{name, []Step{{
		Do: do(acnp("acnp-deny-a-to-z-egress", 1, appliedTo(pods("a")), egress(to("Drop", port(protocol, 80), namespace("z"))))), Protocol: protocol,
		Want: []string{"*/a > z/*: Dropped"},
	}}}
}

func rejectIngress(name, protocol string) Case {
	return Case{name, []Step{{
		Do: do(acnp("acnp-reject-a-from-z-ingress", 1, appliedTo(pods("a")), ingress(from("Reject", port(protocol, 80), namespace("z"))))), Protocol: protocol,
		Want: []string{"z/* > */a: Rejected"},
	}}}
}

// sourcePort drops connections from the ports that clients use.
func sourcePort(destination string) Object {
	return acnp("acnp-source-port", 1, appliedTo(pods("a")),
		ingress(from("Drop", "ports: [{protocol: TCP, "+destination+"sourcePort: ${first port}, sourceEndPort: ${last port}}]", in("x", "b"))))
}
