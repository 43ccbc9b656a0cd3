// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package api

// Paths of an Explanation.
const (
	// PathFast: established connections take the fast path.
	PathFast = "fast"
	// PathSlow: all packets take the slow path.
	PathSlow = "slow"
	// PathDenied: policies or the Service do not let the connection open. A connection opened before may continue.
	PathDenied = "denied"
)

// Reasons of an explanation that are not those under which packets are counted. docs/operate/oncache-output.md explains them.
const (
	ReasonActive       = "active"
	ReasonPolicy       = "policy"
	ReasonNotEnabled   = "not enabled"
	ReasonKubeProxy    = "kube_proxy"
	ReasonNodePort     = "node_port"
	ReasonRejected     = "rejected"
	ReasonDropped      = "dropped"
	ReasonSourceRanges = "source_ranges"
	ReasonHairpin      = "hairpin"
	ReasonSameNode     = "same_node"
	ReasonOutside      = "outside"
	ReasonSNAT         = "snat"
	ReasonNoConnection = "no_connection"
)

// Treatment is a path and why it is taken.
type Treatment struct {
	// Path is one of the constants above.
	Path string `json:"path"`
	// Reason is one of the constants above, a reason under which packets are counted, or the state of a cache that is not active, in
	// lower case.
	Reason string `json:"reason"`
	// Detail explains Reason in words; "" if the reason suffices.
	Detail string `json:"detail,omitempty"`
}

// Explanation describes how connections from one Pod to a port of another Pod or of a Service are treated, as far as this Node
// decides it.
type Explanation struct {
	From ExplainedPod `json:"from"`
	// To is the other Pod. Of a Service it has only the address.
	To       ExplainedPod `json:"to"`
	Protocol string       `json:"protocol"`
	Port     uint16       `json:"port"`
	// Egress and Ingress are the verdicts of the policies; nil when the other Node decides, or when they depend on the Service's
	// Endpoint.
	Egress  *ExplainedVerdict `json:"egress,omitempty"`
	Ingress *ExplainedVerdict `json:"ingress,omitempty"`
	Treatment
	// LeaseSeconds is the time for which a direction may use the fast path without being confirmed; 0 without a cache.
	LeaseSeconds int `json:"leaseSeconds,omitempty"`
	// Service is set for connections to a Service. These have their flows in it.
	Service *ExplainedService `json:"service,omitempty"`
	// Flows are the cached directions of all connections to the Pod, those through Services included.
	Flows []FlowInfo `json:"flows,omitempty"`
}

// ExplainedService is an address of a Service.
type ExplainedService struct {
	// Service is its namespace/name; "" if AntreaProxy does not handle the address.
	Service string `json:"service,omitempty"`
	// Address is the address and port that the Pod connects to.
	Address string `json:"address"`
	// Endpoints lists the Endpoints to which new connections may go, by address.
	Endpoints []ExplainedEndpoint `json:"endpoints,omitempty"`
	// Connections lists the Pod's open connections to Address, by port.
	Connections []ExplainedConnection `json:"connections,omitempty"`
}

// ExplainedEndpoint is a possible destination of a connection to a Service, with the path of its established connections.
type ExplainedEndpoint struct {
	Address string `json:"address"`
	// Node is the name of the remote Node, Pod the namespace/name of a local Pod; "" for others.
	Node string `json:"node,omitempty"`
	Pod  string `json:"pod,omitempty"`
	Treatment
	// Egress and Ingress are the verdicts of the policies; nil when the other Node decides.
	Egress  *ExplainedVerdict `json:"egress,omitempty"`
	Ingress *ExplainedVerdict `json:"ingress,omitempty"`
}

// ExplainedConnection is an open connection to a Service: an entry of conntrack, of the cache, or both.
type ExplainedConnection struct {
	// Client is the Pod's address and port, Endpoint where Open vSwitch sends its packets.
	Client   string `json:"client"`
	Endpoint string `json:"endpoint"`
	Treatment
	// Flows are its cached directions.
	Flows []FlowInfo `json:"flows,omitempty"`
}

// ExplainedPod is one end.
type ExplainedPod struct {
	// Pod is its namespace/name; "" if only the address is known.
	Pod string `json:"pod"`
	IP  string `json:"ip"`
	// Local is set when the Pod is on this Node.
	Local bool `json:"local"`
}

// ExplainedVerdict is the decision of one direction's policies about opening the connection.
type ExplainedVerdict struct {
	Allowed bool `json:"allowed"`
	// Isolated is set when a NetworkPolicy of Kubernetes isolates the Pod in this direction. Then nothing is allowed that no rule allows.
	Isolated bool `json:"isolated"`
	// FlowID, Policy, Rule and Tier identify the rule that decides; empty if none does. Policy is NAMESPACE/NAME of a Kubernetes policy, and
	// TYPE:NAMESPACE/NAME or TYPE:NAME of others. Only rules of these have a name and a tier, which is given by its priority.
	FlowID uint32 `json:"flowID,omitempty"`
	Policy string `json:"policy,omitempty"`
	Rule   string `json:"rule,omitempty"`
	Tier   *int32 `json:"tier,omitempty"`
	// Action is the action of this rule: Allow, Drop or Reject.
	Action string `json:"action,omitempty"`
	// AppliedTo are the policies that isolate the Pod, namespace/name.
	AppliedTo []string `json:"appliedTo,omitempty"`
	// PassedBy is the rule with the action Pass that left the decision to Kubernetes policies and the baseline; nil if there is none.
	PassedBy *ExplainedRule `json:"passedBy,omitempty"`
}

// ExplainedRule identifies a rule as ExplainedVerdict does.
type ExplainedRule struct {
	FlowID uint32 `json:"flowID"`
	Policy string `json:"policy,omitempty"`
	Rule   string `json:"rule,omitempty"`
	Tier   *int32 `json:"tier,omitempty"`
}
