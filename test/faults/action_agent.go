// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
)

func restartAgent(ctx context.Context, w *world, e event) error {
	n := w.Nodes[e.node]
	if err := n.StopAgent(); err != nil {
		return err
	}
	return startAgent(ctx, n)
}

func killAgent(ctx context.Context, w *world, e event) error {
	n := w.Nodes[e.node]
	if err := n.KillAgent(); err != nil {
		return err
	}
	return startAgent(ctx, n)
}

// killStartingAgent kills the agent twice, the second time at a random moment of its start.
func killStartingAgent(ctx context.Context, w *world, e event) error {
	n := w.Nodes[e.node]
	if err := n.KillAgent(); err != nil {
		return err
	}
	if err := n.StartAgent(); err != nil {
		return err
	}
	if err := last(ctx, e.length); err != nil {
		return err
	}
	return killAgent(ctx, w, e)
}

func agentAway(ctx context.Context, w *world, e event) error {
	n := w.Nodes[e.node]
	if err := n.KillAgent(); err != nil {
		return err
	}
	if err := last(ctx, e.length); err != nil {
		return err
	}
	return startAgent(ctx, n)
}

// restartAgentWithOtherMaps upgrades the agent to one with maps of another size, or rolls back: to the agent they are
// as foreign as maps of another layout.
func restartAgentWithOtherMaps(ctx context.Context, w *world, e event) error {
	n := w.Nodes[e.node]
	if err := n.StopAgent(); err != nil {
		return err
	}
	w.upgraded[e.node] = !w.upgraded[e.node]
	size := maxFlows
	if w.upgraded[e.node] {
		size /= 2
	}
	if err := n.WriteAgentConfig(func(conf map[string]any) { conf["oncache"] = w.cache(size) }); err != nil {
		return err
	}
	return startAgent(ctx, n)
}

func startAgent(ctx context.Context, n *cluster.Node) error {
	if err := n.StartAgent(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return n.WaitAgentReady(ctx)
}
