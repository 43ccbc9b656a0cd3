// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/flowstore"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// PolicyClient is the part of Client for NetworkPolicies.
type PolicyClient interface {
	// UpdatePolicyRules removes rules by flow id and installs others, which replace installed ones with the same id. It names to the
	// Interceptor the Pods that a changed rule is or was applied to. The first call of a process, which may be without rules, also
	// removes all policy rules of former rounds, in the same bundle.
	UpdatePolicyRules(install []*policy.Rule, remove []uint32) error
	// UpdatePolicyRulesOnTop does the same but leaves rules of former rounds in force in addition to the current ones: a flow that both have
	// serves both. Call UpdatePolicyRules once all current rules are installed.
	UpdatePolicyRulesOnTop(install []*policy.Rule, remove []uint32) error
	// GetPolicyFlowKeys returns the match strings of the cached flows of policy rules, sorted.
	GetPolicyFlowKeys(flowIDs []uint32) []string
	// ParsePolicyPacket reads a packet-in for PolicyLogController. It returns an error if no flow of this pipeline can have sent it.
	ParsePolicyPacket(p *of.PacketIn) (PolicyPacket, error)
	// SendPolicyReject sends the answer to a rejected packet.
	SendPolicyReject(ctx context.Context, path RejectPath, frame []byte) error
}

func (n *Policies) UpdatePolicyRules(install []*policy.Rule, remove []uint32) error {
	return n.updatePolicyRules(install, remove, true)
}

func (n *Policies) UpdatePolicyRulesOnTop(install []*policy.Rule, remove []uint32) error {
	return n.updatePolicyRules(install, remove, false)
}

// updatePolicyRules changes rules; if replace is set, it removes the rules of former rounds.
func (n *Policies) updatePolicyRules(install []*policy.Rule, remove []uint32, replace bool) error {
	removed := make(map[uint32]bool, len(remove))
	for _, id := range remove {
		removed[id] = true
	}
	for _, r := range install {
		if err := validatePolicyRule(r); err != nil {
			return err
		}
		if removed[r.FlowID] {
			return fmt.Errorf("policy rule %d is both installed and removed in one change", r.FlowID)
		}
	}
	return n.socket.Change(func(t pipeline.Turn) error { return n.update(t, install, remove, replace) })
}

func (n *Policies) update(t pipeline.Turn, install []*policy.Rule, remove []uint32, replace bool) error {
	for _, r := range install {
		if r.Effect.Order.Stage != policy.StageKubernetes && !t.G.Features.AntreaPolicy {
			return fmt.Errorf("policy rule %d: effect %+v: rules with an order need the feature gate AntreaPolicy", r.FlowID, r.Effect)
		}
	}
	change := n.policy.change(policyFlows{t.G})
	if err := change.replace(install, remove); err != nil {
		return err
	}
	var stale []flowstore.Deletion
	returned := false
	if replace {
		stale, returned = n.stalePolicies(), change.giveBack()
	}
	plans := change.plans(n.policies)
	if len(stale) == 0 && !slices.ContainsFunc(plans, func(p flowstore.Plan) bool { return !p.Empty() }) && !t.NeedsResync() {
		markFreed(t, n.apply(t, change, replace))
		return nil
	}
	// It is unknown which Pods the rules of former rounds were applied to.
	all := t.Affects(stale, plans...) || returned
	n.expectSourcePorts(t, change)
	if err := t.Commit(coherency.Change{Interfaces: change.interfaces(), All: all}, stale, plans...); err != nil {
		return fmt.Errorf("install %d and remove %d policy rules: %w", len(install), len(remove), err)
	}
	markFreed(t, n.apply(t, change, replace))
	return nil
}

// apply records a change that the switch has accepted. It returns the Pods that no rule about source ports concerns any more: all of them if
// the change has removed the rules of former rounds.
func (n *Policies) apply(t pipeline.Turn, change *policyChange, replace bool) (freed coherency.Change) {
	former := len(n.socket.FormerRounds()) > 0
	n.mu.Lock()
	defer n.mu.Unlock()
	freed.All = former && replace && !n.stalePoliciesDeleted
	n.stalePoliciesDeleted = n.stalePoliciesDeleted || replace
	if t.G.Features.Openings {
		freed.Interfaces = n.countSourcePorts(change)
	}
	change.apply()
	return freed
}

