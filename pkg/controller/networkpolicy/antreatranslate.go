// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// translator reads a policy of Antrea. A part that cannot be read or is not supported closes: a rule that allows loses the
// part, one that denies gets all that the part may mean. A rule that passes then denies: without the part, lower rules would decide
// about packets that Kubernetes' policies are to decide about. So does a rule that would limit what it allows to requests of an
// upper layer, because a lower rule must not decide about the other requests.
type translator struct {
	core   *core
	source *antreaPolicy
	out    *translation
	// policy is the target of the policy's own appliedTo.
	policy target
	rules  []pendingRule
	// covered remembers the Namespaces that selectors cover.
	covered map[string][]*namespace
}

// pendingRule is a rule and the groups that it applies to.
type pendingRule struct {
	controlplane.NetworkPolicyRule
	applied []groupReference
	// split is set if applied differs from the rule's or policy's appliedTo.
	split bool
}

// translateAntrea reads a policy, and notes in the translation's uses on which objects it depends.
func (c *core) translateAntrea(source *antreaPolicy) *translation {
	priority := source.spec.Priority
	t := &translator{
		core: c, source: source, covered: map[string][]*namespace{},
		out: &translation{priority: &priority, uses: dependencies{groups: map[string]struct{}{}, foreign: map[string]struct{}{}}},
	}
	tier, dependency, known := c.tier(source.spec.Tier)
	t.out.tierPriority, t.out.uses.tier = &tier, dependency
	t.out.doubt(source.doubts)
	if !known {
		tier = firstTier
		t.cannot("spec.tier", fmt.Errorf("tier %s does not exist, or cannot be read: the rules that deny or pass come first and deny, the others have no effect", source.spec.Tier))
	}
	t.policy = t.appliedTo("spec.appliedTo", source.spec.AppliedTo, false)
	if source.ofAll() && len(source.spec.Ingress)+len(source.spec.Egress) == 0 {
		t.rule(controlplane.DirectionIn, 0, &v1beta1.Rule{}, known)
		t.rule(controlplane.DirectionOut, 0, &v1beta1.Rule{}, known)
	}
	for i := range source.spec.Ingress {
		t.rule(controlplane.DirectionIn, i, &source.spec.Ingress[i], known)
	}
	for i := range source.spec.Egress {
		t.rule(controlplane.DirectionOut, i, &source.spec.Egress[i], known)
	}
	t.collect()
	return t.out
}

// cannot notes that a part cannot be read or is not supported.
func (t *translator) cannot(place string, err error) { t.out.cannotRead(place+": ", err) }

// collect gives the groups that all rules apply to to the policy, or makes each rule have its own.
func (t *translator) collect() {
	t.out.perRule = len(t.policy.widened) > 0 || slices.ContainsFunc(t.rules, func(r pendingRule) bool { return r.split })
	if !t.out.perRule {
		t.out.applied = t.policy.exact
		for i := range t.rules {
			t.out.rules = append(t.out.rules, t.rules[i].NetworkPolicyRule)
		}
		return
	}
	for i := range t.rules {
		rule := &t.rules[i]
		if len(rule.applied) == 0 { // An empty list would stand for the policy's.
			continue
		}
		for j := range rule.applied {
			rule.AppliedToGroups = append(rule.AppliedToGroups, rule.applied[j].name)
		}
		t.out.applied = merge(t.out.applied, rule.applied)
		t.out.rules = append(t.out.rules, rule.NetworkPolicyRule)
	}
}

// merge adds references that are not in a list.
func merge(list, more []groupReference) []groupReference {
	list = slices.Clip(list)
	for i := range more {
		if !slices.ContainsFunc(list, func(known groupReference) bool { return known.key == more[i].key }) {
			list = append(list, more[i])
		}
	}
	return list
}

// ruleReader reads one rule.
type ruleReader struct {
	*translator
	place string
	// denies says how the rule closes, doubted is set if any field of it may be missing.
	denies, doubted bool
	rule            controlplane.NetworkPolicyRule
	// doubtful is set when a part of the peers or of the ports is unknown.
	doubtfulPeers, doubtfulPorts bool
	relative                     []relativePeer
	// addresses is a second rule in the same place, for peers without names of ports.
	addresses *controlplane.NetworkPolicyRule
}

// rule reads a rule. With placed false, the policy has no place among others, and only rules that deny are kept.
func (t *translator) rule(direction controlplane.Direction, index int, source *v1beta1.Rule, placed bool) {
	side := "ingress"
	if direction == controlplane.DirectionOut {
		side = "egress"
	}
	r := &ruleReader{translator: t, place: fmt.Sprintf("spec.%s[%d]", side, index), doubted: t.source.ofRule(side, index)}
	complaints := len(t.out.unreadable)
	action := r.action(source)
	r.read(direction, index, source, action)
	if action == controlplane.RuleActionPass && (!placed || r.doubtfulPeers || r.doubtfulPorts || r.doubtfulTarget(source)) {
		t.out.unreadable = t.out.unreadable[:complaints]
		r = &ruleReader{translator: t, place: r.place, doubted: r.doubted}
		r.read(direction, index, source, controlplane.RuleActionDrop)
	}
	if *r.rule.Action == controlplane.RuleActionPass && *t.out.tierPriority >= v1beta1.DefaultTiers[v1beta1.BaselineTier] {
		r.cannot(r.place+".action", errors.New("action Pass: no policy comes after the baseline tier"))
		return
	}
	r.keep(source, placed)
}

