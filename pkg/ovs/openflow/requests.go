// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import "context"

// Commit implements Switch.
func (s *client) Commit(ctx context.Context, mods []FlowMod) error {
	return s.Apply(ctx, Transaction{Flows: mods})
}

// Apply implements Switch.
func (s *client) Apply(ctx context.Context, t Transaction) error {
	if len(t.Meters)+len(t.Groups)+len(t.Flows) == 0 {
		return nil
	}
	c, err := s.current()
	if err != nil {
		return err
	}
	return c.apply(ctx, &t)
}

// ask calls a method of the current connection.
func ask[T any](s *client, f func(c *conn) (T, error)) (T, error) {
	c, err := s.current()
	if err != nil {
		var none T
		return none, err
	}
	return f(c)
}

// Barrier implements Switch.
func (s *client) Barrier(ctx context.Context) error {
	_, err := ask(s, func(c *conn) (struct{}, error) { return struct{}{}, c.barrier(ctx) })
	return err
}

// TableFlowCounts implements Switch.
func (s *client) TableFlowCounts(ctx context.Context) (map[uint8]int, error) {
	return ask(s, func(c *conn) (map[uint8]int, error) { return c.tableFlowCounts(ctx) })
}

// DumpFlows implements Switch.
func (s *client) DumpFlows(ctx context.Context, table uint8) ([]FlowStats, error) {
	return ask(s, func(c *conn) ([]FlowStats, error) { return c.flows(ctx, table) })
}

// DumpGroups implements Switch.
func (s *client) DumpGroups(ctx context.Context) ([]GroupEntry, error) {
	return ask(s, func(c *conn) ([]GroupEntry, error) { return c.groups(ctx) })
}

// DumpGroupStats implements Switch.
func (s *client) DumpGroupStats(ctx context.Context) ([]GroupStats, error) {
	return ask(s, func(c *conn) ([]GroupStats, error) { return c.groupStats(ctx) })
}

// DumpMeters implements Switch.
func (s *client) DumpMeters(ctx context.Context) ([]MeterEntry, error) {
	return ask(s, func(c *conn) ([]MeterEntry, error) { return c.meters(ctx) })
}

// DumpMeterStats implements Switch.
func (s *client) DumpMeterStats(ctx context.Context) ([]MeterStats, error) {
	return ask(s, func(c *conn) ([]MeterStats, error) { return c.meterStats(ctx) })
}

// MeterFeatures implements Switch.
func (s *client) MeterFeatures(ctx context.Context) (MeterFeatures, error) {
	return ask(s, func(c *conn) (MeterFeatures, error) { return c.meterFeatures(ctx) })
}