// stalePolicies returns deletions of the policy flows of former rounds. These flows stay in force until the current policies are
// known; then they must not complete the conjunctions of current rules. Call it within a change.
func (n *Policies) stalePolicies() (deletions []flowstore.Deletion) {
	if n.stalePoliciesDeleted {
		return nil
	}
	for _, round := range n.socket.FormerRounds() {
		deletions = append(deletions, flowstore.Deletion{
			Cookie: pipeline.Cookie(round, pipeline.CookieNetworkPolicy), Mask: pipeline.CookieRoundMask | pipeline.CookieCategoryMask,
		})
	}
	return deletions
}

func (n *Policies) GetPolicyFlowKeys(flowIDs []uint32) []string {
	g := n.socket.Generator()
	if g == nil {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	objects := map[string]bool{}
	for _, id := range flowIDs {
		objects[ruleObject(id)] = true
		for key := range (policyFlows{g}).keyDelta(nil, n.policy.rules[id]).added {
			key = key.at(n.policy.levels[id])
			objects[key.String()] = true
		}
	}
	var keys []string
	for object := range objects {
		keys = append(keys, n.policies.MatchStrings(object)...)
	}
	slices.Sort(keys)
	return keys
}

func validatePolicyRule(r *policy.Rule) error {
	if r.FlowID == 0 {
		return fmt.Errorf("policy rule without id: %+v", r)
	}
	if err := r.Effect.Validate(); err != nil {
		return fmt.Errorf("policy rule %d: %w", r.FlowID, err)
	}
	if _, err := kindOf(r.Effect); err != nil {
		return fmt.Errorf("policy rule %d: %w", r.FlowID, err)
	}
	if r.Direction != policy.Ingress && r.Direction != policy.Egress {
		return fmt.Errorf("policy rule %d: direction %v: must be %v or %v", r.FlowID, r.Direction, policy.Ingress, policy.Egress)
	}
	for _, pod := range r.AppliedTo {
		if pod.InterfaceName == "" || len(pod.IPs) == 0 {
			return fmt.Errorf("policy rule %d: Pod %+v must have an interface name and addresses", r.FlowID, pod)
		}
		if err := pipeline.ValidateOFPort(pod.OFPort); err != nil {
			return fmt.Errorf("policy rule %d: Pod at interface %s: %w", r.FlowID, pod.InterfaceName, err)
		}
	}
	if i := slices.IndexFunc(r.Peers, func(p netip.Prefix) bool { return !p.IsValid() || p.Addr().Is4In6() }); i >= 0 {
		return fmt.Errorf("policy rule %d: peer %v is neither an IPv4 nor an IPv6 prefix", r.FlowID, r.Peers[i])
	}
	if err := validateServices(r); err != nil {
		return fmt.Errorf("policy rule %d: %w", r.FlowID, err)
	}
	return nil
}

// validateServices checks the Services, protocols and ports of a rule.
func validateServices(r *policy.Rule) error {
	switch {
	case slices.Contains(r.PeerServices, 0) || slices.Contains(r.AppliedToServices, 0):
		return fmt.Errorf("peers that are Services %v, or to which the rule is applied %v: group ids are not 0", r.PeerServices, r.AppliedToServices)
	case len(r.PeerServices) > 0 && (r.Direction != policy.Egress || !ordered(r)):
		return fmt.Errorf("%v rule of stage %d with Services as peers: only egress rules with an order have them", r.Direction, r.Effect.Order.Stage)
	case len(r.AppliedToServices) > 0 && (r.Direction != policy.Ingress || !ordered(r) || len(r.AppliedTo) > 0):
		return fmt.Errorf("%v rule of stage %d that is applied to Services and to %d Pods: only ingress rules with an order are applied to Services, and then not to Pods",
			r.Direction, r.Effect.Order.Stage, len(r.AppliedTo))
	}
	protocols := []uint8{of.IPProtoTCP, of.IPProtoUDP, of.IPProtoSCTP, of.IPProtoICMP}
	for _, s := range r.Services {
		isICMP, hasPorts := s.Protocol == of.IPProtoICMP, s.Port|s.Mask|s.SourcePort|s.SourceMask != 0
		switch {
		case !slices.Contains(protocols, s.Protocol) || s.Port&^s.Mask != 0 || s.SourcePort&^s.SourceMask != 0:
			return fmt.Errorf("service %+v: must have one of the protocols %s, and no bits of a port outside its mask", s, strings.Trim(fmt.Sprint(protocols), "[]"))
		case isICMP && hasPorts || !isICMP && s.ICMPType != nil || s.ICMPType == nil && s.ICMPCode != nil:
			return fmt.Errorf("service %+v: only ICMP has types, and a code needs a type; ICMP has no ports", s)
		}
	}
	return nil
}