// read reads the peers and ports of a rule with an action.
func (r *ruleReader) read(direction controlplane.Direction, index int, source *v1beta1.Rule, action controlplane.RuleAction) {
	peers, field := source.From, "from"
	if direction == controlplane.DirectionOut {
		peers, field = source.To, "to"
	}
	r.denies = action == controlplane.RuleActionDrop || action == controlplane.RuleActionReject
	r.rule = controlplane.NetworkPolicyRule{
		Direction: direction, Priority: int32(index), Action: &action,
		EnableLogging: source.EnableLogging, Name: source.Name, LogLabel: source.LogLabel,
	}
	r.doubtfulPeers, r.doubtfulPorts = r.doubted, r.doubted
	r.readPorts(source)
	*peersOf(&r.rule) = r.readPeers(field, peers, source)
}

// keep adds the rule to the policy's, unless nothing is left that it may allow.
func (r *ruleReader) keep(source *v1beta1.Rule, placed bool) {
	applied, split := r.target(source)
	if !r.denies && (!placed || r.doubted || r.doubtfulPorts && len(r.rule.Services) == 0) {
		return
	}
	if !emptyPeer(peersOf(&r.rule)) || len(r.relative) == 0 && (r.denies || !r.doubtfulPeers) {
		r.rules = append(r.rules, pendingRule{r.rule, applied, split})
	}
	if r.addresses != nil {
		r.rules = append(r.rules, pendingRule{*r.addresses, applied, split})
	}
	r.addRelative(applied)
}

func emptyPeer(peer *controlplane.NetworkPolicyPeer) bool {
	return len(peer.AddressGroups)+len(peer.IPBlocks)+len(peer.FQDNs)+len(peer.ToServices) == 0
}

// action returns the action of a rule: Drop if its own cannot be done as it is meant.
func (r *ruleReader) action(source *v1beta1.Rule) controlplane.RuleAction {
	var action controlplane.RuleAction
	if source.Action != nil {
		action = controlplane.RuleAction(*source.Action)
	}
	denies := action == controlplane.RuleActionDrop || action == controlplane.RuleActionReject
	switch {
	case !denies && action != controlplane.RuleActionAllow && action != controlplane.RuleActionPass:
		r.cannot(r.place+".action", fmt.Errorf("%q: must be Allow, Drop, Reject or Pass, taken for Drop", action))
		return controlplane.RuleActionDrop
	case len(source.L7Protocols) == 0:
		return action
	case denies:
		r.cannot(r.place+".l7Protocols", fmt.Errorf("is not supported: the rule is taken for %s of all requests", action))
		return action
	default:
		r.cannot(r.place+".l7Protocols", fmt.Errorf("is not supported: the rule is taken for Drop"))
		return controlplane.RuleActionDrop
	}
}

// doubtfulTarget reports whether it is unknown what a rule is applied to.
func (r *ruleReader) doubtfulTarget(source *v1beta1.Rule) bool {
	if len(source.AppliedTo) == 0 {
		return len(r.policy.widened) > 0
	}
	complaints := len(r.out.unreadable)
	own := r.appliedTo(r.place, source.AppliedTo, r.rule.Direction == controlplane.DirectionOut)
	r.out.unreadable = r.out.unreadable[:complaints]
	return len(own.widened) > 0 || len(r.source.spec.AppliedTo) > 0
}

// target returns the groups that a rule applies to; split is set if they are not exactly the policy's.
func (r *ruleReader) target(source *v1beta1.Rule) (applied []groupReference, split bool) {
	own := r.policy
	switch {
	case len(source.AppliedTo)+len(r.source.spec.AppliedTo) == 0 && r.doubted:
		own.widened, split = []groupReference{anonymous(r.all())}, true
	case len(source.AppliedTo)+len(r.source.spec.AppliedTo) == 0:
		r.cannot(r.place+".appliedTo", errors.New("needs to be set in either spec or rules, in all rules or in none: the rule applies to nothing"))
	case len(source.AppliedTo) > 0:
		own, split = r.appliedTo(r.place+".appliedTo", source.AppliedTo, r.rule.Direction == controlplane.DirectionOut), true
		if len(r.source.spec.AppliedTo) > 0 {
			r.cannot(r.place+".appliedTo", fmt.Errorf("must not be set in both spec and rules"))
			own.widened = merge(merge(own.widened, r.policy.exact), r.policy.widened)
		}
	}
	applied = own.exact
	if r.denies {
		applied = merge(applied, own.widened)
	}
	if r.rule.Direction == controlplane.DirectionOut && slices.ContainsFunc(applied, groupReference.isService) {
		r.cannot(r.place, errServiceEgress)
		applied, split = slices.DeleteFunc(slices.Clone(applied), groupReference.isService), true
	}
	return applied, split
}

// complaint names all unreadable parts, and is cut to a length that a status can have.
func (t *translation) complaint() string {
	return shortened(strings.Join(t.unreadable, "; "))
}

// maxMessage is the length at which messages in a status are cut, as in Antrea.
const maxMessage = 256

func shortened(text string) string {
	if len(text) <= maxMessage {
		return text
	}
	return strings.ToValidUTF8(text[:maxMessage], "") + "..."
}
