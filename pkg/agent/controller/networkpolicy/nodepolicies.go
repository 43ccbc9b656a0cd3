// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/recovery"
	"github.com/antrea-oncache/antrea/pkg/agent/route"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
)

// NodeFirewall is the part of the host network that policies for this Node need.
type NodeFirewall interface {
	// SetNodePolicyRules replaces all rules. They are in the order of evaluation.
	SetNodePolicyRules(ctx context.Context, rules []route.NodePolicyRule) error
	// TryNodePolicyRules returns why the rules would be refused, without an effect on packets.
	TryNodePolicyRules(ctx context.Context, rules []route.NodePolicyRule) error
}

// nodePolicies applies policies to the connections of the Node's own programs. A version that cannot be applied leaves the former one in force. The
// rules do not depend on the switch: they follow what has taken effect, which has only whole events (marks.go).
type nodePolicies struct {
	c        *Controller
	firewall NodeFirewall
	// file has the applied rules for the next agent. unknown is set while the ones of the agent before are in force and cannot be read, confirmed
	// when the firewall has taken the applied rules from this agent; only apply uses them.
	file      string
	unknown   error
	confirmed bool
	// wake has a value when there may be something to apply.
	wake chan struct{}

	// These are protected by the controller's mu.
	// planned has the policies with rules for this Node. pending is set until it is applied.
	planned map[string]nodePlan
	pending bool
	// applied contains the rules in the firewall, and versions the versions of policies that were applied or refused last.
	applied  map[string][]nodeRule
	versions map[string]*v1beta2.NetworkPolicy
	// failures has the reasons why versions are not applied.
	failures map[string]string
}

// nodePlan has the rules of a version, or the reason why it cannot be applied.
type nodePlan struct {
	version *v1beta2.NetworkPolicy
	rules   []nodeRule
	err     error
}

// ApplyToNode makes the controller apply policies for the Node with this name, through its firewall. The file keeps the rules for the next
// agent. It must be called before Run.
func (c *Controller) ApplyToNode(node string, firewall NodeFirewall, file string) {
	c.nodes = &nodePolicies{
		c: c, firewall: firewall, file: file, wake: make(chan struct{}, 1),
		planned: map[string]nodePlan{}, pending: true, // The rules of an agent before may have to go.
		applied: map[string][]nodeRule{}, versions: map[string]*v1beta2.NetworkPolicy{}, failures: map[string]string{},
	}
	c.nodes.restore()
	c.update(func(s *state) { s.built.node, s.dirtyNode = node, sets.New[string]() })
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

// apply brings the firewall in line with all policies for this Node, if there may be something new.
func (n *nodePolicies) apply(ctx context.Context) error {
	planned, pending := n.plan()
	if !pending {
		return nil
	}
	wanted, failures := map[string][]nodeRule{}, map[string]string{}
	for name, p := range planned {
		rules := p.rules
		if p.err != nil {
			rules, failures[name] = n.applied[name], p.err.Error()
		}
		if len(rules) > 0 {
			wanted[name] = rules
		}
	}
	var err error
	if len(failures) > 0 {
		err = n.unknown
	}
	var refused error
	if err == nil {
		if err = n.set(ctx, wanted); err != nil {
			wanted, refused, err = n.setOthers(ctx, wanted, failures, err)
		}
	}
	n.conclude(planned, wanted, failures, err)
	if refused != nil {
		n.tryAgain()
	}
	return errors.Join(err, refused)
}

// set replaces the rules in the firewall.
func (n *nodePolicies) set(ctx context.Context, wanted map[string][]nodeRule) error {
	if n.unknown == nil {
		n.store(wanted)
	}
	if err := n.firewall.SetNodePolicyRules(ctx, inOrder(wanted)); err != nil {
		if n.unknown == nil {
			n.store(n.applied)
		}
		return fmt.Errorf("the firewall refuses the rules for this Node: %w", err)
	}
	n.confirmed = true
	if n.unknown != nil {
		n.unknown = nil
		n.store(wanted)
	}
	return nil
}

// inOrder returns the rules of policies in the order of evaluation.
func inOrder(wanted map[string][]nodeRule) []route.NodePolicyRule {
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
	return rules
}

// plan makes the plans follow all that has taken effect, and returns them.
func (n *nodePolicies) plan() (planned map[string]nodePlan, pending bool) {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	for name := range n.c.state.dirtyNode {
		n.follow(name)
	}
	clear(n.c.state.dirtyNode)
	return maps.Clone(n.planned), n.pending
}

// follow plans a policy. While not all its groups are known, the present plan stays. The caller holds the controller's mu.
func (n *nodePolicies) follow(name string) {
	version, ok := n.c.state.resolve(name)
	if !ok {
		return
	}
	_, had := n.planned[name]
	applies := version != nil && n.c.state.appliesToNode(version)
	n.pending = n.pending || had || applies
	delete(n.planned, name)
	delete(n.versions, name)
	if !applies {
		return
	}
	p := nodePlan{version: version}
	p.err = recovery.Call(controllerName, subjectOf(version), func() (err error) {
		p.rules, err = n.c.state.compileForNode(version)
		return err
	})
	n.planned[name] = p
}

// conclude enters the outcome of apply.
func (n *nodePolicies) conclude(planned map[string]nodePlan, wanted map[string][]nodeRule, failures map[string]string, err error) {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	n.pending = err != nil
	versions := map[string]*v1beta2.NetworkPolicy{}
	for name, p := range planned {
		versions[name] = p.version
		if err != nil {
			failures[name] = cmp.Or(failures[name], err.Error())
		}
	}
	if err == nil {
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
	return n.versions[name] == version && !n.c.state.dirtyNode.Has(name), n.failures[name]
}
