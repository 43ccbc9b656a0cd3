// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/route"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
)

// NodeFirewall is the part of the host network that policies for this Node need.
type NodeFirewall interface {
	// SetNodePolicyRules replaces all rules. They are in the order of evaluation.
	SetNodePolicyRules(ctx context.Context, rules []route.NodePolicyRule) error
}

// nodePolicies applies policies to the connections of the Node's own programs. A version that cannot be applied leaves the former one in force.
type nodePolicies struct {
	c        *Controller
	firewall NodeFirewall
	// file has the applied rules for the next agent. unknown is set while the ones of the agent before are in force and cannot be read; only
	// apply uses it.
	file    string
	unknown error
	// wake has a value when there may be something to apply.
	wake chan struct{}

	// These are protected by the controller's mu.
	// names are the policies that have had rules for this Node when they were last looked at.
	names sets.Set[string]
	// applied contains the rules in the firewall, and versions the versions of policies that were applied or refused last.
	applied  map[string][]nodeRule
	versions map[string]*v1beta2.NetworkPolicy
	// failures has the reasons why versions are not applied.
	failures map[string]string
}

// ApplyToNode makes the controller apply policies for the Node with this name, through its firewall. The file keeps the rules for the next
// agent. It must be called before Run.
func (c *Controller) ApplyToNode(node string, firewall NodeFirewall, file string) {
	c.nodes = &nodePolicies{
		c: c, firewall: firewall, file: file, wake: make(chan struct{}, 1),
		names: sets.New[string](), applied: map[string][]nodeRule{}, versions: map[string]*v1beta2.NetworkPolicy{}, failures: map[string]string{},
	}
	c.nodes.restore()
	c.update(func(s *state) { s.built.node = node })
}

// touch records that policies have changed. n may be nil. The caller holds the controller's mu.
func (n *nodePolicies) touch(versions map[string]*v1beta2.NetworkPolicy) {
	if n == nil {
		return
	}
	concerned := false
	for name, version := range versions {
		applies := version != nil && n.c.state.appliesToNode(version)
		concerned = concerned || applies || n.names.Has(name)
		if applies {
			n.names.Insert(name)
			delete(n.versions, name) // Members of its groups may have changed.
		}
	}
	if concerned {
		notify(n.wake)
	}
}

// run applies policies until ctx ends. Until all are known, the rules of an earlier agent stay.
func (n *nodePolicies) run(ctx context.Context) {
	select {
	case <-ctx.Done():
		return
	case <-n.c.Synced():
	}
	notify(n.wake)
	whenever(ctx, n.wake, func() error { return n.apply(ctx) }, "Could not apply the policies for this Node, will try again")
}

// apply brings the firewall in line with all policies for this Node.
func (n *nodePolicies) apply(ctx context.Context) error {
	wanted, versions, failures := n.plan()
	var err error
	if len(failures) > 0 {
		err = n.unknown
	}
	if err == nil {
		err = n.set(ctx, wanted)
	}
	n.conclude(wanted, versions, failures, err)
	return err
}

// set replaces the rules in the firewall.
func (n *nodePolicies) set(ctx context.Context, wanted map[string][]nodeRule) error {
	all := slices.Concat(slices.Collect(maps.Values(wanted))...)
	slices.SortFunc(all, func(a, b nodeRule) int {
		switch {
		case a.Effect.Before(b.Effect):
			return -1
		case b.Effect.Before(a.Effect):
			return 1
		}
		return cmp.Compare(a.ID, b.ID)
	})
	rules := make([]route.NodePolicyRule, len(all))
	for i, r := range all {
		rules[i] = r.NodePolicyRule
	}
	if n.unknown == nil {
		n.store(wanted)
	}
	if err := n.firewall.SetNodePolicyRules(ctx, rules); err != nil {
		if n.unknown == nil {
			n.store(n.applied)
		}
		return fmt.Errorf("the firewall refuses the rules for this Node: %w", err)
	}
	if n.unknown != nil {
		n.unknown = nil
		n.store(wanted)
	}
	return nil
}

// plan returns the rules of each policy, the versions that they come from, and the reasons why others are left out.
func (n *nodePolicies) plan() (wanted map[string][]nodeRule, versions map[string]*v1beta2.NetworkPolicy, failures map[string]string) {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	wanted, versions, failures = map[string][]nodeRule{}, map[string]*v1beta2.NetworkPolicy{}, map[string]string{}
	for name := range n.names {
		p := n.c.state.policies[name]
		if p == nil || p.effective == nil || !n.c.state.appliesToNode(p.effective) {
			n.names.Delete(name)
			continue
		}
		versions[name] = p.effective
		rules, err := n.c.state.compileForNode(p.effective)
		if err != nil {
			rules, failures[name] = n.applied[name], err.Error()
		}
		if len(rules) > 0 {
			wanted[name] = rules
		}
	}
	return wanted, versions, failures
}

// conclude enters the outcome of apply.
func (n *nodePolicies) conclude(wanted map[string][]nodeRule, versions map[string]*v1beta2.NetworkPolicy, failures map[string]string, err error) {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	if err != nil {
		for name := range versions {
			failures[name] = cmp.Or(failures[name], err.Error())
		}
	} else {
		n.applied = wanted
	}
	for name, message := range failures {
		if n.failures[name] != message {
			klog.InfoS("A policy is not applied to this Node, its former version stays", "policy", subjectOf(versions[name]), "reason", message)
		}
	}
	n.versions, n.failures = versions, failures
	n.c.reporter.touch(sets.KeySet(versions))
}

// status returns whether a version has been applied to this Node or refused, and why it was refused. n may be nil. The caller holds the
// controller's mu.
func (n *nodePolicies) status(name string, version *v1beta2.NetworkPolicy) (settled bool, failure string) {
	if n == nil || !n.c.state.appliesToNode(version) {
		return true, ""
	}
	return n.versions[name] == version, n.failures[name]
}
