// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	agentconfig "github.com/antrea-oncache/antrea/pkg/config/agent"
	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
)

// moveEgress selects the Node that does not have the Egress address, and waits until it has.
func moveEgress(ctx context.Context, w *world, _ event) error {
	owner, err := w.egressOwner(ctx)
	if err != nil {
		return err
	}
	to := w.Nodes[0]
	if owner == to {
		to = w.Nodes[1]
	}
	if err := w.selectEgressNode(ctx, to); err != nil {
		return err
	}
	return eventually(ctx, fmt.Sprintf("the Egress address to move to %s", to.Name), func() error {
		owners, err := w.egressOwners(ctx)
		if err == nil && (len(owners) != 1 || owners[0] != to) {
			err = fmt.Errorf("%d Nodes have it", len(owners))
		}
		return err
	})
}

// killEgressOwner kills the agent of the Node that has the Egress address, which any Node may take.
func killEgressOwner(ctx context.Context, w *world, e event) error {
	if err := w.selectEgressNode(ctx, nil); err != nil {
		return err
	}
	owner, err := w.egressOwner(ctx)
	if err != nil {
		return err
	}
	if err := owner.KillAgent(); err != nil {
		return err
	}
	if err := last(ctx, e.length); err != nil {
		return err
	}
	if err := startAgent(ctx, owner); err != nil {
		return err
	}
	_, err = w.egressOwner(ctx)
	return err
}

// cutGossip lets agents not hear of each other, so that each Node takes the Egress address, which any may. One gives it up afterwards.
func cutGossip(ctx context.Context, w *world, e event) error {
	if err := w.selectEgressNode(ctx, nil); err != nil {
		return err
	}
	if _, err := w.egressOwner(ctx); err != nil {
		return err
	}
	err := w.dropGossip(ctx, "-I")
	if err == nil {
		err = last(ctx, e.length)
	}
	if err = errors.Join(err, w.dropGossip(ctx, "-D")); err != nil {
		return err
	}
	_, err = w.egressOwner(ctx)
	return err
}

// dropGossip adds (-I) or deletes (-D) rules that drop what agents send each other about members.
func (w *world) dropGossip(ctx context.Context, command string) error {
	return w.EachNode(func(n *cluster.Node) error {
		for _, protocol := range []string{"udp", "tcp"} {
			rule := []string{"PREROUTING", "-p", protocol, "--dport", strconv.Itoa(agentconfig.DefaultClusterPort), "-j", "DROP"}
			if _, err := n.Exec(ctx, append([]string{"iptables", "-w", "-t", "raw", command}, rule...)...); err != nil {
				return err
			}
		}
		return nil
	})
}
