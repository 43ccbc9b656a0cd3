// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"fmt"
	"maps"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// antreaObjects has the objects that only policies in tiers need.
type antreaObjects struct {
	// policies are by name; ClusterNetworkPolicies have no Namespace.
	policies map[types.NamespacedName]*policy
	// admin has the policies of the Kubernetes network policy API.
	admin map[adminKey]*policy
	tiers map[string]knownTier
	// nodes are the names of all Nodes.
	nodes map[string]struct{}
	// services are the groups of the NodePorts of a Service.
	services map[*appliedToGroup]struct{}
	// selectors are the selectors of Services.
	selectors map[types.NamespacedName]labels.Set
	// sources are by key; parents has the keys of the groups that name a group as their child, serviceUsers the
	// keys of the groups that name a Service.
	sources      map[string]*groupSource
	parents      index[string, string]
	serviceUsers index[types.NamespacedName, string]
	// ofGroup, ofTier and perNamespace find the policies whose translation depends on something.
	ofGroup      index[string, *policy]
	ofTier       index[string, *policy]
	perNamespace map[*policy]struct{}
	// changed and changedSources list the policies and groups that may have a new status since the last event.
	changed        map[*policy]struct{}
	changedSources map[string]struct{}
}

func newAntreaObjects() antreaObjects {
	return antreaObjects{
		policies: map[types.NamespacedName]*policy{}, admin: map[adminKey]*policy{}, tiers: map[string]knownTier{}, nodes: map[string]struct{}{},
		services: map[*appliedToGroup]struct{}{}, selectors: map[types.NamespacedName]labels.Set{},
		sources: map[string]*groupSource{}, parents: index[string, string]{}, serviceUsers: index[types.NamespacedName, string]{},
		ofGroup: index[string, *policy]{}, ofTier: index[string, *policy]{}, perNamespace: map[*policy]struct{}{},
		changed: map[*policy]struct{}{}, changedSources: map[string]struct{}{},
	}
}

// index finds users by what they use.
type index[K, V comparable] map[K]map[V]struct{}

func (i index[K, V]) add(key K, user V) {
	if i[key] == nil {
		i[key] = map[V]struct{}{}
	}
	i[key][user] = struct{}{}
}

func (i index[K, V]) remove(key K, user V) {
	if delete(i[key], user); len(i[key]) == 0 {
		delete(i, key)
	}
}

// dependencies names the objects that a translation was made of, besides its source.
type dependencies struct {
	// groups are keys of groups, existing or not.
	groups map[string]struct{}
	// tier is the name of a tier that the policies' controller does not know by itself.
	tier string
	// namespaces is nil unless rules depend on the Namespaces that the policy applies to.
	namespaces *namespaceDependency
	// foreign are the groups that may have Pods that the policy cannot be applied to.
	foreign map[string]struct{}
}

// remember enters what a policy's translation depends on.
func (a *antreaObjects) remember(p *policy) {
	uses := &p.translation.uses
	for key := range uses.groups {
		a.ofGroup.add(key, p)
	}
	if uses.tier != "" {
		a.ofTier.add(uses.tier, p)
	}
	if uses.namespaces != nil {
		a.perNamespace[p] = struct{}{}
	}
}

// forget undoes remember.
func (a *antreaObjects) forget(p *policy) {
	if p.translation == nil {
		return
	}
	for key := range p.translation.uses.groups {
		a.ofGroup.remove(key, p)
	}
	if tier := p.translation.uses.tier; tier != "" {
		a.ofTier.remove(tier, p)
	}
	delete(a.perNamespace, p)
}

// antreaPolicy is a policy of Antrea of one of its two kinds.
type antreaPolicy struct {
	spec v1beta1.NetworkPolicySpec
	// namespace is empty for a ClusterNetworkPolicy.
	namespace string
	doubts
}

// same reports whether two versions differ in nothing that has an effect, as when only the status changes.
func (a *antreaPolicy) same(other *antreaPolicy) bool {
	return a.namespace == other.namespace && a.doubts.same(other.doubts) && reflect.DeepEqual(a.spec, other.spec)
}

