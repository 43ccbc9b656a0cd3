// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// reservedTables has these tables, so that tools which address them find them. Packets traverse them unchanged. A feature that
// is implemented takes over its rows.
type reservedTables struct{}

func registerReservedTables(c *core) { c.register("reserved tables", reservedTables{}) }

func (reservedTables) tables(features Features) []tableSpec {
	var specs []tableSpec
	if !features.AntreaProxy {
		specs = append(specs, tableSpec{name: tableDNAT, stage: stagePreRouting})
	}
	if features.Egress {
		specs = append(specs, tableSpec{name: tableEgressMark, stage: stageRouting, miss: missToGateway, before: tableL3DecTTL})
	}
	if features.TrafficControl {
		specs = append(specs, tableSpec{name: tableTrafficControl, stage: stageSwitching, after: tableL2ForwardingCalc})
	}
	return specs
}

func (reservedTables) baseFlows(*generator) []of.Flow { return nil }
