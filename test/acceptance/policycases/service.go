// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policycases

// targets are cases about Services, service accounts and Nodes.
var targets = []Case{
	{"RejectServiceTraffic", rejectServiceTraffic()},
	{"RejectNoInfiniteLoop", []Step{{
		Do: do(
			annp("x", "reject-egress-xa", 1, appliedTo(pods("a")), egress(to("Reject", tcp80, namespace("z")))),
			annp("x", "reject-ingress-xa", 1, appliedTo(pods("a")), ingress(from("Reject", "", namespace("z")))),
			annp("z", "reject-egress-z", 1, appliedTo(everyPod), egress(to("Reject", "", in("x", "a")))),
			annp("z", "reject-ingress-z", 1, appliedTo(everyPod), ingress(from("Reject", tcp80, in("x", "a")))),
		),
		Want: []string{"x/a > z/*: Rejected", "z/* > x/a: Rejected"},
	}}},
	{"ACNPToServices", []Step{{
		Do: []Change{
			apply(service("x", "ipv4-svc", 81, 81, "a")), apply(service("y", "ipv4-svc", 81, 81, "b")),
			apply(acnp("test-acnp-to-services", 1, appliedTo(in("x", "a"), in("y", "b")), egress(toServices("Drop")))),
		},
		NoMesh: true, Probes: []Probe{
			{From: "x/a", To: "${svc x/ipv4-svc}", Port: 81, Want: Dropped}, {From: "y/b", To: "${svc x/ipv4-svc}", Port: 81, Want: Dropped},
			{From: "y/b", To: "${svc y/ipv4-svc}", Port: 81, Want: Dropped}, {From: "z/c", To: "${svc x/ipv4-svc}", Port: 81, Want: Connected},
			{From: "y/b", To: "${x/a}", Port: 81, Want: Connected},
		},
	}}},
	{"ACNPServiceAccountSelector", []Step{{
		Do: []Change{
			pod(Pod{Namespace: "x", Name: "client", Account: "test-sa"}), pod(Pod{Namespace: "x", Name: "client2", Account: "default"}),
			apply(acnp("acnp-service-account", 1, appliedTo(in("x", "b")), ingress(from("Drop", tcp80, "serviceAccount: {name: test-sa, namespace: ${x}}")))),
		},
		NoMesh: true, Probes: []Probe{{From: "x/client", To: "${x/b}", Want: Dropped}, {From: "x/client2", To: "${x/b}", Want: Connected}, {From: "x/a", To: "${x/b}", Want: Connected}},
	}}},
	// Upstream's port is 6443. Here the Nodes have no API server, and the port is their kubelets'.
	{"ACNPNodeSelectorEgress", []Step{{
		Do:     do(acnp("test-acnp-drop-egress-control-plane", 1, appliedTo(in("x", "a")), egress(to("Drop", port(TCP, 10250), node(0))))),
		NoMesh: true, Probes: []Probe{{From: "x/a", To: "${nodeip 0}", Port: 10250, Want: Dropped}, {From: "x/b", To: "${nodeip 0}", Port: 10250, Want: Connected}, {From: "x/a", To: "${nodeip 1}", Port: 10250, Want: Connected}},
	}}},
	{"ACNPNodeSelectorIngress", []Step{{
		Do: []Change{
			pod(Pod{Namespace: "z", Name: "host", HostNetwork: true}),
			apply(acnp("test-acnp-drop-ingress-from-control-plane", 1, appliedTo(namespace("x")), ingress(from("Drop", tcp80, node(0))))),
		},
		NoMesh: true, Probes: []Probe{{From: "z/host", To: "${x/b}", Want: Dropped}, {From: "z/host", To: "${y/b}", Want: Connected}},
	}}},
}

func toServices(action string) string {
	return "{action: " + action + ", toServices: [{name: ipv4-svc, namespace: ${x}}, {name: ipv4-svc, namespace: ${y}}]}"
}

// rejectServiceTraffic rejects at the client, then at the Endpoints, which are on the client's Node and on the other Node.
func rejectServiceTraffic() []Step {
	probes := func(want string) []Probe {
		return []Probe{{From: "x/a", To: "${svc z/local}", Want: want}, {From: "x/a", To: "${svc z/remote}", Want: want}, {From: "x/b", To: "${svc z/remote}", Want: Connected}}
	}
	egressPolicy := acnp("acnp-reject-egress-svc-traffic", 1, appliedTo(in("x", "a")), egress(to("Reject", "", in("z", "a"), in("z", "b"))))
	return []Step{
		{
			Do:     []Change{apply(service("z", "local", 80, 80, "a")), apply(service("z", "remote", 80, 80, "b")), apply(egressPolicy)},
			NoMesh: true, Probes: probes(Rejected),
		},
		{
			Do:     []Change{remove(egressPolicy), apply(acnp("acnp-reject-ingress-svc-traffic", 1, appliedTo(in("z", "a"), in("z", "b")), ingress(from("Reject", "", in("x", "a")))))},
			NoMesh: true, Probes: probes(Rejected),
		},
	}
}
