// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policycases

// groups are cases about Groups, inside the Namespace x. Most of them create the policy before its group.
var groups = []Case{
	{"ANNPGroupEgressRulePodsAToGrpWithPodsC", []Step{{
		Do:   do(annp("x", "annp-deny-a-to-grp-with-c", 1, appliedTo(pods("a")), egress(to("Drop", tcp80, inGroup("grp-pods-c")))), group("x", "grp-pods-c", pods("c"))),
		Want: []string{"x/a > x/c: Dropped"},
	}}},
	{"ANNPGroupIngressRuleDenyGrpWithXCtoXA", []Step{{
		Do:    do(annp("x", "annp-deny-grp-with-xc-to-xa", 2, appliedTo(pods("a")), ingress(from("Drop", named81, inGroup("grp-pods-c")))), group("x", "grp-pods-c", pods("c"))),
		Ports: []int{81}, Want: []string{"x/c > x/a: Dropped"},
	}}},
	{"ANNPGroupUpdate", []Step{
		{
			Do:   do(group("x", "grp-pods-c-then-b", pods("c")), annp("x", "annp-deny-a-to-grp", 1, appliedTo(pods("a")), egress(to("Drop", tcp80, inGroup("grp-pods-c-then-b"))))),
			Want: []string{"x/a > x/c: Dropped"},
		},
		{Do: do(group("x", "grp-pods-c-then-b", pods("b"))), Want: []string{"x/a > x/b: Dropped"}},
	}},
	{"ANNPGroupAppliedToDenyXBToGrpWithXA", []Step{{
		Do:    do(annp("x", "annp-deny-grp-with-xa-from-xb", 2, appliedTo(inGroup("grp-pods-a")), ingress(from("Drop", named81, pods("b")))), group("x", "grp-pods-a", pods("a"))),
		Ports: []int{81}, Want: []string{"x/b > x/a: Dropped"},
	}}},
	{"ANNPGroupAppliedToRuleGrpWithPodsAToPodsC", []Step{{
		Do:   do(annp("x", "annp-deny-grp-to-c", 1, egress(to("Drop", tcp80+", "+appliedTo(inGroup("grp-pods-a")), pods("c")))), group("x", "grp-pods-a", pods("a"))),
		Want: []string{"x/a > x/c: Dropped"},
	}}},
	{"ANNPGroupUpdateAppliedTo", []Step{
		{
			Do:   do(group("x", "grp-pods-a-then-b", pods("a")), annp("x", "annp-deny-grp-to-c", 1, appliedTo(inGroup("grp-pods-a-then-b")), egress(to("Drop", tcp80, pods("c"))))),
			Want: []string{"x/a > x/c: Dropped"},
		},
		{Do: do(group("x", "grp-pods-a-then-b", pods("b"))), Want: []string{"x/b > x/c: Dropped"}},
	}},
	{"ANNPGroupAppliedToPodAdd", []Step{
		{Do: do(group("x", "grp-pod-xj", pods("j")), annp("x", "annp-deny-xj-to-xk", 1, appliedTo(inGroup("grp-pod-xj")), egress(to("Drop", tcp80, pods("k"))))), NoMesh: true},
		newPods("x/j", "x/k"),
	}},
	{"ANNPGroupServiceRefPodAdd", []Step{
		groupsOfServices(),
		{
			Do: []Change{
				pod(Pod{Namespace: "x", Name: "newa", Node: 1, Labels: map[string]string{"app": "a"}}),
				pod(Pod{Namespace: "x", Name: "newb", Node: 0, Labels: map[string]string{"app": "b"}}),
			},
			NoMesh: true, Probes: []Probe{
				{From: "x/b", To: "${x/newa}", Want: Dropped}, {From: "x/newb", To: "${x/a}", Want: Dropped}, {From: "x/newb", To: "${x/newa}", Want: Dropped},
				{From: "x/newa", To: "${x/newb}", Want: Connected}, {From: "x/c", To: "${x/newa}", Want: Connected},
			},
		},
	}},
	{"ANNPGroupServiceRefDelete", []Step{
		groupsOfServices(),
		{Do: []Change{remove(Object{Kind: Service, Namespace: "x", Name: "svc1"}), remove(Object{Kind: Service, Namespace: "x", Name: "svc2"})}},
	}},
	{"ANNPGroupServiceRef", []Step{
		groupsOfServices(),
		{
			Do:   do(service("x", "svc1", 80, 80, "b"), service("x", "svc3", 80, 80, "c"), group("x", "grp-svc2", serviceReference("x", "svc3"))),
			Want: []string{"x/c > x/b: Dropped"},
		},
		{Do: do(annp("x", "grp-svc-ref-annp", 1, appliedTo(pods("a")), ingress(from("Drop", tcp80, pods("b"))))), Want: []string{"x/b > x/a: Dropped"}},
	}},
	{"ANNPGroupRefRuleIPBlocks", []Step{{
		Do: do(annp("x", "annp-deny-grp-blocks-to-xa", 1, appliedTo(pods("a")), ingress(from("Drop", tcp80, inGroup("grp-blocks-x"), inGroup("grp-blocks-z")))),
			group("x", "grp-blocks-x", blocks("x/b", "x/c")), group("x", "grp-blocks-z", blocks("z/a"))),
		Want: []string{"x/b,c > x/a: Dropped", "z/a > x/a: Dropped"},
	}}},
	{"ANNPNestedGroup", []Step{
		{
			Do: do(service("x", "svc1", 80, 80, "a"), group("x", "grp-svc1", serviceReference("x", "svc1")), group("x", "grp-nested", children("grp-svc1", "grp-later")),
				annp("x", "grp-nested-annp", 1, appliedTo(everyPod), ingress(from("Drop", tcp80, inGroup("grp-nested"))))),
			Want: []string{"x/a > x/*: Dropped"},
		},
		{
			Do:   do(service("x", "svc2", 80, 80, "b"), group("x", "grp-svc2", serviceReference("x", "svc2")), group("x", "grp-nested", children("grp-svc1", "grp-later", "grp-svc2"))),
			Want: []string{"x/a,b > x/*: Dropped"},
		},
		{Do: do(group("x", "grp-later", pods("c"))), Want: []string{"x/a,b,c > x/*: Dropped"}},
	}},
}

// groupsOfServices is a policy from the Pods of one Service to the Pods of another Service.
func groupsOfServices() Step {
	return Step{
		Do: do(service("x", "svc1", 80, 80, "a"), service("x", "svc2", 80, 80, "b"), group("x", "grp-svc1", serviceReference("x", "svc1")),
			group("x", "grp-svc2", serviceReference("x", "svc2")), annp("x", "grp-svc-ref-annp", 1, appliedTo(inGroup("grp-svc1")), ingress(from("Drop", tcp80, inGroup("grp-svc2"))))),
		Want: []string{"x/b > x/a: Dropped"},
	}
}
