// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TraceflowKind is the kind of Traceflow.
const TraceflowKind = "Traceflow"

// DefaultTraceflowTimeout is the default time of a trace in seconds, MaxTraceflowTimeout the longest.
const DefaultTraceflowTimeout, MaxTraceflowTimeout int32 = 20, 300

// MaxDataplaneTag is the highest tag: the DSCP of a packet has six bits, and 0 means no tag.
const MaxDataplaneTag = 63

// TraceflowTimedOut begins the reason of a trace that times out before its results are complete, as in Antrea.
const TraceflowTimedOut = "Traceflow timeout"

// Traceflow asks for a packet to be traced, and has the result.
type Traceflow struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   TraceflowSpec   `json:"spec,omitempty"`
	Status TraceflowStatus `json:"status,omitempty"`
}

// TraceflowSpec says which packet.
type TraceflowSpec struct {
	Source      Source      `json:"source,omitempty"`
	Destination Destination `json:"destination,omitempty"`
	Packet      Packet      `json:"packet,omitempty"`
	// LiveTraffic: trace the first packet of real traffic that matches, instead of one that is made.
	LiveTraffic bool `json:"liveTraffic,omitempty"`
	// DroppedOnly: of real traffic, trace the first packet that matches and that a NetworkPolicy drops.
	DroppedOnly bool `json:"droppedOnly,omitempty"`
	// Timeout is in seconds, 0 for the default.
	Timeout int32 `json:"timeout,omitempty"`
}

// Source is a Pod, or for live traffic an IP.
type Source struct {
	Namespace string `json:"namespace,omitempty"`
	Pod       string `json:"pod,omitempty"`
	IP        string `json:"ip,omitempty"`
}

// Destination is a Pod, a Service or an IP.
type Destination struct {
	Namespace string `json:"namespace,omitempty"`
	Pod       string `json:"pod,omitempty"`
	Service   string `json:"service,omitempty"`
	IP        string `json:"ip,omitempty"`
}

// Packet has the headers of a packet. In a status it is the packet that was captured.
type Packet struct {
	SrcIP string `json:"srcIP,omitempty"`
	DstIP string `json:"dstIP,omitempty"`
	// Length is the length of the IP packet.
	Length int32 `json:"length,omitempty"`
	// IPHeader is the header of IPv4. IPv6Header is set for IPv6 packets only.
	IPHeader        *IPHeader       `json:"ipHeader,omitempty"`
	IPv6Header      *IPv6Header     `json:"ipv6Header,omitempty"`
	TransportHeader TransportHeader `json:"transportHeader,omitempty"`
}

// IPHeader is a part of an IPv4 header. Protocol 0 stands for ICMP, TTL 0 for 64.
type IPHeader struct {
	Protocol int32 `json:"protocol,omitempty"`
	TTL      int32 `json:"ttl,omitempty"`
	Flags    int32 `json:"flags,omitempty"`
}

// IPv6Header is a part of an IPv6 header. Without NextHeader it is ICMPv6, with the hop limit 0 it is 64.
type IPv6Header struct {
	NextHeader *int32 `json:"nextHeader,omitempty"`
	HopLimit   int32  `json:"hopLimit,omitempty"`
}

// TransportHeader is one of the headers.
type TransportHeader struct {
	ICMP *ICMPEchoRequestHeader `json:"icmp,omitempty"`
	UDP  *UDPHeader             `json:"udp,omitempty"`
	TCP  *TCPHeader             `json:"tcp,omitempty"`
}

// ICMPEchoRequestHeader is a part of the header of an echo request.
type ICMPEchoRequestHeader struct {
	ID       int32 `json:"id,omitempty"`
	Sequence int32 `json:"sequence,omitempty"`
}

// UDPHeader has the ports, 0 for any.
type UDPHeader struct {
	SrcPort int32 `json:"srcPort,omitempty"`
	DstPort int32 `json:"dstPort,omitempty"`
}

// TCPHeader has the ports, 0 for any, and the flags; without flags the packet has SYN.
type TCPHeader struct {
	SrcPort int32  `json:"srcPort,omitempty"`
	DstPort int32  `json:"dstPort,omitempty"`
	Flags   *int32 `json:"flags,omitempty"`
}

// TraceflowPhase is the progress of a trace.
type TraceflowPhase string

const (
	TraceflowPending   TraceflowPhase = "Pending"
	TraceflowRunning   TraceflowPhase = "Running"
	TraceflowSucceeded TraceflowPhase = "Succeeded"
	TraceflowFailed    TraceflowPhase = "Failed"
)

// TraceflowStatus is the result of a trace.
type TraceflowStatus struct {
	Phase TraceflowPhase `json:"phase,omitempty"`
	// Reason says why the trace has failed.
	Reason string `json:"reason,omitempty"`
	// StartTime is the time at which the controller started the trace.
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// DataplaneTag is the DSCP of the packet, 1 to 63; 0 when the trace is not running.
	DataplaneTag int8 `json:"dataplaneTag,omitempty"`
	// Results are the results of the Nodes that the packet has reached.
	Results []NodeResult `json:"results,omitempty"`
	// CapturedPacket is the traced packet of live traffic, as it was sent.
	CapturedPacket *Packet `json:"capturedPacket,omitempty"`
}

