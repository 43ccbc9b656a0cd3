// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
	"github.com/antrea-oncache/antrea/test/acceptance/policycases"
)

// statusPods are a Pod on each Node.
var statusPods = []policycases.Pod{{Namespace: "x", Name: "a", Node: 0}, {Namespace: "x", Name: "b", Node: 1}}

// realizable is the one condition of a policy that has no fault.
var realizable = v1beta1.NetworkPolicyCondition{Type: v1beta1.NetworkPolicyConditionRealizable, Status: metav1.ConditionTrue}

// hasStatus waits, as long as upstream does, until a policy has exactly this status.
func (b *policyBed) hasStatus(t *testing.T, o policycases.Object, phase v1beta1.NetworkPolicyPhase, generation int64, nodes int32, condition v1beta1.NetworkPolicyCondition) {
	t.Helper()
	want := v1beta1.NetworkPolicyStatus{
		Phase: phase, ObservedGeneration: generation, CurrentNodesRealized: nodes, DesiredNodesRealized: nodes, Conditions: []v1beta1.NetworkPolicyCondition{condition},
	}
	eventually(t, limit(5*time.Second), func() error {
		_, status, err := b.policyStatus(t, o)
		for i := range status.Conditions {
			status.Conditions[i].LastTransitionTime = metav1.Time{}
		}
		if err == nil && fmt.Sprint(status) != fmt.Sprint(want) {
			err = fmt.Errorf("%s %s has the status %+v, want %+v", o.Kind, o.Name, status, want)
		}
		return err
	})
}

// testPolicyStatus: both kinds of policies are realized on the Nodes of their Pods.
func (c *cluster) testPolicyStatus(t *testing.T) {
	b := c.policyBed(t, t, statusPods, nil)
	const spec = "{priority: 1, appliedTo: [{podSelector: {matchExpressions: [{key: app, operator: In, values: [a, b]}]}}], ingress: [{action: Allow, from: [{podSelector: {}}]}]}"
	annp := policycases.Object{Kind: policycases.ANNP, Namespace: "x", Name: "annp-status", Spec: spec}
	acnp := policycases.Object{Kind: policycases.ACNP, Name: "acnp-status", Spec: spec}
	for _, o := range []policycases.Object{annp, acnp} {
		b.mustApply(t, o)
		b.hasStatus(t, o, v1beta1.NetworkPolicyRealized, 1, 2, realizable)
	}
}

// testStatusPerRule: the Nodes of a policy follow the Pods of its rules.
func (c *cluster) testStatusPerRule(t *testing.T) {
	b := c.policyBed(t, t, statusPods, nil)
	const (
		first  = "{action: Allow, from: [{podSelector: {}}], appliedTo: [{podSelector: {matchLabels: {app: a}}}%s]}"
		second = ", {action: Allow, from: [{podSelector: {}}], appliedTo: [{podSelector: {matchLabels: {app: b}}}]}"
	)
	policy := func(group, more string) policycases.Object {
		return policycases.Object{Kind: policycases.ANNP, Namespace: "x", Name: "annp-per-rule", Spec: "{priority: 1, ingress: [" + fmt.Sprintf(first, group) + more + "]}"}
	}
	const missing = ", {group: missing}"
	for i, step := range []struct {
		policy policycases.Object
		nodes  int32
	}{{policy("", second), 2}, {policy("", ""), 1}, {policy(missing, ""), 1}, {policy("", ""), 1}} {
		b.mustApply(t, step.policy)
		b.hasStatus(t, step.policy, v1beta1.NetworkPolicyRealized, int64(i+1), step.nodes, realizable)
	}
}

// testStatusOfForeignGroup: a Group with Pods of another Namespace, or with such a child, cannot be in appliedTo.
func (c *cluster) testStatusOfForeignGroup(t *testing.T) {
	b := c.policyBed(t, t, []policycases.Pod{{Namespace: "x", Name: "a"}, {Namespace: "y", Name: "b", Node: 1}}, nil)
	b.mustApply(t, policycases.Object{Kind: policycases.Group, Namespace: "x", Name: "grp-foreign",
		Spec: `{podSelector: {matchLabels: {pod: b}}, namespaceSelector: {matchLabels: {ns: "${y}"}}}`})
	b.mustApply(t, policycases.Object{Kind: policycases.Group, Namespace: "x", Name: "grp-parent", Spec: "{childGroups: [grp-foreign]}"})
	for _, group := range []string{"grp-foreign", "grp-parent"} {
		o := policycases.Object{Kind: policycases.ANNP, Namespace: "x", Name: "annp-" + group,
			Spec: "{priority: 1, appliedTo: [{group: " + group + "}], ingress: [{action: Allow, from: [{podSelector: {}}]}]}"}
		b.mustApply(t, o)
		condition := v1beta1.NetworkPolicyCondition{
			Type: v1beta1.NetworkPolicyConditionRealizable, Status: metav1.ConditionFalse, Reason: "NetworkPolicyAppliedToUnsupportedGroup",
			Message: fmt.Sprintf("Group %s/%s with Pods in other Namespaces can not be used as AppliedTo", b.namespaces["x"], group),
		}
		b.hasStatus(t, o, v1beta1.NetworkPolicyPending, 1, 0, condition)
	}
}

// testGroupStatus: the members of a parent are known when all its children are there.
func (c *cluster) testGroupStatus(t *testing.T) {
	b := c.emptyBed(t)
	group := func(name, spec string) policycases.Object {
		return policycases.Object{Kind: policycases.ClusterGroup, Name: name, Spec: spec}
	}
	child, late := group("cg-child", "{podSelector: {matchLabels: {pod: a}}}"), group("cg-late", "{podSelector: {matchLabels: {pod: b}}}")
	parent := group("cg-parent-of-late", "{childGroups: [cg-child, cg-late]}")
	computed := func(o policycases.Object) bool {
		object, err := b.resource(o).Get(t.Context(), o.Name, metav1.GetOptions{})
		require.NoError(t, err)
		read, err := crd.Read[v1beta1.ClusterGroup](object)
		require.NoError(t, err)
		return slices.ContainsFunc(read.Status.Conditions, func(c v1beta1.GroupCondition) bool {
			return c.Type == v1beta1.GroupMembersComputed && c.Status == metav1.ConditionTrue
		})
	}
	becomes := func(o policycases.Object) {
		t.Helper()
		eventually(t, limit(time.Second), func() error {
			if !computed(o) {
				return fmt.Errorf("the members of %s are not known", o.Name)
			}
			return nil
		})
	}
	b.mustApply(t, child)
	becomes(child)
	b.mustApply(t, parent)
	require.Never(t, func() bool { return computed(parent) }, time.Second, pollInterval, "a parent whose child is missing")
	b.mustApply(t, late)
	becomes(late)
	becomes(parent)
}
