// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// reservedTables has these tables, so that tools which address them find them. Packets traverse them unchanged. A feature that
// is implemented takes over its rows.
type reservedTables struct{}

func RegisterReservedTables(c *Core) { c.Register("reserved tables", reservedTables{}) }

func (reservedTables) Tables(features Features) []TableSpec {
	var specs []TableSpec
	if !features.AntreaProxy {
		specs = append(specs, TableSpec{Name: TableDNAT, ID: 75, Stage: StagePreRouting})
	}
	if features.TrafficControl {
		specs = append(specs, TableSpec{Name: TableTrafficControl, ID: 135, Stage: StageSwitching})
	}
	return specs
}

func (reservedTables) BaseFlows(*Generator) []of.Flow { return nil }
