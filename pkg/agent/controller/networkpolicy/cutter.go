// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
)

// sweepDelays are the times after a change of the rules at which connections are compared with them. The first sweep does
// nearly everything. A packet that the kernel forwards by a megaflow from before the change, or that was on its way through
// vswitchd, can open a connection or teach the cache one, until the revalidators have visited every megaflow. Later sweeps
// find these connections, and a final one after that.
var sweepDelays = []time.Duration{0, 200 * time.Millisecond, 600 * time.Millisecond, 2 * time.Second}

// loggedConnections is the number of connections that one sweep names in the log.
const loggedConnections = 20

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
	rules       func() []*policy.Rule
	// ofNode returns what reports whether an address is this Node's own at present: policies do not keep the Node from its Pods.
	ofNode func() func(netip.Addr) bool
	// groupsOf returns the groups of Services that may have chosen the server of a connection; nil if there are none.
	groupsOf func(protocol uint8, dialed netip.AddrPort) []uint32
	// wake has a value after a change of the rules, enforced when no packet is treated by the former rules any more.
	wake, enforced chan struct{}
}

// NewCutter makes a Cutter that does nothing before Run. cache may be nil.
func NewCutter(connections Connections, cache ConnectionCache, rules func() []*policy.Rule, ofNode func() func(netip.Addr) bool) *Cutter {
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
	all := c.rules()
	byPod, ofNodePorts, ofNode := rulesByPod(all), rulesOfNodePorts(all), c.ofNode()
	var forbidden, released []*conntrack.Connection
	err := c.connections.List(func(connection *conntrack.Connection) bool {
		cut := connection.Mark&openflow.CutMark != 0
		switch ok := c.allowed(byPod, ofNodePorts, ofNode, connection); {
		case !ok && !openflow.PassedPolicies(connection.Mark):
			// The first packet was refused, and so are the others.
		case !ok:
			forbidden = append(forbidden, connection)
		case cut:
			released = append(released, connection)
		}
		return true
	})
	// Connections that were listed before an error are cut nevertheless.
	return errors.Join(err, c.cut(forbidden), firstOf(c.mark(released, 0, "A connection that was cut is allowed again"), len(released)))
}

// cut marks all connections and then makes the cache forget them: an entry that is learned after that comes from a packet that passed before the
// mark. No mark waits for the cache, and a connection that cannot be cut does not keep others from it.
func (c *Cutter) cut(connections []*conntrack.Connection) error {
	errs := c.mark(connections, openflow.CutMark, "Cut a connection that NetworkPolicies forbid")
	if c.cache == nil {
		return firstOf(errs, len(connections))
	}
	for _, connection := range connections {
		client, dialed, server := connection.Ends()
		if err := c.cache.EvictConnection(connection.Original.Protocol, client, dialed, server); err != nil {
			errs = append(errs, err)
		}
	}
	return firstOf(errs, len(connections))
}

// mark gives connections the value of CutMark, unless they have it, and says so for the first of them: a Pod may have any number.
func (c *Cutter) mark(connections []*conntrack.Connection, value uint32, message string) (errs []error) {
	marked := 0
	for _, connection := range connections {
		if connection.Mark&openflow.CutMark == value {
			continue
		}
		if err := c.connections.SetMark(connection, value, openflow.CutMark); err != nil {
			errs = append(errs, err)
			continue
		}
		if marked++; marked <= loggedConnections {
			klog.InfoS(message, "connection", connection.Original)
		}
	}
	if marked > loggedConnections {
		klog.InfoS(message+", and others", "connections", marked)
	}
	return errs
}

// firstOf returns the first error, with the number of errors and of connections; nil if there is none.
func firstOf(errs []error, connections int) error {
	if len(errs) == 0 {
		return nil
	}
	return fmt.Errorf("%d errors for %d connections: %w", len(errs), connections, errs[0])
}

