// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"fmt"

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

// ruleKind defines the flows of rules with one effect.
type ruleKind struct {
	// table returns the table in which the rules of a direction decide.
	table func(policy.Direction) string
	// priorities returns the highest priority of a rule's flows in this table, and the number of priorities, from the highest downwards,
	// at which a rule may be; more than one only for rules without an order. The ranges of two rules must be equal or disjoint.
	priorities func(policy.Order) (highest uint16, levels Level)
	// own returns the rule's own flows: for packets that complete its conjunction, and for its counters. counter is the object id in the
	// cookies of the flows that count.
	own func(g policyFlows, r *policy.Rule, counter uint32) []of.Flow
}

// ruleKinds contains the effects that have flows. Rules with other effects are refused.
var ruleKinds = map[kindKey]ruleKind{
	{policy.StageKubernetes, policy.Allow, true}: {
		table:      func(d policy.Direction) string { return tablesOf(d).rule },
		priorities: func(policy.Order) (uint16, Level) { return pipeline.PriorityNormal, Levels },
		own:        policyFlows.admittingFlows,
	},
}

func kindOf(e policy.Effect) (ruleKind, error) {
	kind, built := ruleKinds[kindKey{e.Order.Stage, e.Action, e.Isolates}]
	if !built {
		return kind, fmt.Errorf("effect %+v: the pipeline has no flows for rules of stage %d that %v (isolating: %t)", e, e.Order.Stage, e.Action, e.Isolates)
	}
	return kind, nil
}

// mustKind returns the kind of a rule that has passed validatePolicyRule.
func mustKind(r *policy.Rule) ruleKind {
	kind, err := kindOf(r.Effect)
	if err != nil {
		panic(fmt.Sprintf("policy rule %d: %v", r.FlowID, err))
	}
	return kind
}

// baseKey returns the common part of the keys of a rule's clauses at level 0. The rule may be nil.
func baseKey(r *policy.Rule) clauseKey {
	if r == nil {
		return clauseKey{}
	}
	kind := mustKind(r)
	highest, _ := kind.priorities(r.Effect.Order)
	return clauseKey{direction: r.Direction, table: kind.table(r.Direction), priority: highest}
}

// isolationKey returns the common part of the keys of the flows that isolate Pods in a direction.
func isolationKey(d policy.Direction) clauseKey {
	return clauseKey{direction: d, table: tablesOf(d).defaultRule, priority: pipeline.PriorityNormal, drop: true}
}
