// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import "github.com/antrea-oncache/antrea/pkg/agent/conntrack"

// KernelConnections is the table of the network namespace that the agent runs in.
type KernelConnections struct{}

// List implements Connections.
func (KernelConnections) List(zones []uint16, yield func(*conntrack.Connection) bool) error {
	return conntrack.List(zones, yield)
}

// Delete implements Connections.
func (KernelConnections) Delete(c *conntrack.Connection) error { return c.Delete() }
