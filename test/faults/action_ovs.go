// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import "context"

// restartOVS ends both daemons and starts them with flow-restore-wait, as ovs-ctl does: nothing new is forwarded until the agent's flows are back.
func restartOVS(ctx context.Context, w *world, e event) error { return w.Nodes[e.node].RestartOVS(ctx) }

func restartVSwitchd(ctx context.Context, w *world, e event) error {
	n := w.Nodes[e.node]
	if err := n.StopVSwitchd(); err != nil {
		return err
	}
	return n.StartVSwitchd(ctx)
}

func killVSwitchd(ctx context.Context, w *world, e event) error {
	n := w.Nodes[e.node]
	n.KillVSwitchd()
	if err := last(ctx, e.length); err != nil {
		return err
	}
	return n.StartVSwitchd(ctx)
}

func killOVSDB(ctx context.Context, w *world, e event) error {
	n := w.Nodes[e.node]
	n.KillOVSDB()
	if err := last(ctx, e.length); err != nil {
		return err
	}
	return n.StartOVSDB(ctx)
}

// restartAgentAndOVS does the same as the update of a DaemonSet on a Node.
func restartAgentAndOVS(ctx context.Context, w *world, e event) error {
	n := w.Nodes[e.node]
	if err := n.StopAgent(); err != nil {
		return err
	}
	if err := n.RestartOVS(ctx); err != nil {
		return err
	}
	return startAgent(ctx, n)
}

// wipeFlows removes all flows from the bridge, as an administrator could. Nothing tells the agent, which has to find out.
func wipeFlows(ctx context.Context, w *world, e event) error {
	_, err := w.Nodes[e.node].Exec(ctx, "ovs-ofctl", "-O", "OpenFlow15", "del-flows", "br-int")
	return err
}
