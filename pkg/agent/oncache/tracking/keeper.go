// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package tracking

import (
	"sync/atomic"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
)

// Table is the part of package conntrack that the keeper needs.
type Table interface {
	Get(zone uint16, tuple conntrack.Tuple) (*conntrack.Connection, error)
	Change(zone uint16, tuple conntrack.Tuple, change conntrack.Change) (found bool, err error)
}

// hostZone is the zone in which the host tracks connections that it forwards: Pods' with Nodes that are reached without the tunnel.
const hostZone = 0

// Keeper changes conntrack's entries. One goroutine at a time may use it; Changed may be called from any.
type Keeper struct {
	table Table
	// zone4 and zone6 are the zones of IPv4 and IPv6.
	zone4, zone6 uint16

	changed atomic.Uint64
}

// NewKeeper makes a keeper for the connections in the zones of IPv4 and IPv6.
func NewKeeper(table Table, zone4, zone6 uint16) *Keeper {
	return &Keeper{table: table, zone4: zone4, zone6: zone6}
}

// Changed returns the number of changed entries.
func (k *Keeper) Changed() uint64 { return k.changed.Load() }

func (k *Keeper) zone(tuple conntrack.Tuple) uint16 {
	if tuple.Source.Is6() {
		return k.zone6
	}
	return k.zone4
}

// Passed is called after conntrack has seen a segment of a connection in the cache, with the addresses of either direction.
func (k *Keeper) Passed(tuple conntrack.Tuple) error { return k.passed(k.zone(tuple), tuple) }

// PassedHost is Passed for the host's own entry of the connection.
func (k *Keeper) PassedHost(tuple conntrack.Tuple) error { return k.passed(hostZone, tuple) }

func (k *Keeper) passed(zone uint16, tuple conntrack.Tuple) error {
	found, err := k.table.Change(zone, tuple, forget)
	if found {
		k.changed.Add(1)
	}
	return err
}

// attempts limits the corrections of an entry that keeps changing its state.
const attempts = 5

// Idle is called when a connection has become idle.
func (k *Keeper) Idle(c *Connection, timeouts Timeouts) error {
	return k.idle(k.zone(c.Tuple), c, timeouts)
}

// IdleHost is Idle for the host's own entry of the connection.
func (k *Keeper) IdleHost(c *Connection, timeouts Timeouts) error {
	return k.idle(hostZone, c, timeouts)
}

func (k *Keeper) idle(zone uint16, c *Connection, timeouts Timeouts) error {
	entry, err := k.table.Get(zone, c.Tuple)
	if err != nil || entry == nil {
		return err
	}
	change, needed := decide(c, entry, timeouts)
	if !needed {
		return nil
	}
	if found, err := k.table.Change(zone, c.Tuple, change); err != nil || !found {
		return err
	}
	k.changed.Add(1)
	if change.Timeout == 0 {
		return nil
	}
	return k.verify(zone, c.Tuple, entry.TCP.State, timeouts)
}

// verify checks whether the connection entered another state before it got the timeout of this one: state and timeout
// cannot be changed together. A later segment sets its own timeout.
func (k *Keeper) verify(zone uint16, tuple conntrack.Tuple, given conntrack.State, timeouts Timeouts) error {
	for range attempts {
		entry, err := k.table.Get(zone, tuple)
		if err != nil || entry == nil || entry.TCP == nil || entry.TCP.State == given {
			return err
		}
		timeout, known := timeouts.of(entry.TCP.State)
		if !known || entry.Timeout <= timeout {
			return nil
		}
		given = entry.TCP.State
		if _, err := k.table.Change(zone, tuple, conntrack.Change{Timeout: timeout}); err != nil {
			return err
		}
	}
	return nil
}
