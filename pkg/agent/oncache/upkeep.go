// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"context"
	"errors"
	"time"

	"github.com/antrea-oncache/antrea/pkg/agent/upkeep"
)

// sysctlInterval is the time between two looks at sysctls, which have no events.
const sysctlInterval = 10 * time.Second

// Upkeep keeps the sysctls of the Node as Start has set them, while the cache is available. The manager itself looks after programs
// and leases.
func (m *Manager) Upkeep() upkeep.Part {
	return upkeep.Part{Name: "sysctls of ONCache", Every: sysctlInterval, Repair: func(context.Context) error {
		if m.Unavailable() != nil {
			return nil
		}
		return errors.Join(setLiberal(m.sysctls), reservePort(m.sysctls, m.reservedPort()))
	}}
}
