// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"fmt"
	"math"
)

// Action says what happens to the connections that a rule matches. The zero value is invalid; Evaluate treats it as Drop.
type Action uint8

const (
	// Allow lets the connection through.
	Allow Action = iota + 1
	// Drop discards its packets.
	Drop
	// Reject discards its packets and tells the sender.
	Reject
	// Pass skips the remaining rules of StageTiers, so that the later stages decide.
	Pass
)

func (a Action) String() string {
	switch a {
	case Allow:
		return "Allow"
	case Drop:
		return "Drop"
	case Reject:
		return "Reject"
	case Pass:
		return "Pass"
	}
	return fmt.Sprintf("Action(%d)", uint8(a))
}

// Stage is the part of the evaluation to which a rule belongs. Stages are evaluated in ascending order.
type Stage uint8

const (
	// StageTiers has the rules of Antrea-native policies, except for the baseline tier. The first matching rule decides.
	StageTiers Stage = iota + 1
	// StageKubernetes has the rules of Kubernetes NetworkPolicies, without an order among them. If no rule matches, isolated Pods drop
	// the connection.
	StageKubernetes
	// StageBaseline has the rules of the baseline tier. The first matching rule decides. Without one the connection is allowed.
	StageBaseline
)

// Order is the place of a rule in the evaluation. Lower values come first.
type Order struct {
	Stage Stage
	// Tier is the priority of the tier.
	Tier int32
	// Policy is the priority of the policy within its tier.
	Policy float64
	// Rule is the index of the rule in its policy.
	Rule int32
}

// Priorities of tiers with a meaning of their own.
const (
	// TierAdmin is the tier of AdminNetworkPolicies and of ClusterNetworkPolicies of the tier Admin.
	TierAdmin int32 = 251
	// TierBaseline is the baseline tier.
	TierBaseline int32 = 253
	// TierBaselineAdmin is the tier of BaselineAdminNetworkPolicies and of ClusterNetworkPolicies of the tier Baseline.
	TierBaselineAdmin int32 = 254
)

// OrderOf returns the place of a rule of an Antrea-native policy, or of one of the network-policy-api: in StageBaseline from the tier
// TierBaseline on, in StageTiers before.
func OrderOf(tier int32, policy float64, rule int32) Order {
	o := Order{StageTiers, tier, policy, rule}
	if tier >= TierBaseline {
		o.Stage = StageBaseline
	}
	return o
}

// First returns the place that no rule of a policy precedes in a stage. Only rules that close have it.
func First(stage Stage) Order { return Order{Stage: stage, Tier: -1} }

// Compare returns a negative number if o is evaluated before other, a positive one if after, and 0 if their order is undefined.
func (o Order) Compare(other Order) int {
	return cmp.Or(cmp.Compare(o.Stage, other.Stage), cmp.Compare(o.Tier, other.Tier), cmp.Compare(o.Policy, other.Policy), cmp.Compare(o.Rule, other.Rule))
}

// Effect is the action of a rule and its place among the rules.
type Effect struct {
	Order  Order
	Action Action
	// Isolates reports whether the Pods that the rule is applied to drop connections that no rule of StageKubernetes allows. Only rules of
	// that stage isolate.
	Isolates bool
}

// Kubernetes is the effect of all rules of Kubernetes NetworkPolicies.
var Kubernetes = Effect{Order: Order{Stage: StageKubernetes}, Action: Allow, Isolates: true}

// Strictness sorts rules whose order is undefined: the one that allows least comes first. It is 0 to 2.
func (e Effect) Strictness() int {
	switch e.Action {
	case Allow:
		return 2
	case Pass:
		return 1
	}
	return 0
}

// Before compares the order of two effects. Where the priorities leave it undefined, rules that deny precede rules that pass, and these
// precede rules that allow.
func (e Effect) Before(other Effect) bool {
	return cmp.Or(e.Order.Compare(other.Order), cmp.Compare(e.Strictness(), other.Strictness())) < 0
}

// Validate reports what is wrong with the effect.
func (e Effect) Validate() error {
	switch {
	case e.Action < Allow || e.Action > Pass:
		return fmt.Errorf("action %v: must be %v, %v, %v or %v", e.Action, Allow, Drop, Reject, Pass)
	case e.Order.Stage < StageTiers || e.Order.Stage > StageBaseline:
		return fmt.Errorf("stage %d: must be within %d to %d", e.Order.Stage, StageTiers, StageBaseline)
	case math.IsNaN(e.Order.Policy):
		return fmt.Errorf("priority %v of the policy: must be a number", e.Order.Policy)
	case e.Order.Stage == StageKubernetes && e.Action != Allow:
		return fmt.Errorf("action %v: rules of Kubernetes NetworkPolicies can only %v", e.Action, Allow)
	case e.Isolates && e.Order.Stage != StageKubernetes:
		return fmt.Errorf("stage %d: only rules of Kubernetes NetworkPolicies isolate Pods", e.Order.Stage)
	case e.Action == Pass && e.Order.Stage != StageTiers:
		return fmt.Errorf("action %v: the baseline tier has no later stage", Pass)
	}
	return nil
}
