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
	Name  string
	Stage stage
	Miss  missAction
	// At most one of Before and After is set. It names the neighboring table of the same stage, perhaps of another feature. Several
	// tables at one place are in the order in which their features are registered. Tables with neither are in the order in which their
	// feature lists them. All such tables of a stage belong to one feature, so the order is defined.
	Before, After string
}

// place returns the table that this one is next to, "" for none.
func (s TableSpec) place() string { return s.Before + s.After }

// pipeline is the set of tables of one configuration; a table's OpenFlow id is its index.
type pipeline struct {
	tables []TableSpec
	IDs    map[string]uint8
}

// newPipeline orders the tables of all features, one element for each feature. It panics if the place of a table is undefined.
func newPipeline(features [][]TableSpec) *pipeline {
	placed := anchors(features)
	anchorOf := func(spec TableSpec) int {
		i := slices.IndexFunc(placed, func(other TableSpec) bool {
			return other.Name == spec.place() && other.Stage == spec.Stage && other.place() == ""
		})
		if i < 0 {
			panic(fmt.Sprintf("table %s must be next to %s, but its stage has no such table", spec.Name, spec.place()))
		}
		return i
	}
	relative := slices.DeleteFunc(slices.Concat(features...), func(spec TableSpec) bool { return spec.place() == "" })
	for _, spec := range relative {
		if spec.Before != "" {
			placed = slices.Insert(placed, anchorOf(spec), spec)
		}
	}
	for _, spec := range slices.Backward(relative) {
		if spec.After != "" {
			placed = slices.Insert(placed, anchorOf(spec)+1, spec)
		}
	}
	p := &pipeline{tables: placed, IDs: map[string]uint8{}}
	for id, spec := range placed {
		if _, exists := p.IDs[spec.Name]; exists {
			panic(fmt.Sprintf("two tables are named %s", spec.Name))
		}
		p.IDs[spec.Name] = uint8(id)
	}
	return p
}

// anchors returns the tables that are not placed next to others.
func anchors(features [][]TableSpec) []TableSpec {
	var placed []TableSpec
	owners := map[stage]int{}
	for i, specs := range features {
		for _, spec := range specs {
			if spec.place() != "" {
				continue
			}
			if owner, owned := owners[spec.Stage]; owned && owner != i {
				panic(fmt.Sprintf("table %s must be placed before or after another one: its stage also has tables of another feature", spec.Name))
			}
			owners[spec.Stage] = i
			placed = append(placed, spec)
		}
	}
	slices.SortStableFunc(placed, func(a, b TableSpec) int { return cmp.Compare(a.Stage, b.Stage) })
	return placed
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
func (p *pipeline) Next(name string) uint8 { return p.ID(name) + 1 }

// FirstOf returns the first table of a stage.
func (p *pipeline) FirstOf(s stage) uint8 {
	for id, spec := range p.tables {
		if spec.Stage == s {
			return uint8(id)
		}
	}
	panic(fmt.Sprintf("stage %d has no table with the enabled features", s))
}

// Names maps ids to names.
func (p *pipeline) Names() map[uint8]string {
	names := make(map[uint8]string, len(p.tables))
	for id, spec := range p.tables {
		names[uint8(id)] = spec.Name
	}
	return names
}
