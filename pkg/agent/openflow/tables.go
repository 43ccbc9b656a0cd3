// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"fmt"
)

// Features says which features the pipeline must have tables for.
type Features struct {
	AntreaProxy    bool
	AntreaPolicy   bool
	Egress         bool
	TrafficControl bool
	// ONCache adds the table that marks packets which the cache may learn from.
	ONCache bool
	// IPv6 adds the table for neighbor discovery and multicast. Initialize sets it where Pods have IPv6 addresses.
	IPv6 bool
	// CutConnections drops packets of connections that the agent has marked with CutMark.
	CutConnections bool
}

// stage is a group of neighbouring tables with one purpose.
type stage uint8

const (
	stageRoot stage = iota
	stageARPValidation
	stageARPOutput
	stageClassifier
	stageValidation
	stageConntrackState
	stagePreRouting
	stageEgressSecurity
	stageRouting
	stagePostRouting
	stageSwitching
	stageIngressSecurity
	stageConntrackCommit
	stageOutput
)

// missAction is what happens to packets that no flow of the table matches.
type missAction uint8

const (
	missNext missAction = iota
	missDrop
	// missToGateway leaves the packet to the host's routing.
	missToGateway
)

// Table names.
const (
	tablePipelineRootClassifier    = "PipelineRootClassifier"
	tableARPSpoofGuard             = "ARPSpoofGuard"
	tableARPResponder              = "ARPResponder"
	tableClassifier                = "Classifier"
	tableSpoofGuard                = "SpoofGuard"
	tableIPv6                      = "IPv6"
	tableUnSNAT                    = "UnSNAT"
	tableConntrackZone             = "ConntrackZone"
	tableConntrackState            = "ConntrackState"
	tablePreRoutingClassifier      = "PreRoutingClassifier"
	tableSessionAffinity           = "SessionAffinity"
	tableServiceLB                 = "ServiceLB"
	tableEndpointDNAT              = "EndpointDNAT"
	tableDNAT                      = "DNAT"
	tableAntreaPolicyEgressRule    = "AntreaPolicyEgressRule"
	tableEgressRule                = "EgressRule"
	tableEgressDefaultRule         = "EgressDefaultRule"
	tableEgressMetric              = "EgressMetric"
	tableL3Forwarding              = "L3Forwarding"
	tableEgressMark                = "EgressMark"
	tableL3DecTTL                  = "L3DecTTL"
	tableSNATMark                  = "SNATMark"
	tableSNAT                      = "SNAT"
	tableL2ForwardingCalc          = "L2ForwardingCalc"
	tableTrafficControl            = "TrafficControl"
	tableIngressSecurityClassifier = "IngressSecurityClassifier"
	tableAntreaPolicyIngressRule   = "AntreaPolicyIngressRule"
	tableIngressRule               = "IngressRule"
	tableIngressDefaultRule        = "IngressDefaultRule"
	tableIngressMetric             = "IngressMetric"
	tableConntrackCommit           = "ConntrackCommit"
	tableONCacheMark               = "ONCacheMark"
	tableOutput                    = "Output"
)

// tableSpec is one row of the registry.
type tableSpec struct {
	name  string
	stage stage
	miss  missAction
	// needed is nil when every configuration has the table.
	needed func(Features) bool
}

func needsProxy(f Features) bool          { return f.AntreaProxy }
func needsNoProxy(f Features) bool        { return !f.AntreaProxy }
func needsAntreaPolicy(f Features) bool   { return f.AntreaPolicy }
func needsEgress(f Features) bool         { return f.Egress }
func needsTrafficControl(f Features) bool { return f.TrafficControl }
func needsONCache(f Features) bool        { return f.ONCache }
func needsIPv6(f Features) bool           { return f.IPv6 }

