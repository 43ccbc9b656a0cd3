// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package agentstate asks agents of a test cluster about their state.
package agentstate

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
	"github.com/antrea-oncache/antrea/pkg/retry"
	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
)

// Antctl runs antctl in a Node as in the agent's Pod.
func Antctl(ctx context.Context, n *cluster.Node, args ...string) (string, error) {
	return n.Exec(ctx, append([]string{"env", "POD_NAME=antrea-agent-" + n.Name, "antctl"}, args...)...)
}

// Cache returns the state of a Node's cache.
func Cache(ctx context.Context, n *cluster.Node) (*api.Status, error) {
	body, err := n.AskAgent(ctx, "/oncache")
	if err != nil {
		return nil, err
	}
	var s api.Status
	if err := json.Unmarshal(body, &s); err != nil {
		return nil, fmt.Errorf("%s: the agent's /oncache: %w", n.Name, err)
	}
	return &s, nil
}

// startPatience is the time from an agent's readiness to the use of its cache: it installs the flows of Services and
// policies, and looks at all entries that the former agent has left.
const startPatience = 2 * time.Minute

// WaitCacheActive waits until a Node's cache is in use.
func WaitCacheActive(ctx context.Context, n *cluster.Node) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	for {
		s, err := Cache(ctx, n)
		if err != nil {
			return err
		}
		if s.State == api.StateActive {
			return nil
		}
		if retry.Sleep(ctx, time.Second/10) != nil {
			return fmt.Errorf("%s: ONCache is still %s: %s", n.Name, s.State, s.Reason)
		}
	}
}
