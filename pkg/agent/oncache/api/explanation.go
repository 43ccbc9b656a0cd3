// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package api

// Paths of an Explanation.
const (
	// PathFast: established connections take the fast path.
	PathFast = "fast"
	// PathSlow: all packets take the slow path.
	PathSlow = "slow"
	// PathDenied: policies do not allow the connection to be opened. One that was opened before may go on.
	PathDenied = "denied"
)

// Explanation describes how connections from one Pod to a port of another are treated, as far as this Node decides it.
type Explanation struct {
	From     ExplainedPod `json:"from"`
	To       ExplainedPod `json:"to"`
	Protocol string       `json:"protocol"`
	Port     uint16       `json:"port"`
	// Egress and Ingress are the verdicts of the policies; nil when the other Node decides.
	Egress  *ExplainedVerdict `json:"egress,omitempty"`
	Ingress *ExplainedVerdict `json:"ingress,omitempty"`
	// Path is one of the constants above. Reason is "active" for PathFast, "policy" for PathDenied, and otherwise a reason
	// under which packets are counted, or the state of a cache that is not active, in lower case.
	Path   string `json:"path"`
	Reason string `json:"reason"`
	// LeaseSeconds is how long a direction may use the fast path without being confirmed; 0 without a cache.
	LeaseSeconds int `json:"leaseSeconds,omitempty"`
	// Flows are the cached directions of all such connections.
	Flows []FlowInfo `json:"flows,omitempty"`
}

// ExplainedPod is one end.
type ExplainedPod struct {
	// Pod is its namespace/name.
	Pod string `json:"pod"`
	IP  string `json:"ip"`
	// Local is set when the Pod is on this Node.
	Local bool `json:"local"`
}

// ExplainedVerdict is what the policies of one direction decide about opening the connection.
type ExplainedVerdict struct {
	Allowed bool `json:"allowed"`
	// Isolated is set when a policy of this direction applies to the Pod. Without one everything is allowed.
	Isolated bool `json:"isolated"`
	// FlowID and Policy (namespace/name) identify the rule that allows the connection.
	FlowID uint32 `json:"flowID,omitempty"`
	Policy string `json:"policy,omitempty"`
	// AppliedTo are the policies that isolate the Pod, namespace/name.
	AppliedTo []string `json:"appliedTo,omitempty"`
}