// SetClusterNetworkPolicy adds or changes a ClusterNetworkPolicy. An error names the parts that cannot be read or are not
// supported: they allow nothing. If doubt is not nil, that are the rules that crd.RuleDoubts name; with another doubt the former version stays in
// force, and all that the policy may mean is denied if there is none.
func (c *core) SetClusterNetworkPolicy(source *v1beta1.ClusterNetworkPolicy, doubt error) ([]change, error) {
	return c.setAntrea(sourceOf(controlplane.AntreaClusterNetworkPolicy, &source.ObjectMeta), &antreaPolicy{spec: source.Spec, doubts: doubts{content: doubt}})
}

// SetAntreaNetworkPolicy does the same for a NetworkPolicy of Antrea.
func (c *core) SetAntreaNetworkPolicy(source *v1beta1.NetworkPolicy, doubt error) ([]change, error) {
	return c.setAntrea(sourceOf(controlplane.AntreaNetworkPolicy, &source.ObjectMeta),
		&antreaPolicy{spec: source.Spec, namespace: source.Namespace, doubts: doubts{content: doubt}})
}

func (c *core) setAntrea(source policySource, antrea *antreaPolicy) ([]change, error) {
	t := newTransaction()
	name := types.NamespacedName{Namespace: antrea.namespace, Name: source.Name}
	old := c.antrea.policies[name]
	if old != nil && old.source.UID == source.UID && antrea.ofAll() {
		antrea = &antreaPolicy{spec: old.antrea.spec, namespace: antrea.namespace, doubts: old.antrea.keptFor(antrea.doubts)}
	}
	if old != nil && old.source == source && old.antrea.same(antrea) {
		return nil, nil
	}
	next := &policy{source: source, antrea: antrea, translation: c.translateAntrea(antrea)}
	p := c.setPolicy(t, old, next)
	c.antrea.policies[name] = p
	return c.finish(t), p.translation.problem(&p.source)
}

// problem returns an error that names the parts of a translation that could not be read or are not supported.
func (t *translation) problem(source *policySource) error {
	if len(t.unreadable) == 0 {
		return nil
	}
	return fmt.Errorf("%s %s: %s", source.Type, groupKey(source.Namespace, source.Name), t.complaint())
}

// DeleteAntreaPolicy removes a ClusterNetworkPolicy, or a NetworkPolicy of Antrea.
func (c *core) DeleteAntreaPolicy(name types.NamespacedName) []change {
	p := c.antrea.policies[name]
	if p == nil {
		return nil
	}
	t := newTransaction()
	delete(c.antrea.policies, name)
	c.removePolicy(t, p)
	return c.finish(t)
}

// retranslate brings policies in line with what their translations depend on.
func (c *core) retranslate(t *transaction, policies map[*policy]struct{}) {
	next := map[*policy]*translation{}
	for p := range policies {
		next[p] = c.translateAntrea(p.antrea)
	}
	c.retranslated(t, next)
}

// finish returns the changes of a transaction, after it has noted whose status they affect.
func (c *core) finish(t *transaction) []change {
	for source := range t.foreign {
		for p := range c.antrea.ofGroup[source.key] {
			c.antrea.changed[p] = struct{}{}
		}
	}
	return t.changes()
}

// SetTier adds or changes a tier.
func (c *core) SetTier(source *v1beta1.Tier) []change {
	former, known := c.antrea.tiers[source.Name]
	c.antrea.tiers[source.Name] = knownTier{source.UID, source.Spec.Priority}
	if known && former.priority == source.Spec.Priority {
		return nil
	}
	return c.tierChanged(source.Name)
}

// DeleteTier removes a tier.
func (c *core) DeleteTier(name string) []change {
	delete(c.antrea.tiers, name)
	return c.tierChanged(name)
}

func (c *core) tierChanged(name string) []change {
	t := newTransaction()
	c.retranslate(t, maps.Clone(c.antrea.ofTier[name]))
	return c.finish(t)
}

// labelSelector makes the selector of a field; nil selects everything.
func labelSelector(field string, source *metav1.LabelSelector) (labels.Selector, error) {
	if source == nil {
		return labels.Everything(), nil
	}
	selector, err := metav1.LabelSelectorAsSelector(source)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", field, err)
	}
	return selector, nil
}
