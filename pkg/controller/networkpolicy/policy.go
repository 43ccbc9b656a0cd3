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

// policy is a policy of any kind and everything computed from it.
type policy struct {
	// key is the name of the object, and never changes. source says where the policy comes from.
	key    string
	source policySource
	// antrea or admin is the source of translation; both are nil for a NetworkPolicy of Kubernetes.
	antrea      *antreaPolicy
	admin       *adminPolicy
	translation *translation
	// object is replaced when it changes.
	object *controlplane.NetworkPolicy
	// applied are the groups that the policy, or a rule of it, applies to; peers are the groups that its rules name.
	applied map[*group]struct{}
	peers   map[*group]struct{}
	// span counts, per Node, the groups of applied that concern it.
	span span
	// reports has the latest report of each Node of the span.
	reports map[string]controlplane.NetworkPolicyNodeStatus
}

// policySource is the metadata of a policy's source.
type policySource struct {
	controlplane.NetworkPolicyReference
	generation int64
	created    metav1.Time
}

func sourceOf(kind controlplane.NetworkPolicyType, meta *metav1.ObjectMeta) policySource {
	return policySource{
		NetworkPolicyReference: controlplane.NetworkPolicyReference{Type: kind, Namespace: meta.Namespace, Name: meta.Name, UID: meta.UID},
		generation:             meta.Generation, created: meta.CreationTimestamp,
	}
}

// tiered reports whether the policy is in a tier, which NetworkPolicies of Kubernetes are not. Tiered policies have a status.
func (p *policy) tiered() bool { return p.source.Type != controlplane.K8sNetworkPolicy }

func (p *policy) resource() Resource         { return NetworkPolicies }
func (p *policy) id() string                 { return p.key }
func (p *policy) concerns() span             { return p.span }
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
	ns.policies[source.Name] = c.setPolicy(t, ns.policies[source.Name], &policy{
		source: sourceOf(controlplane.K8sNetworkPolicy, &source.ObjectMeta), translation: next,
	})
	return t.changes(), err
}

// setPolicy replaces old, which may be nil, by next, and returns the policy that there is then.
func (c *core) setPolicy(t *transaction, old, next *policy) *policy {
	if old != nil && old.source.UID == next.source.UID {
		old.source, old.antrea, old.admin = next.source, next.antrea, next.admin
		c.retranslated(t, map[*policy]*translation{old: next.translation})
		return old
	}
	p := next
	first := p.translation
	p.key, p.translation, p.span = c.keyFor(&p.source.NetworkPolicyReference), nil, span{}
	c.policies[p.key] = p
	t.created(p)
	c.retranslated(t, map[*policy]*translation{p: first})
	if old != nil { // deleted and created again; last, so that groups that both use stay
		c.removePolicy(t, old)
	}
	return p
}

// policyNamespace is the namespace of the names of policies whose UID is another policy's, too (RFC 9562, version 5).
var policyNamespace = uuid.NewSHA1(uuid.NameSpaceDNS, []byte("networkpolicy.controlplane.antrea.io"))

// keyFor returns the name for the object of a new policy: its UID, as in Antrea. An API server never reuses a UID. If
// two policies had the same one anyway, the second gets a name of its own, because both must be in force.
func (c *core) keyFor(source *controlplane.NetworkPolicyReference) string {
	uid := string(source.UID)
	if c.policies[uid] == nil {
		return uid
	}
	return secondKey(source)
}

// secondKey is the name for the object of a policy whose UID is another policy's.
func secondKey(source *controlplane.NetworkPolicyReference) string {
	text := source.Namespace + "/" + source.Name + "/" + string(source.UID)
	if source.Type != controlplane.K8sNetworkPolicy {
		text = string(source.Type) + ":" + text
	}
	return uuid.NewSHA1(policyNamespace, []byte(text)).String()
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
	c.antrea.forget(p)
	delete(c.policies, p.key)
	c.release(t, p, c.refer(t, p, &translation{}))
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

// retranslated gives policies their next translations: first all get their groups, then all release the former ones, so
// that groups stay that another policy begins to use.
func (c *core) retranslated(t *transaction, next map[*policy]*translation) {
	former := map[*policy]references{}
	for p, translation := range next {
		c.countUnreadable(p.translation, translation)
		c.antrea.forget(p)
		p.translation = translation
		c.antrea.remember(p)
		c.antrea.changed[p] = struct{}{}
		object := p.build(c.namespaces[p.source.Namespace])
		if !reflect.DeepEqual(object, p.object) {
			p.object = object
			t.of(p).updated = true
		}
		former[p] = c.refer(t, p, translation)
	}
	for p, references := range former {
		c.release(t, p, references)
	}
}

// updatePolicy brings the object of a policy in line with its Namespace.
func (c *core) updatePolicy(t *transaction, p *policy) {
	c.retranslated(t, map[*policy]*translation{p: p.translation})
}

// references are the groups of a policy.
type references struct {
	applied, peers map[*group]struct{}
}

// refer makes the policy a user of the groups of a translation, and returns the groups of the former one, of which it stays a user.
func (c *core) refer(t *transaction, p *policy, next *translation) references {
	for i := range next.applied {
		c.follow(t, &next.applied[i])
	}
	former, nodes := references{p.applied, p.peers}, p.span
	p.applied, p.peers, p.span = map[*group]struct{}{}, map[*group]struct{}{}, span{}
	for i := range next.applied {
		g := c.group(&next.applied[i])
		if _, twice := p.applied[g]; twice {
			continue
		}
		p.applied[g] = struct{}{}
		c.applyTo(t, p, g)
		for node := range g.applied.span {
			if p.span.add(node) && !nodes.has(node) {
				t.entered(p, node)
			}
		}
	}
	for node := range nodes {
		if !p.span.has(node) {
			t.left(p, node)
		}
	}
	for i := range next.peers {
		g := c.group(&next.peers[i])
		p.peers[g] = struct{}{}
		c.usePeer(t, p, g)
	}
	for g := range p.peers {
		for node := range p.span {
			if g.address.span.add(node) {
				t.entered(g.address, node)
			}
		}
	}
	for g := range former.peers {
		for node := range nodes {
			if g.address.span.remove(node) {
				t.left(g.address, node)
			}
		}
	}
	return former
}

// release ends the use of groups that are no longer the policy's.
func (c *core) release(t *transaction, p *policy, former references) {
	for g := range former.peers {
		if _, again := p.peers[g]; !again {
			c.releasePeer(t, p, g)
		}
	}
	for g := range former.applied {
		if _, again := p.applied[g]; !again {
			c.ceaseToApply(t, p, g)
		}
	}
}

// build makes the object of a policy. A policy of Kubernetes is in the Namespace.
func (p *policy) build(ns *namespace) *controlplane.NetworkPolicy {
	rules := p.translation.rules
	if !p.tiered() && ns.logging {
		rules = make([]controlplane.NetworkPolicyRule, len(rules))
		for i, rule := range p.translation.rules {
			rule.EnableLogging = true
			rules[i] = rule
		}
	}
	object := &controlplane.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{
			Name: p.key, UID: p.source.UID, Generation: p.source.generation, CreationTimestamp: p.source.created,
		},
		Rules:    rules,
		Priority: p.translation.priority, TierPriority: p.translation.tierPriority,
		SourceRef: &p.source.NetworkPolicyReference,
	}
	if !p.translation.perRule {
		for i := range p.translation.applied {
			object.AppliedToGroups = append(object.AppliedToGroups, p.translation.applied[i].name)
		}
	}
	return object
}
