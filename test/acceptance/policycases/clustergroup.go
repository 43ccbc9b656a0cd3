// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policycases

// clusterGroups are cases about ClusterGroups. Most of them create the policy before its group.
var clusterGroups = []Case{
	{"ACNPClusterGroupEgressRulePodsAToCGWithNsZ", []Step{{
		Do:   do(acnp("acnp-deny-a-to-cg-with-z-egress", 1, appliedTo(pods("a")), egress(to("Drop", tcp80, inGroup("cg-ns-z")))), clusterGroup("cg-ns-z", namespace("z"))),
		Want: []string{"*/a > z/*: Dropped"},
	}}},
	{"ACNPClusterGroupUpdate", []Step{
		{
			Do:   do(clusterGroup("cg-ns-z-then-y", namespace("z")), acnp("acnp-deny-a-to-cg-egress", 1, appliedTo(pods("a")), egress(to("Drop", tcp80, inGroup("cg-ns-z-then-y"))))),
			Want: []string{"*/a > z/*: Dropped"},
		},
		{Do: do(clusterGroup("cg-ns-z-then-y", namespace("y"))), Want: []string{"*/a > y/*: Dropped"}},
	}},
	{"ACNPClusterGroupAppliedToDenyXBToCGWithYA", []Step{{
		Do:    do(acnp("acnp-deny-cg-with-ya-from-xb", 2, appliedTo(inGroup("cg-pods-ya")), ingress(from("Drop", named81, in("x", "b")))), clusterGroup("cg-pods-ya", in("y", "a"))),
		Ports: []int{81}, Want: []string{"x/b > y/a: Dropped"},
	}}},
	{"ACNPClusterGroupAppliedToRuleCGWithPodsAToNsZ", []Step{{
		Do:   do(acnp("acnp-deny-cg-with-a-to-z", 1, egress(to("Drop", tcp80+", "+appliedTo(inGroup("cg-pods-a")), namespace("z")))), clusterGroup("cg-pods-a", pods("a"))),
		Want: []string{"*/a > z/*: Dropped"},
	}}},
	{"ACNPClusterGroupRuleWithNodeSelector", []Step{
		{
			Do:     []Change{pod(Pod{Namespace: "y", Name: "host", Node: 1, HostNetwork: true})},
			NoMesh: true, Probes: []Probe{{From: "x/a", To: "${nodeip 1}", Port: 8080, Want: Connected}},
		},
		{
			Do:     do(clusterGroup("cg-node", node(1)), acnp("acnp-deny-xa-to-node", 1, appliedTo(in("x", "a")), egress(to("Drop", port(TCP, 8080), inGroup("cg-node"))))),
			NoMesh: true, Probes: []Probe{{From: "x/a", To: "${nodeip 1}", Port: 8080, Want: Dropped}, {From: "x/c", To: "${nodeip 1}", Port: 8080, Want: Connected}},
		},
	}},
	{"ACNPClusterGroupUpdateAppliedTo", []Step{
		{
			Do:   do(clusterGroup("cg-pods-a-then-c", pods("a")), acnp("acnp-deny-cg-to-z-egress", 1, appliedTo(inGroup("cg-pods-a-then-c")), egress(to("Drop", tcp80, namespace("z"))))),
			Want: []string{"*/a > z/*: Dropped"},
		},
		{Do: do(clusterGroup("cg-pods-a-then-c", pods("c"))), Want: []string{"*/c > z/*: Dropped"}},
	}},
	{"ACNPClusterGroupAppliedToPodAdd", []Step{
		{Do: do(clusterGroup("cg-pod-zj", in("z", "j")), acnp("acnp-deny-zj-to-xj", 1, appliedTo(inGroup("cg-pod-zj")), egress(to("Drop", tcp80, in("x", "j"))))), NoMesh: true},
		newPods("z/j", "x/j"),
	}},
	{"ACNPClusterGroupRefRulePodAdd", []Step{
		{Do: do(acnp("acnp-deny-xk-to-cg-with-zk", 1, appliedTo(in("x", "k")), egress(to("Drop", tcp80, inGroup("cg-pod-zk")))), clusterGroup("cg-pod-zk", in("z", "k"))), NoMesh: true},
		newPods("x/k", "z/k"),
	}},
	{"ACNPClusterGroupRefRuleIPBlocks", []Step{{
		Do: do(acnp("acnp-deny-cg-blocks-to-ya", 1, appliedTo(in("y", "a")), ingress(from("Drop", tcp80, inGroup("cg-blocks-x"), inGroup("cg-blocks-za")))),
			clusterGroup("cg-blocks-x", blocks("x/a", "x/b", "x/c")), clusterGroup("cg-blocks-za", blocks("z/a"))),
		Want: []string{"x/* > y/a: Dropped", "z/a > y/a: Dropped"},
	}}},
	{"ACNPClusterGroupIngressRuleDenyCGWithXBtoYA", []Step{{
		Do:    do(acnp("acnp-deny-cg-with-xb-to-ya", 2, appliedTo(in("y", "a")), ingress(from("Drop", named81, inGroup("cg-pods-xb")))), clusterGroup("cg-pods-xb", in("x", "b"))),
		Ports: []int{81}, Want: []string{"x/b > y/a: Dropped"},
	}}},
	{"ACNPClusterGroupServiceRef", []Step{
		{
			Do: do(service("x", "svc1", 80, 80, "a"), service("y", "svc2", 80, 80, "b"), clusterGroup("cg-svc1", serviceReference("x", "svc1")),
				clusterGroup("cg-svc2", serviceReference("y", "svc2")), acnp("cg-svc-ref-acnp", 1, appliedTo(inGroup("cg-svc1")), ingress(from("Drop", tcp80, inGroup("cg-svc2"))))),
			Want: []string{"y/b > x/a: Dropped"},
		},
		{
			Do:   do(service("x", "svc1", 80, 80, "b"), service("y", "svc3", 80, 80, "a"), clusterGroup("cg-svc2", serviceReference("y", "svc3"))),
			Want: []string{"y/a > x/b: Dropped"},
		},
		{
			Do:     []Change{pod(Pod{Namespace: "y", Name: "new", Node: 1, Labels: map[string]string{"app": "a"}})},
			NoMesh: true, Probes: []Probe{{From: "y/new", To: "${x/b}", Want: Dropped}, {From: "y/new", To: "${x/a}", Want: Connected}},
		},
		{Do: do(acnp("cg-svc-ref-acnp", 1, appliedTo(in("x", "a")), ingress(from("Drop", tcp80, in("y", "b"))))), Want: []string{"y/b > x/a: Dropped"}},
	}},
	{"ACNPNestedClusterGroup", []Step{
		{
			Do: do(service("x", "svc1", 80, 80, "a"), clusterGroup("cg-svc1", serviceReference("x", "svc1")), clusterGroup("cg-nested", children("cg-svc1", "cg-later")),
				acnp("cg-nested-acnp", 1, appliedTo(inGroup("cg-nested")), ingress(from("Drop", tcp80, in("z", "a"))))),
			Want: []string{"z/a > x/a: Dropped"},
		},
		{
			Do:   do(service("y", "svc2", 80, 80, "b"), clusterGroup("cg-svc2", serviceReference("y", "svc2")), clusterGroup("cg-nested", children("cg-svc1", "cg-later", "cg-svc2"))),
			Want: []string{"z/a > x/a: Dropped", "z/a > y/b: Dropped"},
		},
		{
			Do:     []Change{pod(Pod{Namespace: "x", Name: "new", Node: 1, Labels: map[string]string{"app": "a"}})},
			NoMesh: true, Probes: []Probe{{From: "z/a", To: "${x/new}", Want: Dropped}, {From: "z/b", To: "${x/new}", Want: Connected}},
		},
		{Do: do(clusterGroup("cg-later", in("z", "c"))), Want: []string{"z/a > x/a: Dropped", "z/a > y/b: Dropped", "z/a > z/c: Dropped"}},
	}},
	{"ACNPNestedIPBlockClusterGroup", []Step{
		{
			Do: do(clusterGroup("cg-block-xa", blocks("x/a")), clusterGroup("cg-block-xb", blocks("x/b")), clusterGroup("cg-parent", children("cg-block-xa", "cg-block-xb")),
				acnp("acnp-deny-cg-parent-to-ya", 1, appliedTo(in("y", "a")), ingress(from("Drop", tcp80, inGroup("cg-parent"))))),
			Want: []string{"x/a,b > y/a: Dropped"},
		},
		{Do: do(clusterGroup("cg-pods-xc", in("x", "c")), clusterGroup("cg-parent", children("cg-block-xa", "cg-pods-xc"))), Want: []string{"x/a,c > y/a: Dropped"}},
	}},
}

// newPods makes two Pods between which connections must be dropped from the first one on.
func newPods(client, server string) Step {
	changes := []Change{}
	for i, name := range []string{client, server} {
		changes = append(changes, pod(Pod{Namespace: name[:1], Name: name[2:], Node: i}))
	}
	return Step{Do: changes, NoMesh: true, Probes: []Probe{{From: client, To: "${" + server + "}", Want: Dropped}, {From: client, To: "${y/a}", Want: Connected}}}
}
