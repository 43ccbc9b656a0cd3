// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policycases

// DefaultDeny are the cases of TestGroupDefaultDENY: policies of Kubernetes isolate all Pods of the mesh.
var DefaultDeny = []Case{
	{"ACNPAllowXBtoA", []Step{{
		Do: isolated(acnp("acnp-allow-xb-to-a", 1, appliedTo(pods("a")), ingress(from("Allow", tcp80, in("x", "b"))))), Default: Dropped,
		Want: []string{"x/b > */a: Connected"},
	}}},
	{"ACNPAllowXBtoYA", []Step{{
		Do: isolated(acnp("acnp-allow-xb-to-ya", 2, appliedTo(in("y", "a")), ingress(from("Allow", named81, in("x", "b"))))), Default: Dropped,
		Ports: []int{81}, Want: []string{"x/b > y/a: Connected"},
	}}},
	{"ACNPPriorityOverrideDefaultDeny", []Step{{
		Do: isolated(
			acnp("acnp-priority2", 2, appliedTo(namespace("x")), ingress(from("Allow", tcp80, namespace("z")))),
			acnp("acnp-priority1", 1, appliedTo(in("x", "a")), ingress(from("Drop", tcp80, namespace("z")))),
		),
		Default: Dropped, Want: []string{"z/* > x/b,c: Connected"},
		Evaluations: []Evaluation{
			{"y/a", "x/a", "default-deny", "Isolate"}, {"z/a", "x/a", "acnp-priority1", "Drop"}, {"z/a", "x/b", "acnp-priority2", "Allow"},
		},
	}}},
}

// isolated are policies for a mesh that Kubernetes' policies isolate.
func isolated(policies ...Object) []Change {
	all := policies
	for _, ns := range []string{"z", "y", "x"} {
		all = append([]Object{netpol(ns, "default-deny", denyIngress)}, all...)
	}
	return do(all...)
}
