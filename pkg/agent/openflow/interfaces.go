// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"context"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
)

// Client is the only way to change the OpenFlow pipeline. Every change is one atomic bundle; a method waits for the barrier
// and updates its flow cache only on success. Calling it again with the same arguments changes nothing on the switch. A method
// without a context waits 30 s for its turn at most; one that only reads cached data never waits for the switch. The features
// declare their own parts of it.
type Client interface {
	// Initialize connects (retrying until ctx ends), removes flows that already carry the new round, and installs the
	// base flows of all features. The returned channel receives a value after each later reconnection of the switch;
	// the agent then calls ReplayFlows.
	Initialize(ctx context.Context, round RoundInfo, node *config.NodeConfig, network *config.NetworkConfig) (<-chan struct{}, error)
	// ReplayFlows sends everything again to a switch that has lost it, and calls accepted when the switch has it. No other change is sent
	// during the replay, and ONCache keeps using what it learned from the same flows until accepted returns.
	ReplayFlows(accepted func()) error
	// DeleteStaleFlows removes flows of former rounds.
	DeleteStaleFlows() error

	PodClient
	NodeClient
	PolicyClient
	MarkClient
	ServiceClient
	TraceflowClient
	DNSClient
	EgressClient
	MulticlusterClient

	// SetInterceptor makes every later bundle go through the Interceptor, and tells it of the Nodes that have flows. Call it once.
	SetInterceptor(coherency.Interceptor)

	// IsConnected is false while there is no connection to the switch, and when the switch has not answered for 30 s.
	IsConnected() bool
	// ConnectionError returns why IsConnected is false, nil when it is true.
	ConnectionError() error
	// MissingFlows asks the switch whether it has all flows, as far as their numbers in each table tell, and says what is missing; "" for nothing.
	// During ReplayFlows they are missing until that returns.
	MissingFlows(ctx context.Context) (missing string, err error)
	// GetFlowTableStatus returns the tables in pipeline order with the number of flows on the switch.
	GetFlowTableStatus(ctx context.Context) ([]TableStatus, error)
	// DroppedByMeters returns the number of packets to the agent that were above the rate of their purpose; 0 where there is no meter.
	DroppedByMeters(ctx context.Context) (map[Purpose]uint64, error)
	// Replays returns the number of full resends of this process; each one resets the counters of all flows. done is false while one is
	// running or due.
	Replays() (n uint64, done bool)
	Disconnect() error
}
