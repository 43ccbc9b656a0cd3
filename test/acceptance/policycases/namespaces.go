// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policycases

import "strings"

// isolation are cases about the Namespaces of peers.
var isolation = []Case{
	{"ACNPNamespaceIsolation", []Step{
		{
			Do: do(acnp("test-acnp-ns-isolation", 1, tier("baseline"), appliedTo(everyNamespace),
				ingress(from("Allow", tcp80, self), from("Drop", tcp80, everyNamespace)))),
			Default: Dropped, Want: insideNamespaces,
		},
		{
			Do: []Change{
				remove(acnp("test-acnp-ns-isolation", 1)),
				apply(acnp("test-acnp-ns-x-isolation", 1, tier("baseline"), egress(
					to("Allow", appliedTo(namespace("x")), self), to("Drop", appliedTo(namespace("x")), everyNamespace)))),
			},
			Want: []string{"x/* > y,z/*: Dropped"},
		},
	}},
	{"ACNPStrictNamespaceIsolation", []Step{
		{
			Do: do(acnp("test-acnp-strict-ns-isolation", 1, tier("securityops"), appliedTo(everyNamespace),
				ingress(from("Pass", tcp80, self), from("Drop", tcp80, everyNamespace)))),
			Default: Dropped, Want: insideNamespaces,
		},
		{
			Do: do(netpol("x", "default-deny", denyIngress)), Default: Dropped, Want: append(insideNamespaces[:len(insideNamespaces):len(insideNamespaces)], "x/* > x/*: Dropped"),
		},
	}},
}

var insideNamespaces = []string{"x/* > x/*: Connected", "y/* > y/*: Connected", "z/* > z/*: Connected"}

// ExtendedNamespaces are the Namespaces of TestAntreaPolicyExtendedNamespaces with their labels.
var ExtendedNamespaces = map[string]map[string]string{
	"prod1": {"purpose": "test", "tier": "prod"}, "prod2": {"purpose": "test", "tier": "prod"},
	"dev1": {"purpose": "test", "tier": "dev"}, "dev2": {"purpose": "test", "tier": "dev"},
	"no-tier": {"purpose": "test-exclusion"},
}

var byTier = []string{"prod1,prod2/* > prod1,prod2/*: Connected", "dev1,dev2/* > dev1,dev2/*: Connected"}

// Extended are the cases of TestAntreaPolicyExtendedNamespaces.
var Extended = []Case{
	{"ACNPStrictNamespacesIsolationByLabels", []Step{{
		Do: do(sameLabels("test-acnp-strict-ns-isolation-by-labels", "purpose", "tier")), Default: Dropped, Want: byTier,
	}}},
	{"ACNPStrictNamespacesIsolationBySingleLabel", []Step{
		{
			Do: do(sameLabels("test-acnp-strict-ns-isolation-by-single-label", "purpose")), Default: Dropped,
			Want: []string{"prod1,prod2,dev1,dev2/* > prod1,prod2,dev1,dev2/*: Connected", "no-tier/* > no-tier/*: Connected"},
		},
		{Do: []Change{label("no-tier", "", "purpose", "test")}},
	}},
}

// sameLabels isolates Namespaces from those that have other values of the labels.
func sameLabels(name string, keys ...string) Object {

	return acnp(name, 1, tier("securityops"), appliedTo(everyNamespace),
		ingress(from("Pass", tcp80, "namespaces: {sameLabels: ["+strings.Join(keys, ", ")+"]}"), from("Drop", tcp80, everyNamespace)))
}