// NodeResult is the result of one Node.
type NodeResult struct {
	Node string `json:"node,omitempty"`
	// Role is RoleSender or RoleReceiver.
	Role string `json:"role,omitempty"`
	// Timestamp is in seconds since 1970.
	Timestamp    int64         `json:"timestamp,omitempty"`
	Observations []Observation `json:"observations,omitempty"`
	// ONCache is set on the sender's Node with the feature gate ONCache.
	ONCache *FastPath `json:"oncache,omitempty"`
}

// FastPath describes the fast path's treatment of an established connection like the packet's. Antrea has no such
// field, and its clients ignore it.
type FastPath struct {
	// Action is ActionAccelerated or ActionNotAccelerated.
	Action TraceflowAction `json:"action,omitempty"`
	// Reason is one that antctl oncache explain gives, perhaps with details in parentheses.
	Reason string `json:"reason,omitempty"`
}

// Roles of a Node in a trace.
const (
	RoleSender   = "sender"
	RoleReceiver = "receiver"
)

// TraceflowComponent is a part of the pipeline.
type TraceflowComponent string

const (
	ComponentSpoofGuard    TraceflowComponent = "SpoofGuard"
	ComponentLB            TraceflowComponent = "LB"
	ComponentNetworkPolicy TraceflowComponent = "NetworkPolicy"
	ComponentEgress        TraceflowComponent = "Egress"
	ComponentForwarding    TraceflowComponent = "Forwarding"
)

// TraceflowAction is an action of a component on a packet.
type TraceflowAction string

const (
	ActionDelivered             TraceflowAction = "Delivered"
	ActionReceived              TraceflowAction = "Received"
	ActionForwarded             TraceflowAction = "Forwarded"
	ActionDropped               TraceflowAction = "Dropped"
	ActionRejected              TraceflowAction = "Rejected"
	ActionForwardedOutOfNetwork TraceflowAction = "ForwardedOutOfNetwork"
	// ActionMarkedForSNAT and ActionForwardedToEgressNode are of ComponentEgress.
	ActionMarkedForSNAT         TraceflowAction = "MarkedForSNAT"
	ActionForwardedToEgressNode TraceflowAction = "ForwardedToEgressNode"
	// ActionForwardedOutOfOverlay is the name of ActionForwardedOutOfNetwork before Antrea 2.5, which agents of former versions write.
	ActionForwardedOutOfOverlay TraceflowAction = "ForwardedOutOfOverlay"
	// ActionAccelerated and ActionNotAccelerated are for FastPath.
	ActionAccelerated    TraceflowAction = "Accelerated"
	ActionNotAccelerated TraceflowAction = "NotAccelerated"
)

// Observation is the action of one component.
type Observation struct {
	Component TraceflowComponent `json:"component,omitempty"`
	// ComponentInfo is the table.
	ComponentInfo string          `json:"componentInfo,omitempty"`
	Action        TraceflowAction `json:"action,omitempty"`
	// SrcPodIP, of ComponentSpoofGuard, is the address of the source Pod.
	SrcPodIP string `json:"srcPodIP,omitempty"`
	// Pod, of ComponentLB, is the Pod with TranslatedDstIP, NAMESPACE/NAME. The controller fills it in when the trace ends.
	Pod    string `json:"pod,omitempty"`
	DstMAC string `json:"dstMAC,omitempty"`
	// NetworkPolicy is the policy whose rule allows or denies the packet, and NetworkPolicyRule the name of the rule; Kubernetes' rules have none.
	NetworkPolicy     string `json:"networkPolicy,omitempty"`
	NetworkPolicyRule string `json:"networkPolicyRule,omitempty"`
	// IsolatedBy are, when no rule allows the packet, the policies that are applied to the Pod. The field is this project's.
	IsolatedBy []string `json:"isolatedBy,omitempty"`
	TTL        int32    `json:"ttl,omitempty"`
	// TranslatedSrcIP is set if the source was also translated: a Pod that reaches itself through a Service.
	TranslatedSrcIP string `json:"translatedSrcIP,omitempty"`
	TranslatedDstIP string `json:"translatedDstIP,omitempty"`
	TunnelDstIP     string `json:"tunnelDstIP,omitempty"`
	// EgressIP, of ComponentEgress, is the source that the packet gets. Only the Node of the Pod knows the Egress and its Node.
	EgressIP   string `json:"egressIP,omitempty"`
	Egress     string `json:"egress,omitempty"`
	EgressNode string `json:"egressNode,omitempty"`
}

// Ends reports whether no Node sees the packet after this action.
func (a TraceflowAction) Ends() bool {
	switch a {
	case ActionDelivered, ActionDropped, ActionRejected, ActionForwardedOutOfNetwork, ActionForwardedOutOfOverlay:
		return true
	}
	return false
}

// ReceiverOnly reports whether only the Node of the destination takes part: the source is not a Pod.
func (s *TraceflowSpec) ReceiverOnly() bool { return s.LiveTraffic && s.Source.Pod == "" }

// TimeoutSeconds is Timeout, not more than the maximum, or the default.
func (s *TraceflowSpec) TimeoutSeconds() int32 {
	if s.Timeout > 0 {
		return min(s.Timeout, MaxTraceflowTimeout)
	}
	return DefaultTraceflowTimeout
}
