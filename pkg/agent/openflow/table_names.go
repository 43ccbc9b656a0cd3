// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

// The names of the tables, in pipeline order. Any feature may send packets to a table or add flows to it; the feature that lists the table
// says where it is. A table that no other feature needs may be named by its feature.
const (
	tablePipelineRootClassifier = "PipelineRootClassifier"

	tableARPSpoofGuard = "ARPSpoofGuard"
	tableARPResponder  = "ARPResponder"
	tableClassifier    = "Classifier"
	tableSpoofGuard    = "SpoofGuard"
	tableIPv6          = "IPv6"

	tableUnSNAT         = "UnSNAT"
	tableConntrackZone  = "ConntrackZone"
	tableConntrackState = "ConntrackState"

	tablePreRoutingClassifier = "PreRoutingClassifier"
	tableNodePortMark         = "NodePortMark"
	tableSessionAffinity      = "SessionAffinity"
	tableServiceLB            = "ServiceLB"
	tableEndpointDNAT         = "EndpointDNAT"
	tableDNAT                 = "DNAT"

	tableAntreaPolicyEgressRule = "AntreaPolicyEgressRule"
	tableEgressRule             = "EgressRule"
	tableEgressDefaultRule      = "EgressDefaultRule"
	tableEgressMetric           = "EgressMetric"

	tableL3Forwarding = "L3Forwarding"
	tableEgressMark   = "EgressMark"
	tableL3DecTTL     = "L3DecTTL"

	tableSNATMark = "SNATMark"
	tableSNAT     = "SNAT"

	tableL2ForwardingCalc = "L2ForwardingCalc"
	tableTrafficControl   = "TrafficControl"

	tableIngressSecurityClassifier = "IngressSecurityClassifier"
	tableAntreaPolicyIngressRule   = "AntreaPolicyIngressRule"
	tableIngressRule               = "IngressRule"
	tableIngressDefaultRule        = "IngressDefaultRule"
	tableIngressMetric             = "IngressMetric"

	tableConntrackCommit = "ConntrackCommit"

	tableONCacheMark      = "ONCacheMark"
	tableONCacheLocalMark = "ONCacheLocalMark"
	tableOutput           = "Output"
)
