// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"cmp"
	"fmt"
	"slices"
)

// Features says which features the pipeline must have tables for.
type Features struct {
	AntreaProxy bool
	// ProxyAll adds NodePorts, and needs AntreaProxy.
	ProxyAll     bool
	AntreaPolicy bool
	Egress       bool
	// EgressShaping adds the table that limits the bandwidth of Egress addresses, and needs Egress.
	EgressShaping  bool
	TrafficControl bool
	// ONCache adds the table that marks packets which the cache may learn from.
	ONCache bool
	// Openings, with ONCache, also marks packets that open TCP connections, where a Mark asks for it.
	Openings bool
	// IPv6 adds the table for neighbor discovery and multicast. Initialize sets it where Pods have IPv6 addresses.
	IPv6 bool
	// CutConnections drops packets of connections that the agent has marked with CutMark.
	CutConnections bool
	// Multicluster connects the Node to other clusters, and needs AntreaProxy.
	Multicluster bool
	// MulticlusterWireGuard says that tunnel packets between clusters are encrypted: packets in clear are not accepted. It needs Multicluster.
	MulticlusterWireGuard bool
	// Traceflow lets packets be traced.
	Traceflow bool
	// RecordDenied sends packets that policies deny to the agent, for flow records.
	RecordDenied bool
	// PacketInRate limits the packets per second that the switch sends to the agent, where its datapath has meters; 0: no limit.
	PacketInRate uint32
}

// stage is a group of adjacent tables with one purpose. Packets pass the stages in this order.
type stage uint8

const (
	StageRoot stage = iota
	StageARPValidation
	StageARPOutput
	StageClassifier
	StageValidation
	StageConntrackState
	StagePreRouting
	StageEgressSecurity
	StageRouting
	StagePostRouting
	StageSwitching
	StageIngressSecurity
	StageConntrackCommit
	StageOutput
)

// missAction is the treatment of packets that no flow of the table matches.
type missAction uint8

const (
	MissNext missAction = iota
	MissDrop
	// MissToGateway leaves the packet to the host's routing.
	MissToGateway
	// MissToSelect says that no Endpoint is selected yet. The flow that resubmits packets to the table says how they continue.
	MissToSelect
)

// TableSpec is one table of the pipeline.
type TableSpec struct {
	Name string
	// ID is the table's OpenFlow id, 0 to 254. Packets pass tables in the order of their ids. An id is for ever: the datapath has flows for packets that
	// conntrack sends to a number, and for some time after a change of the pipeline they find there what has that number then. So a table has the same
	// id with all features, and a new one takes a free id between its neighbors'.
	ID    uint8
	Stage stage
	Miss  missAction
}

// pipeline is the set of tables of one configuration.
type pipeline struct {
	tables []TableSpec // by id
	IDs    map[string]uint8
}

// newPipeline orders the tables of all features. It panics if two have one name or id, or if the ids contradict the stages.
func newPipeline(specs []TableSpec) *pipeline {
	tables := slices.SortedStableFunc(slices.Values(specs), func(a, b TableSpec) int { return cmp.Compare(a.ID, b.ID) })
	p := &pipeline{tables: tables, IDs: make(map[string]uint8, len(tables))}
	for i, spec := range tables {
		if _, exists := p.IDs[spec.Name]; exists {
			panic(fmt.Sprintf("two tables are named %s", spec.Name))
		}
		p.IDs[spec.Name] = spec.ID
		if i == 0 {
			continue
		}
		switch before := tables[i-1]; {
		case before.ID == spec.ID:
			panic(fmt.Sprintf("the tables %s and %s have the id %d", before.Name, spec.Name, spec.ID))
		case before.Stage > spec.Stage:
			panic(fmt.Sprintf("table %s has the id %d, behind %s of a later stage with %d", spec.Name, spec.ID, before.Name, before.ID))
		}
	}
	return p
}

// at returns the table with an id.
func (p *pipeline) at(id uint8) (spec TableSpec, exists bool) {
	i, exists := slices.BinarySearchFunc(p.tables, id, func(spec TableSpec, id uint8) int { return cmp.Compare(spec.ID, id) })
	if !exists {
		return TableSpec{}, false
	}
	return p.tables[i], true
}

// ID returns the OpenFlow id of a table. It panics if the enabled features do not have the table.
func (p *pipeline) ID(name string) uint8 {
	id, ok := p.IDs[name]
	if !ok {
		panic(fmt.Sprintf("table %s does not exist with the enabled features", name))
	}
	return id
}

// Next returns the table after name.
func (p *pipeline) Next(name string) uint8 {
	id := p.ID(name)
	for _, spec := range p.tables {
		if spec.ID > id {
			return spec.ID
		}
	}
	panic(fmt.Sprintf("table %s is the last one", name))
}

// FirstOf returns the first table of a stage.
func (p *pipeline) FirstOf(s stage) uint8 {
	for _, spec := range p.tables {
		if spec.Stage == s {
			return spec.ID
		}
	}
	panic(fmt.Sprintf("stage %d has no table with the enabled features", s))
}

// Names maps ids to names.
func (p *pipeline) Names() map[uint8]string {
	names := make(map[uint8]string, len(p.tables))
	for _, spec := range p.tables {
		names[spec.ID] = spec.Name
	}
	return names
}
