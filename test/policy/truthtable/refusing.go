// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
	"github.com/antrea-oncache/antrea/test/policy"
)

// refusing is a switch that refuses all flows with policy.RefusedPort.
type refusing struct{ of.Switch }

// tableFull is the error of a table that has no place for a flow (OpenFlow 1.3, section A.4.4).
var tableFull = &of.Error{Type: 5, Code: 1}

// Commit implements of.Switch.
func (s refusing) Commit(ctx context.Context, mods []of.FlowMod) error {
	if err := refusal(mods); err != nil {
		return err
	}
	return s.Switch.Commit(ctx, mods)
}

// Apply implements of.Switch.
func (s refusing) Apply(ctx context.Context, t of.Transaction) error {
	if err := refusal(t.Flows); err != nil {
		return err
	}
	return s.Switch.Apply(ctx, t)
}

// refusal returns the error about the first flow that is refused.
func refusal(mods []of.FlowMod) error {
	port := fmt.Sprint("tp_dst=", policy.RefusedPort)
	i := slices.IndexFunc(mods, func(m of.FlowMod) bool { return m.Command == of.Add && strings.Contains(m.Flow.String(), port) })
	if i < 0 {
		return nil
	}
	return &of.FlowError{Flow: mods[i].Flow.String(), Err: tableFull}
}
