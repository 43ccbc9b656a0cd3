// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"context"
)

// Switch is one bridge as seen through its OpenFlow management socket. Commit and Barrier may be called concurrently.
// NewSwitch makes the real one, NewFake one in memory for tests of pipelines.
type Switch interface {
	// Connect dials the socket, retrying with growing delay until it succeeds or ctx ends, and from then on reconnects by
	// itself until Close. The log has one line when the switch cannot be reached or does not answer echo requests, and one
	// when that is over. reconnected receives a value (capacity 1, never blocks) after each later
	// reconnection: flows may be gone.
	Connect(ctx context.Context) (reconnected <-chan struct{}, err error)
	// Commit applies mods in order as one atomic bundle and returns after a barrier reply: either all of them are in the
	// flow tables or none. An error names the flow that the switch refused and the OpenFlow error (*FlowError, *Error).
	// ErrDisconnected and the error of ctx mean the fate is unknown.
	Commit(ctx context.Context, mods []FlowMod) error
	// Barrier returns when the switch has finished everything sent before.
	Barrier(ctx context.Context) error
	// TableFlowCounts returns the number of flows per table (tables without flows may be absent).
	TableFlowCounts(ctx context.Context) (map[uint8]int, error)
	IsConnected() bool
	// ConnectionError is why IsConnected is false, nil when it is true.
	ConnectionError() error
	Close() error
}
