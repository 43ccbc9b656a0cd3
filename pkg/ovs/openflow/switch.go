// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"context"
)

// Switch is one bridge as seen through its OpenFlow management socket. Commit and Barrier may be called concurrently.
// NewSwitch makes the real one, NewFake one in memory for tests of pipelines.
type Switch interface {
	// Connect dials the socket, retrying with growing delay until it succeeds or ctx ends, and from then on reconnects
	// by itself until Close. The log has one line when the switch cannot be reached or does not answer echo requests,
	// and one when it can again. reconnected receives a value (capacity 1, never blocks) after each later reconnection:
	// flows may be gone.
	Connect(ctx context.Context) (reconnected <-chan struct{}, err error)
	// Commit applies mods in order as one atomic bundle and returns after a barrier reply: either all of them are in the
	// flow tables or none. An error names the flow that the switch refused and the OpenFlow error (*FlowError, *Error).
	// After ErrDisconnected, or an error of ctx, the outcome is unknown.
	Commit(ctx context.Context, mods []FlowMod) error
	// Apply applies a Transaction: groups and flows as one atomic bundle, meters before and behind it. It returns after a barrier
	// reply, with the errors of Commit, and *GroupError and *MeterError.
	Apply(ctx context.Context, t Transaction) error
	// Barrier returns when the switch has processed everything sent before.
	Barrier(ctx context.Context) error
	// TableFlowCounts returns the number of flows per table (tables without flows may be absent).
	TableFlowCounts(ctx context.Context) (map[uint8]int, error)
	IsConnected() bool
	// ConnectionError returns why IsConnected is false, nil when it is true.
	ConnectionError() error
	Close() error

	Reader
	PacketExchange
}

// Reader reads the state of a bridge. Each call is answered by the switch itself.
type Reader interface {
	// DumpFlows returns the flows of a table, of all tables with 255. It fails if one has a match or an action that this package
	// does not know.
	DumpFlows(ctx context.Context, table uint8) ([]FlowStats, error)
	// DumpGroups returns the groups, DumpGroupStats their counters, in any order. DumpGroups fails for unknown actions as DumpFlows does.
	DumpGroups(ctx context.Context) ([]GroupEntry, error)
	DumpGroupStats(ctx context.Context) ([]GroupStats, error)
	// DumpMeters returns the meters, DumpMeterStats their counters, in any order.
	DumpMeters(ctx context.Context) ([]MeterEntry, error)
	DumpMeterStats(ctx context.Context) ([]MeterStats, error)
	MeterFeatures(ctx context.Context) (MeterFeatures, error)
}

// PacketExchange receives packets from a bridge and sends packets into it.
type PacketExchange interface {
	// PacketIns subscribes to the packets of Controller actions with the id, in a queue of capacity packets, until it
	// or the Switch is closed. It connects like Connect. Each subscription to an id gets a copy. sender may be nil: then all packets
	// belong together.
	PacketIns(ctx context.Context, id uint16, capacity int, sender Sender) (*PacketIns, error)
	// PacketOut has the switch execute actions on a packet; it returns when the switch has done so.
	PacketOut(ctx context.Context, p PacketOut) error
	// Resume continues the processing of a packet after the Controller action with Pause that stopped it, with the given changes of
	// its metadata, each of a whole field. A packet that is never resumed is dropped; one that is resumed twice is processed twice.
	Resume(ctx context.Context, p *PacketIn, changes ...Match) error
}