// rulesByPod maps addresses of Pods to the rules that apply to them.
func rulesByPod(rules []*policy.Rule) map[netip.Addr][]*policy.Rule {
	byPod := map[netip.Addr][]*policy.Rule{}
	for _, r := range rules {
		for _, pod := range r.AppliedTo {
			for _, ip := range pod.IPs {
				byPod[ip] = append(byPod[ip], r)
			}
		}
	}
	return byPod
}

// rulesOfNodePorts returns the rules that apply to connections to NodePorts.
func rulesOfNodePorts(rules []*policy.Rule) []*policy.Rule {
	return slices.DeleteFunc(slices.Clone(rules), func(r *policy.Rule) bool { return len(r.AppliedToServices) == 0 })
}

// allowed reports whether the rules, of Pods and of NodePorts, allow the connection to be opened now.
func (c *Cutter) allowed(byPod map[netip.Addr][]*policy.Rule, ofNodePorts []*policy.Rule, ofNode func(netip.Addr) bool, connection *conntrack.Connection) bool {
	// Rules apply to the addresses after a Service's translation.
	opened := policy.Connection{
		Source: connection.Original.Source, Destination: connection.Reply.Source,
		Protocol: connection.Original.Protocol, SourcePort: connection.Original.SourcePort, DestinationPort: connection.Reply.SourcePort,
		ICMPType: connection.ICMPType, ICMPCode: connection.ICMPCode,
	}
	if rules := byPod[opened.Source]; rules != nil && !openflow.OpenedFromGateway(connection.Mark) && !c.mayLeave(rules, opened, connection) {
		return false
	}
	if len(ofNodePorts) > 0 && opened.Destination != connection.Original.Destination && areUnknown(ofNode) {
		return true // It could be to a NodePort.
	}
	rules := byPod[opened.Destination]
	if opened.NodePort = len(ofNodePorts) > 0 && isToNodePort(connection, ofNode); opened.NodePort {
		rules = slices.Concat(rules, ofNodePorts)
	}
	// Ingress rules do not keep a Pod from itself, which it reaches through a Service, unless it dials a NodePort.
	if len(rules) == 0 || opened.Source == opened.Destination && !opened.NodePort || openflow.OpenedFromGateway(connection.Mark) && ofNode(opened.Source) {
		return true
	}
	return slices.ContainsFunc(c.groups(opened.NodePort, connection), func(group uint32) bool {
		opened.ServiceGroup = group
		return policy.Evaluate(rules, policy.Ingress, opened).Allowed()
	})
}

// isToNodePort reports whether the client has dialed an address of this Node, or the one to which the Node sends connections to its NodePorts.
func isToNodePort(connection *conntrack.Connection, ofNode func(netip.Addr) bool) bool {
	dialed := connection.Original.Destination
	return dialed != connection.Reply.Source && (dialed == config.VirtualNodePortIPv4 || dialed == config.VirtualNodePortIPv6 || ofNode(dialed))
}

// groups returns the groups that may have chosen the server of a connection, if they matter; 0 stands for none.
func (c *Cutter) groups(matter bool, connection *conntrack.Connection) []uint32 {
	if matter && c.groupsOf != nil {
		_, dialed, _ := connection.Ends()
		if groups := c.groupsOf(connection.Original.Protocol, dialed); len(groups) > 0 {
			return groups
		}
	}
	return []uint32{0}
}

// mayLeave reports whether egress rules of the client allow the connection, through one of the groups that may have chosen its server.
func (c *Cutter) mayLeave(rules []*policy.Rule, opened policy.Connection, connection *conntrack.Connection) bool {
	named := slices.ContainsFunc(rules, func(r *policy.Rule) bool { return len(r.PeerServices) > 0 })
	return slices.ContainsFunc(c.groups(named, connection), func(group uint32) bool {
		opened.ServiceGroup = group
		return policy.Evaluate(rules, policy.Egress, opened).Allowed()
	})
}
