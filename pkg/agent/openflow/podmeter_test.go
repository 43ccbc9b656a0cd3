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

// podMeter counts the IP packets of metered Pods that are routed.
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
		flow := t.g.flow(cookiePodMeter, tablePodMeter, priorityNormal, matches(of.InPort(ofPort)), t.g.toNext(tablePodMeter))
		change := coherency.Change{Interfaces: []string{interfaceName}}
		if err := t.Commit(change, nil, m.meters.Plan(interfaceName, []of.Flow{flow})); err != nil {
			return fmt.Errorf("install the meter of interface %s: %w", interfaceName, err)
		}
		return nil
	})
}
