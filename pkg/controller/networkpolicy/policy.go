// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"reflect"

	"github.com/google/uuid"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
)

// policy is a NetworkPolicy and everything computed from it.
type policy struct {
	// key is the name of the object, and never changes.
	key    string
	source *networkingv1.NetworkPolicy
	// translation is the content of source.
	translation *translation
	// object is replaced when it changes.
	object *controlplane.NetworkPolicy
	// applied is the group of the Pods that the policy applies to; peers are the groups that its rules name.
	applied *group
	peers   map[*group]struct{}
}

func (p *policy) resource() Resource         { return NetworkPolicies }
func (p *policy) id() string                 { return p.object.Name }
func (p *policy) concerns() span             { return p.applied.applied.span }
func (p *policy) full(string) runtime.Object { return p.object }

func (p *policy) bare() runtime.Object {
	return &controlplane.NetworkPolicy{ObjectMeta: p.object.ObjectMeta, SourceRef: p.object.SourceRef}
}

// SetNetworkPolicy adds or changes a policy. An error names the parts that cannot be read: they allow nothing, and the
// other parts take effect.
func (c *core) SetNetworkPolicy(source *networkingv1.NetworkPolicy) ([]change, error) {
	next, err := translate(source)
	t := newTransaction()
	ns := c.namespace(source.Namespace)
	old := ns.policies[source.Name]
	if old != nil && old.source.UID == source.UID {
		c.countUnreadable(old.translation, next)
		old.source, old.translation = source, next
		c.updatePolicy(t, old)
		return t.changes(), err
	}
	p := &policy{key: c.keyFor(source), source: source, translation: next}
	c.countUnreadable(nil, next)
	ns.policies[source.Name] = p
	c.policies[p.key] = p
	p.object = p.build(ns)
	c.refer(t, p)
	t.created(p)
	if old != nil { // deleted and created again; last, so that groups that both use stay
		c.removePolicy(t, old)
	}
	return t.changes(), err
}

// policyNamespace is the namespace of the names of policies whose UID is another policy's, too (RFC 9562, version 5).
var policyNamespace = uuid.NewSHA1(uuid.NameSpaceDNS, []byte("networkpolicy.controlplane.antrea.io"))

// keyFor returns the name for the object of a new policy: its UID, as in Antrea. An API server never reuses a UID. If
// two policies had the same one anyway, the second gets a name of its own, because both must be in force.
func (c *core) keyFor(source *networkingv1.NetworkPolicy) string {
	uid := string(source.UID)
	if c.policies[uid] == nil {
		return uid
	}
	return ownKey(source.Namespace, source.Name, source.UID)
}

func ownKey(namespace, name string, uid types.UID) string {
	return uuid.NewSHA1(policyNamespace, []byte(namespace+"/"+name+"/"+string(uid))).String()
}

// DeleteNetworkPolicy removes a policy.
func (c *core) DeleteNetworkPolicy(key types.NamespacedName) []change {
	ns := c.namespaces[key.Namespace]
	if ns == nil || ns.policies[key.Name] == nil {
		return nil
	}
	t := newTransaction()
	p := ns.policies[key.Name]
	delete(ns.policies, key.Name)
	c.removePolicy(t, p)
	c.dropIfUnused(ns)
	return t.changes()
}

func (c *core) removePolicy(t *transaction, p *policy) {
	c.countUnreadable(p.translation, nil)
	delete(c.policies, p.key)
	c.unrefer(t, p, p.applied, p.peers)
	t.deleted(p)
}

// countUnreadable records that the translation of a policy has changed. Either may be nil.
func (c *core) countUnreadable(before, now *translation) {
	if before != nil && len(before.unreadable) > 0 {
		c.unreadable--
	}
	if now != nil && len(now.unreadable) > 0 {
		c.unreadable++
	}
}

// updatePolicy brings the object and the references of a policy in line with its translation and its Namespace.
func (c *core) updatePolicy(t *transaction, p *policy) {
	object := p.build(c.namespaces[p.source.Namespace])
	if reflect.DeepEqual(object, p.object) {
		return
	}
	applied, peers := p.applied, p.peers
	p.object = object
	c.refer(t, p)
	c.unrefer(t, p, applied, peers)
	t.of(p).updated = true
}

// refer makes the policy a user of the groups of its translation.
func (c *core) refer(t *transaction, p *policy) {
	p.applied = c.group(p.translation.applied)
	c.applyTo(t, p, p.applied)
	p.peers = map[*group]struct{}{}
	for _, selector := range p.translation.peers {
		g := c.group(selector)
		p.peers[g] = struct{}{}
		c.usePeer(t, p, g)
	}
	for node := range p.applied.applied.span {
		t.concerned(p, node)
	}
}

// unrefer removes the references that refer has made; those that p has now stay.
func (c *core) unrefer(t *transaction, p *policy, applied *group, peers map[*group]struct{}) {
	for node := range applied.applied.span {
		t.left(p, node)
		for g := range peers {
			if g.address.span.remove(node) {
				t.left(g.address, node)
			}
		}
	}
	deleted := c.policies[p.key] != p
	for g := range peers {
		if _, again := p.peers[g]; !again || deleted {
			c.releasePeer(t, p, g)
		}
	}
	if applied != p.applied || deleted {
		c.ceaseToApply(t, p, applied)
	}
}

// build makes the object of a policy.
func (p *policy) build(ns *namespace) *controlplane.NetworkPolicy {
	rules := p.translation.rules
	if ns.logging {
		rules = make([]controlplane.NetworkPolicyRule, len(rules))
		for i, rule := range p.translation.rules {
			rule.EnableLogging = true
			rules[i] = rule
		}
	}
	return &controlplane.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{
			Name: p.key, UID: p.source.UID, Generation: p.source.Generation,
			CreationTimestamp: p.source.CreationTimestamp,
		},
		Rules:           rules,
		AppliedToGroups: []string{p.translation.applied.name()},
		SourceRef: &controlplane.NetworkPolicyReference{
			Type: controlplane.K8sNetworkPolicy, Namespace: p.source.Namespace, Name: p.source.Name, UID: p.source.UID,
		},
	}
}
