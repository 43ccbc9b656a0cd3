// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
)

// The size of the random test.
const (
	randomSeeds = 5
	randomSteps = 100
)

func (r *randomObjects) oneOf(texts ...string) string { return texts[r.rng.IntN(len(texts))] }

func (r *randomObjects) several(most int, make func() string) string {
	var parts []string
	for range r.rng.IntN(most + 1) {
		parts = append(parts, make())
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

func (r *randomObjects) group() string { return "{group: " + r.oneOf("g0", "g1", "g2") + "}" }

func (r *randomObjects) appliedEntry() string {
	return r.oneOf(
		"{podSelector: "+r.selector()+"}", "{podSelector: "+r.selector()+"}", r.group(), "{namespaceSelector: "+r.selector()+"}",
		"{serviceAccount: {name: "+r.oneOf("x", "y")+", namespace: ns0}}", "{service: {name: s0, namespace: ns1}}",
		"{nodeSelector: "+r.selector()+"}", "{externalEntitySelector: {}}", "{podSelector: {}, group: g0}",
	)
}

func (r *randomObjects) peer() string {
	return r.oneOf(
		"{podSelector: "+r.selector()+"}", "{namespaceSelector: "+r.selector()+", podSelector: "+r.selector()+"}", r.group(), r.group(),
		"{namespaces: {match: Self}}", "{namespaces: {sameLabels: [a]}, podSelector: "+r.selector()+"}", "{namespaces: {sameLabels: [a, b]}}",
		"{ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.0/16]}}", "{nodeSelector: "+r.selector()+"}", "{}", "{fqdn: example.org}",
		"{serviceAccount: {name: x, namespace: ns1}}", "{externalEntitySelector: {}}",
	)
}

func (r *randomObjects) antreaSpec() string {
	levels := r.rng.IntN(3)
	rule := func() string {
		text := "{action: " + r.oneOf("Allow", "Drop", "Reject", "Pass") + ", name: r"
		if levels == 0 {
			text += ", appliedTo: " + r.several(2, r.appliedEntry)
		}
		if r.rng.IntN(4) == 0 {
			return text + ", protocols: [" + r.oneOf("{icmp: {icmpType: 8}}", "{igmp: {}}") + "]}"
		}
		return text + ", ports: " + r.several(1, func() string { return r.oneOf("{port: 80}", "{port: http}") }) + ", from: " + r.several(2, r.peer) + "}"
	}
	text := "{priority: 5, tier: " + r.oneOf("emergency", "t0", "t1") + ", ingress: " + r.several(2, rule) +
		", egress: " + strings.ReplaceAll(r.several(2, rule), "from:", "to:")
	if levels > 0 {
		text += ", appliedTo: " + r.several(2, r.appliedEntry)
	}
	return text + "}"
}

func (r *randomObjects) groupSpec() string {
	return r.oneOf(
		"{podSelector: "+r.selector()+"}", "{namespaceSelector: "+r.selector()+"}", "{}",
		"{ipBlocks: [{cidr: 10.0.0.0/8, except: [10."+fmt.Sprint(r.rng.IntN(3))+".0.0/16]}]}", "{serviceReference: {name: s0, namespace: ns0}}",
		"{childGroups: "+r.several(2, func() string { return r.oneOf("g0", "g1", "g2") })+"}", "{nodeSelector: {}}", "{externalEntitySelector: {}}",
	)
}

func (r *randomObjects) read(text string, into any) {
	if err := yaml.UnmarshalStrict([]byte(text), into); err != nil {
		r.t.Fatalf("%s: %v", text, err)
	}
}

// antreaStep makes one random event of what only Antrea's policies need.
func (r *randomObjects) antreaStep(namespace string) func(*core) ([]change, error) {
	n := fmt.Sprint(r.rng.IntN(3))
	if r.rng.IntN(2) == 0 {
		namespace = ""
	}
	var kind, name string
	var set, unset func(*core) []change
	switch r.rng.IntN(10) {
	case 0, 1, 2:
		kind, name = "policy", "p"+n
		set, unset = r.antreaPolicy(namespace, name)
	case 3, 4:
		kind, name = "group", "g"+n
		set, unset = r.antreaGroup(namespace, name)
	case 5:
		kind, namespace, name = "tier", "", "t"+n
		tier := &v1beta1.Tier{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1beta1.TierSpec{Priority: int32(10 + r.rng.IntN(2))}}
		set, unset = func(c *core) []change { return c.SetTier(tier) }, func(c *core) []change { return c.DeleteTier(name) }
	case 6:
		kind, namespace, name = "node", "", "node"+n
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: parseLabels(r.labels())}}
		node.Spec.PodCIDRs = []string{fmt.Sprintf("10.%d.0.0/24", r.rng.IntN(3))}
		set, unset = func(c *core) []change { return c.SetNode(node) }, func(c *core) []change { return c.DeleteNode(name) }
	case 8, 9:
		kind, namespace, name = "egress", "", "e"+n
		set, unset = r.egress(name)
	default:
		if namespace == "" {
			namespace = "ns0"
		}
		kind, name = "service", "s0"
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		service.Spec.Selector = parseLabels(r.labels())
		key := types.NamespacedName{Namespace: namespace, Name: name}
		set, unset = func(c *core) []change { return c.SetService(service) }, func(c *core) []change { return c.DeleteService(key) }
	}
	key := kind + " " + namespace + "/" + name
	if r.rng.IntN(4) == 0 {
		delete(r.antrea, key)
		return func(c *core) ([]change, error) { return unset(c), nil }
	}
	r.antrea[key] = set
	return func(c *core) ([]change, error) { return set(c), nil }
}

