// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

// Verdict is the decision of the rules of one direction on a connection.
type Verdict struct {
	// Action is Allow, Drop or Reject.
	Action Action
	// Isolated reports whether a rule isolates the local Pod.
	Isolated bool
	// FlowID is the rule that decides. 0 if none does: the connection is allowed because nothing isolates the Pod, or dropped because
	// something does. Among the rules of Kubernetes policies, which all allow, it is the one with the lowest id: Open vSwitch may count the
	// connection for another one.
	FlowID uint32
	// PassedBy is the rule with the action Pass that left the decision to later stages; 0 if there is none.
	PassedBy uint32
}

// Allowed reports whether the connection is let through.
func (v Verdict) Allowed() bool { return v.Action == Allow }

// Evaluate returns the verdict of the rules on a new connection at the Pod that is its destination (Ingress) or its source (Egress). It ignores
// exemptions, such as the exemption of the Node itself.
func Evaluate(rules []*Rule, direction Direction, c Connection) Verdict {
	var first [StageBaseline + 1]*Rule
	verdict := Verdict{Action: Allow}
	for _, r := range rules {
		if r.Direction != direction || !r.AppliesTo(c) {
			continue
		}
		verdict.Isolated = verdict.Isolated || r.Effect.Isolates
		stage := min(r.Effect.Order.Stage, StageBaseline)
		if f := first[stage]; r.Matches(c) && (f == nil || r.precedes(f)) {
			first[stage] = r
		}
	}
	for stage, r := range first {
		if r != nil && r.Effect.Action != Pass {
			verdict.Action, verdict.FlowID = r.Effect.decision(), r.FlowID
			return verdict
		}
		if r != nil {
			verdict.PassedBy = r.FlowID
		}
		if Stage(stage) == StageKubernetes && verdict.Isolated {
			verdict.Action = Drop
			return verdict
		}
	}
	return verdict
}

// precedes reports whether r decides rather than other, if both match and belong to one stage.
func (r *Rule) precedes(other *Rule) bool {
	if r.Effect.Before(other.Effect) || other.Effect.Before(r.Effect) {
		return r.Effect.Before(other.Effect)
	}
	return r.FlowID < other.FlowID
}

// decision returns the action that the verdict has if the rule decides.
func (e Effect) decision() Action {
	if e.Action == Allow || e.Action == Reject {
		return e.Action
	}
	return Drop
}
