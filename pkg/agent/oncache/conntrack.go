// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/tracking"
)

// startTracking promises that conntrack's entries of accelerated connections will be maintained; Run keeps the promise.
func (m *Manager) startTracking() error {
	var tables [2]tracking.Table
	for i := range tables {
		table, err := conntrack.OpenTable()
		if err != nil {
			return err
		}
		tables[i] = table
	}
	runner, err := tracking.New(tracking.Config{
		Cache: m.dp, Lease: m.config.Lease, Tables: tables,
		Timeouts: func() (tracking.Timeouts, error) { return tracking.ReadTimeouts(tracking.SysctlPath) },
		ZoneIPv4: m.config.ConntrackZoneIPv4, ZoneIPv6: m.config.ConntrackZoneIPv6,
	})
	if err != nil {
		return err
	}
	m.tracking = runner
	return nil
}
