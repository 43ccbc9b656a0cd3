// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

// The names of the tables, in pipeline order. Any feature may send packets to a table or add flows to it; the feature that lists the table
// says where it is. A table that no other feature needs may be named by its feature.
const (
	TablePipelineRootClassifier = "PipelineRootClassifier"

	TableARPSpoofGuard = "ARPSpoofGuard"
	TableARPResponder  = "ARPResponder"
	TableClassifier    = "Classifier"
	TableSpoofGuard    = "SpoofGuard"
	TableIPv6          = "IPv6"

	TableUnSNAT         = "UnSNAT"
	TableConntrackZone  = "ConntrackZone"
	TableConntrackState = "ConntrackState"

	TablePreRoutingClassifier = "PreRoutingClassifier"
	TableNodePortMark         = "NodePortMark"
	TableSessionAffinity      = "SessionAffinity"
	TableServiceLB            = "ServiceLB"
	TableEndpointDNAT         = "EndpointDNAT"
	TableDNAT                 = "DNAT"

	TableAntreaPolicyEgressRule = "AntreaPolicyEgressRule"
	TableEgressRule             = "EgressRule"
	TableEgressDefaultRule      = "EgressDefaultRule"
	TableEgressMetric           = "EgressMetric"

	TableL3Forwarding = "L3Forwarding"
	TableEgressMark   = "EgressMark"
	TableEgressQoS    = "EgressQoS"
	TableL3DecTTL     = "L3DecTTL"

	TableSNATMark = "SNATMark"
	TableSNAT     = "SNAT"

	TableL2ForwardingCalc = "L2ForwardingCalc"
	TableTrafficControl   = "TrafficControl"

	TableIngressSecurityClassifier = "IngressSecurityClassifier"
	TableAntreaPolicyIngressRule   = "AntreaPolicyIngressRule"
	TableIngressRule               = "IngressRule"
	TableIngressDefaultRule        = "IngressDefaultRule"
	TableIngressMetric             = "IngressMetric"

	TableConntrackCommit = "ConntrackCommit"

	TableONCacheMark      = "ONCacheMark"
	TableONCacheLocalMark = "ONCacheLocalMark"
	TableOutput           = "Output"
	// TablePacketInMeter is this project's, and on no packet's way: flows that report a packet to the agent look it up there, for the meter of its
	// Pod.
	TablePacketInMeter = "PacketInMeter"
)
