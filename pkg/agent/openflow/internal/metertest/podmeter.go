// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package metertest

import (
	"fmt"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/flowstore"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// Table is the feature's table.
const Table = "PodMeter"

// Cookie is the category of the feature's flows.
const Cookie pipeline.CookieCategory = 200

// Meters counts the IP packets of metered Pods that are routed. Each Pod has a group, as a Service will have.
type Meters struct {
	Socket *pipeline.Socket
	Meters *flowstore.Cache
}

// New registers the feature.
func New(c *pipeline.Core) *Meters {
	m := &Meters{}
	m.Socket = c.Register("Pod meter", m)
	m.Meters = m.Socket.Cache("meters")
	return m
}

func (*Meters) Tables(pipeline.Features) []pipeline.TableSpec {
	return []pipeline.TableSpec{{Name: Table, ID: 113, Stage: pipeline.StageRouting}}
}

func (*Meters) BaseFlows(g *pipeline.Generator) []of.Flow {
	return []of.Flow{g.Flow(Cookie, Table, pipeline.PriorityHigh, pipeline.Matches(pipeline.FromGateway.Match()), g.ToNext(Table))}
}

func (m *Meters) InstallMeter(interfaceName string, ofPort uint32) error {
	return m.Socket.Change(func(t pipeline.Turn) error {
		id, err := m.group(t, interfaceName)
		if err != nil {
			return fmt.Errorf("install the meter of interface %s: %w", interfaceName, err)
		}
		next := of.Resubmit{Table: t.G.ToNext(Table).(of.GotoTable).Table}
		group := of.GroupEntry{ID: id, Type: of.GroupIndirect, Buckets: []of.Bucket{{Actions: []of.Action{next}}}}
		flow := t.G.Flow(Cookie, Table, pipeline.PriorityNormal, pipeline.Matches(of.InPort(ofPort)), of.Group{ID: id})
		change := coherency.Change{Interfaces: []string{interfaceName}}
		if err := t.Commit(change, nil, m.Meters.PlanWithGroups(interfaceName, []of.Flow{flow}, []of.GroupEntry{group})); err != nil {
			return fmt.Errorf("install the meter of interface %s: %w", interfaceName, err)
		}
		return nil
	})
}

// group returns the id of the interface's group, or a new one.
func (m *Meters) group(t pipeline.Turn, interfaceName string) (uint32, error) {
	for _, g := range m.Meters.Groups(interfaceName) {
		return g.ID, nil
	}
	return t.NewGroupID()
}

func (m *Meters) UninstallMeter(interfaceName string) error {
	return m.Socket.Change(func(t pipeline.Turn) error {
		change := coherency.Change{Interfaces: []string{interfaceName}}
		if err := t.Commit(change, nil, m.Meters.Plan(interfaceName, nil)); err != nil {
			return fmt.Errorf("remove the meter of interface %s: %w", interfaceName, err)
		}
		return nil
	})
}
