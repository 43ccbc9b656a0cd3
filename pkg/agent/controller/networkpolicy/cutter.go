// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"context"
	"net/netip"
	"time"

	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
)

// sweepDelays are the times after a change of the rules at which connections are compared with them. The first sweep does
// nearly everything. A packet that the kernel forwards by a megaflow from before the change, or that was on its way through
// vswitchd, can open a connection or teach the cache one, until the revalidators have visited every megaflow. Later sweeps
// find these connections, and a final one when that is over.
var sweepDelays = []time.Duration{0, 200 * time.Millisecond, 600 * time.Millisecond, 2 * time.Second}

// Connections is the part of conntrack that a Cutter needs.
type Connections interface {
	// List calls yield for all connections of Pods until it returns false.
	List(yield func(*conntrack.Connection) bool) error
	SetMark(c *conntrack.Connection, value, mask uint32) error
}

// ConnectionCache is the part of ONCache that a Cutter needs.
type ConnectionCache interface {
	EvictConnection(protocol uint8, client, dialed, server netip.AddrPort) error
}

// Cutter ends established connections that the present rules do not allow to be opened. It marks them in conntrack, so that
// Open vSwitch drops their packets in both directions, and makes ONCache forget them. It removes a mark when rules allow
// the connection again.
type Cutter struct {
	connections Connections
	cache       ConnectionCache
	rules       func() []*openflow.PolicyRule
	// ofNode reports whether an address is this Node's own: policies do not keep the Node from its Pods.
	ofNode func(netip.Addr) bool
	// wake has a value after a change of the rules, enforced when no packet is treated by the former rules any more.
	wake, enforced chan struct{}
}

// NewCutter makes a Cutter that does nothing before Run. cache may be nil.
func NewCutter(connections Connections, cache ConnectionCache, rules func() []*openflow.PolicyRule, ofNode func(netip.Addr) bool) *Cutter {
	return &Cutter{connections: connections, cache: cache, rules: rules, ofNode: ofNode, wake: make(chan struct{}, 1), enforced: make(chan struct{}, 1)}
}

// RulesChanged must be called after each change of the rules. It returns at once.
func (c *Cutter) RulesChanged() { notify(c.wake) }

// RulesEnforced must be called when the datapath follows a change. It returns at once.
func (c *Cutter) RulesEnforced() { notify(c.enforced) }

// Run works until ctx ends.
func (c *Cutter) Run(ctx context.Context) {
	var timer *time.Timer
	var due <-chan time.Time
	next, began := 0, time.Time{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.wake:
			next, began = 0, time.Now()
		case <-due:
		case <-c.enforced:
			c.sweepOrSay() // the sweeps after a later change still take place
			continue
		}
		c.sweepOrSay()
		if timer != nil {
			timer.Stop()
		}
		due = nil
		if next++; next < len(sweepDelays) {
			timer = time.NewTimer(time.Until(began.Add(sweepDelays[next])))
			due = timer.C
		}
	}
}

func (c *Cutter) sweepOrSay() {
	if err := c.sweep(); err != nil {
		klog.ErrorS(err, "Could not compare all connections with the NetworkPolicies")
	}
}

// sweep compares all connections with the rules.
func (c *Cutter) sweep() error {
	byPod := rulesByPod(c.rules())
	var forbidden, allowed []*conntrack.Connection
	err := c.connections.List(func(connection *conntrack.Connection) bool {
		cut := connection.Mark&openflow.CutMark != 0
		switch ok := c.allowed(byPod, connection); {
		case !ok && !openflow.PassedPolicies(connection.Mark):
			// The first packet was refused, and so are the others.
		case !ok:
			forbidden = append(forbidden, connection)
		case cut:
			allowed = append(allowed, connection)
		}
		return true
	})
	if err != nil {
		return err
	}
	for _, connection := range allowed {
		if err := c.connections.SetMark(connection, 0, openflow.CutMark); err != nil {
			return err
		}
		klog.InfoS("A connection that was cut is allowed again", "connection", connection.Original)
	}
	for _, connection := range forbidden {
		if err := c.cut(connection); err != nil {
			return err
		}
	}
	return nil
}

// cut marks a connection and then makes the cache forget it: an entry that is learned after that comes from a packet that
// passed before the mark.
func (c *Cutter) cut(connection *conntrack.Connection) error {
	if connection.Mark&openflow.CutMark == 0 {
		if err := c.connections.SetMark(connection, openflow.CutMark, openflow.CutMark); err != nil {
			return err
		}
		klog.InfoS("Cut a connection that NetworkPolicies forbid", "connection", connection.Original)
	}
	if c.cache == nil {
		return nil
	}
	client, dialed, server := connection.Ends()
	return c.cache.EvictConnection(connection.Original.Protocol, client, dialed, server)
}

// rulesByPod maps addresses of Pods to the rules that apply to them.
func rulesByPod(rules []*openflow.PolicyRule) map[netip.Addr][]*openflow.PolicyRule {
	byPod := map[netip.Addr][]*openflow.PolicyRule{}
	for _, r := range rules {
		for _, pod := range r.AppliedTo {
			for _, ip := range pod.IPs {
				byPod[ip] = append(byPod[ip], r)
			}
		}
	}
	return byPod
}

// allowed reports whether the rules allow the connection to be opened now.
func (c *Cutter) allowed(byPod map[netip.Addr][]*openflow.PolicyRule, connection *conntrack.Connection) bool {
	// Rules apply to the addresses after a Service's translation.
	opened := openflow.PolicyConnection{
		Source: connection.Original.Source, Destination: connection.Reply.Source,
		Protocol: connection.Original.Protocol, DestinationPort: connection.Reply.SourcePort,
	}
	if rules := byPod[opened.Source]; rules != nil && !openflow.OpenedFromGateway(connection.Mark) {
		if !openflow.EvaluatePolicy(rules, openflow.PolicyEgress, opened).Allowed {
			return false
		}
	}
	rules := byPod[opened.Destination]
	// Ingress rules do not keep a Pod from itself, which it reaches through a Service.
	if rules == nil || opened.Source == opened.Destination || openflow.OpenedFromGateway(connection.Mark) && c.ofNode(opened.Source) {
		return true
	}
	return openflow.EvaluatePolicy(rules, openflow.PolicyIngress, opened).Allowed
}
