// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/network-policy-api/apis/v1alpha1"
	"sigs.k8s.io/network-policy-api/apis/v1alpha2"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
)

// The places of policies of the Kubernetes network policy API among tiers. They are Antrea's.
const (
	// clusterAdminTier is the place of ClusterNetworkPolicies in their tier Admin, between the tiers platform and application.
	clusterAdminTier int32 = 220
	// adminTier is the place of AdminNetworkPolicies, between the tier application and the policies of Kubernetes.
	adminTier int32 = 251
	// baselineAdminTier is the place of the BaselineAdminNetworkPolicy, and of ClusterNetworkPolicies in their tier Baseline, after Antrea's.
	baselineAdminTier int32 = 254
	// baselineAdminPriority is the priority of the BaselineAdminNetworkPolicy in its tier.
	baselineAdminPriority = 1
)

// adminKey names a policy of the Kubernetes network policy API. All its kinds have cluster scope.
type adminKey struct {
	kind controlplane.NetworkPolicyType
	name string
}

// adminPolicy is a policy of the Kubernetes network policy API in a form that is the same for all kinds.
type adminPolicy struct {
	tier, priority int32
	subject        v1alpha2.ClusterNetworkPolicySubject
	rules          []adminRule
	// portsField is the name of the rules' field with ports.
	portsField string
	// misplaced, if not nil, says why the place among tiers is not known.
	misplaced error
	doubts
}

// adminRule is a rule of one direction.
type adminRule struct {
	direction controlplane.Direction
	// index is the place among the rules of the direction.
	index  int
	name   string
	action controlplane.RuleAction
	// noAction, if not nil, says why action does not express what is meant.
	noAction error
	peers    []v1alpha2.ClusterNetworkPolicyEgressPeer
	ports    []adminPort
}

// adminPort is a set of destination ports, or an error that says why it is not known.
type adminPort struct {
	service controlplane.Service
	err     error
}

// SetAdminNetworkPolicy adds or changes an AdminNetworkPolicy. An error names the parts that cannot be read: they allow
// nothing. A doubt has the same effect as for SetClusterNetworkPolicy.
func (c *core) SetAdminNetworkPolicy(source *v1alpha1.AdminNetworkPolicy, doubt error) ([]change, error) {
	admin := &adminPolicy{tier: adminTier, priority: source.Spec.Priority, subject: subjectOf(&source.Spec.Subject), portsField: "ports", doubts: doubts{content: doubt}}
	for i := range source.Spec.Ingress {
		rule := &source.Spec.Ingress[i]
		admin.add(controlplane.DirectionIn, i, rule.Name, string(rule.Action), adminActions, ingressPeers(rule.From), adminPorts(rule.Ports))
	}
	for i := range source.Spec.Egress {
		rule := &source.Spec.Egress[i]
		admin.add(controlplane.DirectionOut, i, rule.Name, string(rule.Action), adminActions, egressPeers(rule.To), adminPorts(rule.Ports))
	}
	return c.setAdmin(sourceOf(controlplane.AdminNetworkPolicy, &source.ObjectMeta), admin)
}

// SetBaselineAdminNetworkPolicy does the same for a BaselineAdminNetworkPolicy.
func (c *core) SetBaselineAdminNetworkPolicy(source *v1alpha1.BaselineAdminNetworkPolicy, doubt error) ([]change, error) {
	admin := &adminPolicy{tier: baselineAdminTier, priority: baselineAdminPriority, subject: subjectOf(&source.Spec.Subject), portsField: "ports", doubts: doubts{content: doubt}}
	for i := range source.Spec.Ingress {
		rule := &source.Spec.Ingress[i]
		admin.add(controlplane.DirectionIn, i, rule.Name, string(rule.Action), baselineActions, ingressPeers(rule.From), adminPorts(rule.Ports))
	}
	for i := range source.Spec.Egress {
		rule := &source.Spec.Egress[i]
		admin.add(controlplane.DirectionOut, i, rule.Name, string(rule.Action), baselineActions, baselineEgressPeers(rule.To), adminPorts(rule.Ports))
	}
	return c.setAdmin(sourceOf(controlplane.BaselineAdminNetworkPolicy, &source.ObjectMeta), admin)
}