func (r *randomObjects) antreaPolicy(namespace, name string) (set, unset func(*core) []change) {
	var doubt error
	if r.rng.IntN(10) == 0 {
		doubt = crd.RuleDoubts{"ingress[0]": errors.New("unknown field")}
	}
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("antrea-" + namespace + "-" + name + r.oneOf("", "-again"))}
	var spec v1beta1.NetworkPolicySpec
	r.read(r.antreaSpec(), &spec)
	unset = func(c *core) []change {
		return c.DeleteAntreaPolicy(types.NamespacedName{Namespace: namespace, Name: name})
	}
	return func(c *core) []change {
		if namespace == "" {
			changes, _ := c.SetClusterNetworkPolicy(&v1beta1.ClusterNetworkPolicy{ObjectMeta: meta, Spec: spec}, doubt)
			return changes
		}
		changes, _ := c.SetAntreaNetworkPolicy(&v1beta1.NetworkPolicy{ObjectMeta: meta, Spec: spec}, doubt)
		return changes
	}, unset
}

func (r *randomObjects) egress(name string) (set, unset func(*core) []change) {
	var doubt error
	if r.rng.IntN(10) == 0 {
		doubt = errors.New("unreadable")
	}
	e := &v1beta1.Egress{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name + r.oneOf("", "-again"))}}
	r.read(r.oneOf("{}", "{podSelector: "+r.selector()+"}", "{namespaceSelector: "+r.selector()+"}",
		"{podSelector: "+r.selector()+", namespaceSelector: "+r.selector()+"}"), &e.Spec.AppliedTo)
	set = func(c *core) []change {
		changes, _ := c.SetEgress(e, doubt)
		return changes
	}
	return set, func(c *core) []change { return c.DeleteEgress(types.NamespacedName{Name: name}) }
}

func (r *randomObjects) antreaGroup(namespace, name string) (set, unset func(*core) []change) {
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(namespace + name)}
	var spec v1beta1.GroupSpec
	r.read(r.groupSpec(), &spec)
	unset = func(c *core) []change { return c.DeleteGroup(namespace, name) }
	return func(c *core) []change {
		if namespace == "" {
			return c.SetClusterGroup(&v1beta1.ClusterGroup{ObjectMeta: meta, Spec: spec}, nil)
		}
		return c.SetGroup(&v1beta1.Group{ObjectMeta: meta, Spec: spec}, nil)
	}, unset
}

// requireSame compares what watches do not show: statuses, and the sizes of all that the core keeps, so that nothing stays behind.
func requireSame(t *testing.T, want, got *core) {
	t.Helper()
	sizes := func(c *core) map[string]int {
		a := &c.antrea
		classes := 0
		for _, ns := range c.namespaces {
			classes += len(ns.classes)
		}
		return map[string]int{
			"Namespaces": len(c.namespaces), "Pods": len(c.pods), "Nodes with Pods": len(c.onNode), "policies": len(c.policies), "groups": len(c.groups),
			"selections": len(c.selections), "selectors of Namespaces": len(c.namespaceSelectors), "classes": classes, "unreadable": c.unreadable,
			"sources": len(a.sources), "parents": len(a.parents), "users of Services": len(a.serviceUsers), "of groups": len(a.ofGroup),
			"of tiers": len(a.ofTier), "per Namespace": len(a.perNamespace), "Services": len(a.services), "tiers": len(a.tiers),
			"selectors of Services": len(a.selectors), "Nodes": len(a.nodes),
		}
	}
	require.Equal(t, sizes(want), sizes(got))
	for name, p := range want.antrea.policies {
		require.Equal(t, want.status(p), got.status(got.antrea.policies[name]), name)
	}
	for key, source := range want.antrea.sources {
		require.Equal(t, source.condition(), got.antrea.sources[key].condition(), key)
		require.Equal(t, source.foreign, got.antrea.sources[key].foreign, key)
	}
}
