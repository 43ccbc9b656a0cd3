// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policycases

// order are cases about tiers, priorities, Kubernetes' policies beside Antrea's, and updates.
var order = []Case{
	{"ACNPBaselinePolicy", []Step{
		{
			Do: do(acnp("acnp-baseline-policy", 1, tier("baseline"), appliedTo(namespace("x")),
				ingress(from("Drop", tcp80, "namespaceSelector: {matchExpressions: [{key: ns, operator: NotIn, values: [${x}]}]}")))),
			Want: []string{"y,z/* > x/*: Dropped"}, Evaluations: []Evaluation{{"y/a", "x/a", "acnp-baseline-policy", "Drop"}},
		},
		{
			Do:   do(netpol("x", "allow-ya", "podSelector: {matchLabels: {pod: a}}, policyTypes: [Ingress], ingress: [{from: [{"+in("y", "a")+"}]}]")),
			Want: []string{"y,z/* > x/*: Dropped", "y/a > x/a: Connected", "x/b,c > x/a: Dropped"}, Evaluations: []Evaluation{{"y/a", "x/a", "allow-ya", "Allow"}},
		},
	}},
	{"ACNPPriorityOverride", overrides(1.001, 1.002, 1.003)},
	{"ACNPTierOverride", []Step{
		{
			Do: do(
				acnp("acnp-tier-application", 1, tier("application"), appliedTo(namespace("x")), ingress(from("Drop", tcp80, namespace("z")))),
				acnp("acnp-tier-securityops", 10, tier("securityops"), appliedTo(in("x", "a")), ingress(from("Allow", tcp80, namespace("z")))),
			),
			Want: []string{"z/* > x/b,c: Dropped"},
		},
		{
			Do:   do(acnp("acnp-tier-emergency", 100, tier("emergency"), appliedTo(in("x", "a")), ingress(from("Drop", tcp80, in("z", "b"))))),
			Want: []string{"z/* > x/b,c: Dropped", "z/b > x/a: Dropped"},
		},
	}},
	{"ACNPCustomTiers", []Step{{
		Do: do(
			tierObject("high-priority", 245), tierObject("low-priority", 246),
			acnp("acnp-tier-low", 1, tier("low-priority"), appliedTo(in("x", "a")), ingress(from("Drop", tcp80, namespace("z")))),
			acnp("acnp-tier-high", 100, tier("high-priority"), appliedTo(in("x", "a")), ingress(from("Allow", tcp80, in("z", "b")))),
		),
		Want: []string{"z/a,c > x/a: Dropped"},
	}}},
	{"ACNPPriorityConflictingRule", []Step{{
		Do: do(
			acnp("acnp-drop", 1, appliedTo(namespace("x")), ingress(from("Drop", tcp80, namespace("z")))),
			acnp("acnp-allow", 2, appliedTo(namespace("x")), ingress(from("Allow", tcp80, namespace("z")))),
		),
		Want: []string{"z/* > x/*: Dropped"},
	}}},
	{"ACNPRulePriority", []Step{{
		Do: do(
			acnp("acnp-deny", 5, appliedTo(namespace("x")), egress(to("Drop", tcp80, namespace("y")), to("Drop", tcp80, namespace("z")))),
			acnp("acnp-allow", 5, appliedTo(namespace("x")), egress(to("Allow", tcp80, namespace("z")), to("Allow", tcp80, namespace("y")))),
		),
		Want: []string{"x/* > y/*: Dropped"},
	}}},
	{"ANNPBasic", []Step{
		{Do: do(annp("y", "np-same-name", 1, appliedTo(pods("a")), ingress(from("Drop", tcp80, in("x", "b"))))), Want: []string{"x/b > y/a: Dropped"}},
		{Do: do(netpol("y", "np-same-name", "podSelector: {matchLabels: {pod: a}}, ingress: [{}]")), Want: []string{"x/b > y/a: Dropped"}},
	}},
	{"ANNPUpdate", []Step{
		{
			Do:   do(annp("y", "annp-update", 1, appliedTo(pods("a")), ingress(from("Drop", tcp80, in("x", "b"))))),
			Want: []string{"x/b > y/a: Dropped"}, Evaluations: []Evaluation{{"x/b", "y/a", "annp-update", "Drop"}},
		},
		{
			Do:          do(annp("y", "annp-update", 1, appliedTo(pods("a")), ingress(from("Allow", tcp80, in("x", "b"))))),
			Evaluations: []Evaluation{{"x/b", "y/a", "annp-update", "Allow"}},
		},
	}},
	multipleAppliedTo("testANNPMultipleAppliedToSingleRule", ingress(from("Drop", tcp80, in("x", "b"))), ""),
	multipleAppliedTo("testANNPMultipleAppliedToMultipleRules", ingress(from("Drop", tcp80, in("x", "b")), from("Drop", tcp80, in("z", "a"))), "z/a > y/a: Dropped"),
	{"AppliedToPerRule", []Step{
		{
			Do: do(annp("y", "np1", 1, ingress(
				from("Drop", tcp80+", "+appliedTo(pods("a")), in("x", "b")), from("Drop", tcp80+", "+appliedTo(pods("b")), in("z", "b"))))),
			Want: []string{"x/b > y/a: Dropped", "z/b > y/b: Dropped"},
		},
		{
			Do: []Change{
				remove(annp("y", "np1", 1)),
				apply(acnp("acnp-per-rule", 1, ingress(
					from("Drop", tcp80+", "+appliedTo(pods("a")), in("x", "b")), from("Drop", tcp80+", "+appliedTo(in("y", "b")), in("z", "b"))))),
			},
			Want: []string{"x/b > */a: Dropped", "z/b > y/b: Dropped"},
		},
	}},
}

// overrides creates policies so that the last one needs a place between or before the former ones.
func overrides(first, second, third float64) []Step {
	highest := acnp("acnp-priority1", first, appliedTo(in("x", "a")), ingress(from("Drop", tcp80, in("z", "b"))))
	middle := acnp("acnp-priority2", second, appliedTo(in("x", "a")), ingress(from("Allow", tcp80, namespace("z"))))
	lowest := acnp("acnp-priority3", third, appliedTo(namespace("x")), ingress(from("Drop", tcp80, namespace("z"))))
	return []Step{
		{Do: do(lowest, middle), Want: []string{"z/* > x/b,c: Dropped"}},
		{Do: append([]Change{remove(lowest), remove(middle)}, do(lowest, highest, middle)...), Want: []string{"z/* > x/b,c: Dropped", "z/b > x/a: Dropped"}},
	}
}

// multipleAppliedTo is a policy for a Pod, and for Pods with a label that none has at first.
func multipleAppliedTo(name, rules, more string) Case {
	wants := func(pairs ...string) []string {
		if more != "" {
			pairs = append(pairs, more)
		}
		return pairs
	}
	labelled := wants("x/b > y/a,c: Dropped")
	if more != "" {
		labelled = append(labelled, "z/a > y/c: Dropped")
	}
	return Case{name, []Step{
		{
			Do:   do(annp("y", "annp-multiple-appliedto", 1, appliedTo(pods("a"), "podSelector: {matchLabels: {temporary: \"yes\"}}"), rules)),
			Want: wants("x/b > y/a: Dropped"),
		},
		{Do: []Change{label("y", "c", "temporary", "yes")}, Want: labelled},
		{Do: []Change{label("y", "c", "temporary", "")}, Want: wants("x/b > y/a: Dropped")},
	}}
}
