// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"fmt"
	"math"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// kindKey is the part of a policy.Effect that chooses a ruleKind. The order of the effect chooses priorities.
type kindKey struct {
	stage    policy.Stage
	action   policy.Action
	isolates bool
}

// ownFlows makes a rule's own flows: for packets that complete its conjunction, and for its counters. priority is the priority of the flows of
// its clauses, counter the object id in the cookies of the flows that count.
type ownFlows func(g policyFlows, r *policy.Rule, priority uint16, counter uint32) []of.Flow

// ruleKinds contains the effects that have flows. Rules with other effects are refused.
var ruleKinds = map[kindKey]ownFlows{
	{policy.StageKubernetes, policy.Allow, true}: policyFlows.admittingFlows,
	{policy.StageTiers, policy.Allow, false}:     policyFlows.allowingFlows,
	{policy.StageTiers, policy.Drop, false}:      policyFlows.denyingFlows,
	{policy.StageTiers, policy.Reject, false}:    policyFlows.denyingFlows,
	{policy.StageTiers, policy.Pass, false}:      policyFlows.passingFlows,
	{policy.StageBaseline, policy.Allow, false}:  policyFlows.allowingFlows,
	{policy.StageBaseline, policy.Drop, false}:   policyFlows.denyingFlows,
	{policy.StageBaseline, policy.Reject, false}: policyFlows.denyingFlows,
}

func kindOf(e policy.Effect) (ownFlows, error) {
	own, built := ruleKinds[kindKey{e.Order.Stage, e.Action, e.Isolates}]
	if !built {
		return nil, fmt.Errorf("effect %+v: the pipeline has no flows for rules of stage %d that %v (isolating: %t)", e, e.Order.Stage, e.Action, e.Isolates)
	}
	return own, nil
}

// mustKind returns what makes the own flows of a rule that has passed validatePolicyRule.
func mustKind(r *policy.Rule) ownFlows {
	own, err := kindOf(r.Effect)
	if err != nil {
		panic(fmt.Sprintf("policy rule %d: %v", r.FlowID, err))
	}
	return own
}

// tableOf returns the name of the table in which a rule decides.
func tableOf(r *policy.Rule) string {
	switch tables := tablesOf(r.Direction); r.Effect.Order.Stage {
	case policy.StageTiers:
		return tables.tiers
	case policy.StageBaseline:
		return tables.defaultRule
	default:
		return tables.rule
	}
}

// ordered reports whether a rule has a place among others, which its priority expresses.
func ordered(r *policy.Rule) bool { return r.Effect.Order.Stage != policy.StageKubernetes }

// highestPriority is the priority of level 0 of rules with an order. No rule is there: its level is the distance from here to its number.
const highestPriority = math.MaxUint16

// baseKey returns the common part of the keys of a rule's clauses at level 0. The rule may be nil.
func baseKey(r *policy.Rule) clauseKey {
	if r == nil {
		return clauseKey{}
	}
	key := clauseKey{direction: r.Direction, table: tableOf(r), priority: pipeline.PriorityNormal}
	if ordered(r) {
		key.priority = highestPriority
	}
	return key
}

// isolationKey returns the common part of the keys of the flows that isolate Pods in a direction.
func isolationKey(d policy.Direction) clauseKey {
	return clauseKey{direction: d, table: tablesOf(d).defaultRule, priority: pipeline.PriorityNormal, drop: true}
}