// tableSpecs lists every table in pipeline order.
var tableSpecs = []tableSpec{
	{tablePipelineRootClassifier, stageRoot, missDrop, nil},
	{tableARPSpoofGuard, stageARPValidation, missDrop, nil},
	{tableARPResponder, stageARPOutput, missDrop, nil},
	{tableClassifier, stageClassifier, missDrop, nil},
	{tableSpoofGuard, stageValidation, missDrop, nil},
	{tableIPv6, stageValidation, missNext, needsIPv6},
	{tableUnSNAT, stageConntrackState, missNext, needsProxy},
	{tableConntrackZone, stageConntrackState, missNext, nil},
	{tableConntrackState, stageConntrackState, missNext, nil},
	{tablePreRoutingClassifier, stagePreRouting, missNext, needsProxy},
	{tableSessionAffinity, stagePreRouting, missNext, needsProxy},
	{tableServiceLB, stagePreRouting, missNext, needsProxy},
	{tableEndpointDNAT, stagePreRouting, missNext, needsProxy},
	{tableDNAT, stagePreRouting, missNext, needsNoProxy},
	{tableAntreaPolicyEgressRule, stageEgressSecurity, missNext, needsAntreaPolicy},
	{tableEgressRule, stageEgressSecurity, missNext, nil},
	{tableEgressDefaultRule, stageEgressSecurity, missNext, nil},
	{tableEgressMetric, stageEgressSecurity, missNext, nil},
	{tableL3Forwarding, stageRouting, missToGateway, nil},
	{tableEgressMark, stageRouting, missToGateway, needsEgress},
	{tableL3DecTTL, stageRouting, missNext, nil},
	{tableSNATMark, stagePostRouting, missNext, needsProxy},
	{tableSNAT, stagePostRouting, missNext, needsProxy},
	{tableL2ForwardingCalc, stageSwitching, missNext, nil},
	{tableTrafficControl, stageSwitching, missNext, needsTrafficControl},
	{tableIngressSecurityClassifier, stageIngressSecurity, missNext, nil},
	{tableAntreaPolicyIngressRule, stageIngressSecurity, missNext, needsAntreaPolicy},
	{tableIngressRule, stageIngressSecurity, missNext, nil},
	{tableIngressDefaultRule, stageIngressSecurity, missNext, nil},
	{tableIngressMetric, stageIngressSecurity, missNext, nil},
	{tableConntrackCommit, stageConntrackCommit, missNext, nil},
	{tableONCacheMark, stageOutput, missNext, needsONCache},
	{tableOutput, stageOutput, missDrop, nil},
}

// pipeline is the set of tables of one configuration; a table's OpenFlow id is its index.
type pipeline struct {
	tables []tableSpec
	ids    map[string]uint8
}

func newPipeline(features Features) *pipeline {
	p := &pipeline{ids: map[string]uint8{}}
	for _, spec := range tableSpecs {
		if spec.needed == nil || spec.needed(features) {
			p.ids[spec.name] = uint8(len(p.tables))
			p.tables = append(p.tables, spec)
		}
	}
	return p
}

// id returns the OpenFlow id of a table. Asking for a table that the enabled features do not have is a programming error.
func (p *pipeline) id(name string) uint8 {
	id, ok := p.ids[name]
	if !ok {
		panic(fmt.Sprintf("table %s does not exist with the enabled features", name))
	}
	return id
}

// next returns the table after name.
func (p *pipeline) next(name string) uint8 { return p.id(name) + 1 }

// firstOf returns the first table of a stage.
func (p *pipeline) firstOf(s stage) uint8 {
	for id, spec := range p.tables {
		if spec.stage == s {
			return uint8(id)
		}
	}
	panic(fmt.Sprintf("stage %d has no table with the enabled features", s))
}

// names maps ids to names.
func (p *pipeline) names() map[uint8]string {
	names := make(map[uint8]string, len(p.tables))
	for id, spec := range p.tables {
		names[uint8(id)] = spec.name
	}
	return names
}
