// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policycases

// ours selects the Namespaces of the mesh.
const ours = "namespaceSelector: {matchExpressions: [{key: ns, operator: In, values: [${x}, ${y}, ${z}]}]}"

// ZeroTrust is a set of policies as Antrea's documentation recommends them, for the mesh and for the Pod x/resolver, which asks a Pod with the label
// app=dns for names: what no rule allows is denied. It is not one of upstream's cases.
var ZeroTrust = Case{"restarts", []Step{{
	Do: do(
		tierObject("zero-trust-incidents", 10),
		clusterGroup("zero-trust-clients", pods("a")), clusterGroup("zero-trust-databases", pods("c")),
		clusterGroup("zero-trust-network", children("zero-trust-clients", "zero-trust-databases")),
		acnp("zero-trust-quarantine", 1, tier("zero-trust-incidents"), appliedTo(in("z", "b")), ingress(from("Drop", "")), egress(to("Drop", ""))),
		acnp("zero-trust-databases", 5, tier("securityops"), appliedTo(inGroup("zero-trust-databases")),
			ingress(from("Allow", tcp80, inGroup("zero-trust-clients")), from("Pass", "", namespace("y")), from("Reject", "", everyNamespace))),
		acnp("zero-trust-names", 5, tier("platform"), appliedTo(in("x", "resolver")),
			egress(to("Allow", tcp80, `fqdn: "*.shop.test"`), to("Allow", port(UDP, 53), everyNamespace+", podSelector: {matchLabels: {app: dns}}"))),
		acnp("zero-trust-clients", 5, tier("application"), appliedTo(inGroup("zero-trust-network")), egress(to("Allow", tcp80, inGroup("zero-trust-databases")))),
		acnp("zero-trust-own", 10, tier("application"), appliedTo(ours), ingress(from("Allow", "", self)), egress(to("Allow", "", self))),
		netpol("y", "databases", pods("c"), "ingress: [{from: [{podSelector: {}}]}]"),
		acnp("zero-trust-baseline", 1, tier("baseline"), appliedTo(ours), ingress(from("Drop", "")), egress(to("Drop", ""))),
	),
	Default: Dropped,
	Want: []string{
		"x/* > x/a,b: Connected", "y/* > y/*: Connected", "z/a,c > z/a,c: Connected",
		"*/a > */c: Connected", "x/b > x/c: Rejected", "x,z/c > */c: Rejected", // y is passed on, and only its own policy allows it
	},
}}}
