// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"fmt"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/flowstore"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// This file is a feature for feature_test.go, added as ARCHITECTURE.md describes: this file, and one line that registers it.

const tablePodMeter = "PodMeter"

const cookiePodMeter cookieCategory = 200

// podMeter counts the IP packets of metered Pods that are routed. Each Pod has a group, as a Service will have.
type podMeter struct {
	socket *socket
	meters *flowstore.Cache
}

func newPodMeter(c *core) *podMeter {
	m := &podMeter{}
	m.socket = c.register("Pod meter", m)
	m.meters = m.socket.cache("meters")
	return m
}

func (*podMeter) tables(Features) []tableSpec {
	return []tableSpec{{name: tablePodMeter, stage: stageRouting, before: tableL3DecTTL}}
}

func (*podMeter) baseFlows(g *generator) []of.Flow {
	return []of.Flow{g.flow(cookiePodMeter, tablePodMeter, priorityHigh, matches(fromGateway.match()), g.toNext(tablePodMeter))}
}

func (m *podMeter) InstallMeter(interfaceName string, ofPort uint32) error {
	return m.socket.change(func(t turn) error {
		id, err := m.group(t, interfaceName)
		if err != nil {
			return fmt.Errorf("install the meter of interface %s: %w", interfaceName, err)
		}
		next := of.Resubmit{Table: t.g.toNext(tablePodMeter).(of.GotoTable).Table}
		group := of.GroupEntry{ID: id, Type: of.GroupIndirect, Buckets: []of.Bucket{{Actions: []of.Action{next}}}}
		flow := t.g.flow(cookiePodMeter, tablePodMeter, priorityNormal, matches(of.InPort(ofPort)), of.Group{ID: id})
		change := coherency.Change{Interfaces: []string{interfaceName}}
		if err := t.Commit(change, nil, m.meters.PlanWithGroups(interfaceName, []of.Flow{flow}, []of.GroupEntry{group})); err != nil {
			return fmt.Errorf("install the meter of interface %s: %w", interfaceName, err)
		}
		return nil
	})
}

// group returns the id of the interface's group, or a new one.
func (m *podMeter) group(t turn, interfaceName string) (uint32, error) {
	for _, g := range m.meters.Groups(interfaceName) {
		return g.ID, nil
	}
	return t.NewGroupID()
}

func (m *podMeter) UninstallMeter(interfaceName string) error {
	return m.socket.change(func(t turn) error {
		change := coherency.Change{Interfaces: []string{interfaceName}}
		if err := t.Commit(change, nil, m.meters.Plan(interfaceName, nil)); err != nil {
			return fmt.Errorf("remove the meter of interface %s: %w", interfaceName, err)
		}
		return nil
	})
}