// SetK8sClusterNetworkPolicy does the same for a ClusterNetworkPolicy of the Kubernetes network policy API.
func (c *core) SetK8sClusterNetworkPolicy(source *v1alpha2.ClusterNetworkPolicy, doubt error) ([]change, error) {
	admin := &adminPolicy{tier: clusterAdminTier, priority: source.Spec.Priority, subject: source.Spec.Subject, portsField: "protocols", doubts: doubts{content: doubt}}
	actions := clusterActions
	switch source.Spec.Tier {
	case v1alpha2.AdminTier:
	case v1alpha2.BaselineTier:
		admin.tier, actions = baselineAdminTier, clusterBaselineActions
	default:
		admin.misplaced = fmt.Errorf("%q: must be Admin or Baseline: the rules that deny are taken for Admin, the others have no effect", source.Spec.Tier)
	}
	for i := range source.Spec.Ingress {
		rule := &source.Spec.Ingress[i]
		admin.add(controlplane.DirectionIn, i, rule.Name, string(rule.Action), actions, clusterIngressPeers(rule.From), clusterPorts(rule.Protocols))
	}
	for i := range source.Spec.Egress {
		rule := &source.Spec.Egress[i]
		admin.add(controlplane.DirectionOut, i, rule.Name, string(rule.Action), actions, rule.To, clusterPorts(rule.Protocols))
	}
	return c.setAdmin(sourceOf(controlplane.K8sClusterNetworkPolicy, &source.ObjectMeta), admin)
}

func (c *core) setAdmin(source policySource, admin *adminPolicy) ([]change, error) {
	key := adminKey{source.Type, source.Name}
	old := c.antrea.admin[key]
	if old != nil && old.source.UID == source.UID && admin.ofAll() {
		kept := *old.admin
		kept.doubts = kept.keptFor(admin.doubts)
		admin = &kept
	}
	if old != nil && old.source == source && reflect.DeepEqual(old.admin, admin) {
		return nil, nil
	}
	t := newTransaction()
	p := c.setPolicy(t, old, &policy{source: source, admin: admin, translation: admin.translate()})
	c.antrea.admin[key] = p
	return c.finish(t), p.translation.problem(&p.source)
}

// deleteAdmin returns the function that removes a policy of a kind.
func deleteAdmin(kind controlplane.NetworkPolicyType) func(*core, types.NamespacedName) []change {
	return func(c *core, name types.NamespacedName) []change {
		key := adminKey{kind, name.Name}
		p := c.antrea.admin[key]
		if p == nil {
			return nil
		}
		t := newTransaction()
		delete(c.antrea.admin, key)
		c.removePolicy(t, p)
		return c.finish(t)
	}
}

// Actions by name. After a rule that passes in the last tier nothing is left that denies.
var (
	adminActions = map[string]controlplane.RuleAction{
		"Allow": controlplane.RuleActionAllow, "Deny": controlplane.RuleActionDrop, "Pass": controlplane.RuleActionPass,
	}
	baselineActions        = map[string]controlplane.RuleAction{"Allow": controlplane.RuleActionAllow, "Deny": controlplane.RuleActionDrop}
	clusterActions         = map[string]controlplane.RuleAction{"Accept": controlplane.RuleActionAllow, "Deny": controlplane.RuleActionDrop, "Pass": controlplane.RuleActionPass}
	clusterBaselineActions = map[string]controlplane.RuleAction{"Accept": controlplane.RuleActionAllow, "Deny": controlplane.RuleActionDrop, "Pass": controlplane.RuleActionAllow}
)

// add adds a rule. An action that is not known is taken for Deny.
func (a *adminPolicy) add(
	direction controlplane.Direction, index int, name, action string, actions map[string]controlplane.RuleAction,
	peers []v1alpha2.ClusterNetworkPolicyEgressPeer, ports []adminPort,
) {
	rule := adminRule{direction: direction, index: index, name: name, peers: peers, ports: ports}
	var known bool
	if rule.action, known = actions[action]; !known {
		rule.action, rule.noAction = controlplane.RuleActionDrop, fmt.Errorf("%q is not known: taken for Deny", action)
	}
	a.rules = append(a.rules, rule)
}
