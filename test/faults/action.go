// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"
)

// action makes an event happen, and returns when its cause has ended: agents are ready again, daemons run, the network
// is as before.
type action func(context.Context, *world, event) error

var actions = map[string]action{
	"agent-restart":       restartAgent,
	"agent-kill":          killAgent,
	"agent-kill-starting": killStartingAgent,
	"agent-away":          agentAway,
	"agent-other-maps":    restartAgentWithOtherMaps,

	"ovs-restart":       restartOVS,
	"vswitchd-restart":  restartVSwitchd,
	"vswitchd-kill":     killVSwitchd,
	"ovsdb-kill":        killOVSDB,
	"ovs-agent-restart": restartAgentAndOVS,

	"flows-wiped": wipeFlows,

	"uplink-flap":          flapUplink,
	"mtu-change":           changeMTU,
	"next-hop-mac":         changeMAC,
	"second-default-route": addDefaultRoute,
	"policy-route":         addPolicyRoute,

	"node-added-or-removed": toggleThirdNode,
	"node-readdressed":      readdressThirdNode,
	"node-other-pods":       changeThirdPodNetwork,
	"pod-churn":             churnPods,
	"address-reused":        reuseAddress,
	"api-away":              disconnectAPI,
	"controller-restart":    restartController,
	"controller-kill":       killController,

	"egress-moves":      moveEgress,
	"egress-owner-kill": killEgressOwner,
	"gossip-cut":        cutGossip,

	"route-deleted":     deleteRoute,
	"node-moves":        moveNode,
	"wireguard-deleted": deleteWireGuard,
	"wireguard-key":     rotateKey,

	"policy-elsewhere":         changePolicyElsewhere,
	"policy-same-verdicts":     changePolicyWithoutEffect,
	"policy-forbids-or-allows": togglePolicy,

	"clock-step":     stepClock,
	"conntrack-full": fillConntrack,
	"memory-full":    fillMemory,

	"lose":         loseDatagrams,
	"open":         openServers,
	"wrong-source": giveWrongSource,
	"in-clear":     sendInClear,
}

// last lets an event last.
func last(ctx context.Context, length time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(length):
		return nil
	}
}
