// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

var (
	localPod  = netip.MustParseAddr("10.0.0.1")
	remotePod = netip.MustParseAddr("10.0.1.1")
	nodeIP    = netip.MustParseAddr("10.0.0.254")
	outside   = netip.MustParseAddr("203.0.113.9")
)

// onNode returns what a Cutter asks for the addresses of a Node.
func onNode(addresses ...netip.Addr) func() func(netip.Addr) bool {
	return func() func(netip.Addr) bool { return func(a netip.Addr) bool { return slices.Contains(addresses, a) } }
}

// connectionTable is conntrack, and the cache of the same connections.
type connectionTable struct {
	mu          sync.Mutex
	connections []*conntrack.Connection
	evicted     []netip.AddrPort
	listErr     error
	lists       int
	// stuck is the source port of a connection that cannot be marked.
	stuck uint16
}

func (t *connectionTable) List(yield func(*conntrack.Connection) bool) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lists++
	for _, c := range t.connections {
		copied := *c
		if !yield(&copied) {
			break
		}
	}
	return t.listErr
}

func (t *connectionTable) SetMark(c *conntrack.Connection, value, mask uint32) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.Original.SourcePort == t.stuck && t.stuck != 0 {
		return errors.New("no such luck")
	}
	for _, known := range t.connections {
		if known.Original == c.Original {
			known.Mark = known.Mark&^mask | value
		}
	}
	return nil
}

func (t *connectionTable) EvictConnection(_ uint8, a, _, _ netip.AddrPort) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.evicted = append(t.evicted, a)
	return nil
}

// cut returns the source ports of marked connections.
func (t *connectionTable) cut() []uint16 {
	t.mu.Lock()
	defer t.mu.Unlock()
	var ports []uint16
	for _, c := range t.connections {
		if c.Mark&openflow.CutMark != 0 {
			ports = append(ports, c.Original.SourcePort)
		}
	}
	return ports
}

// connection is a TCP connection from port source, which also identifies it, to port 80. mark says where its packets came
// from.
func connection(source netip.Addr, port uint16, destination netip.Addr, mark uint32) *conntrack.Connection {
	return &conntrack.Connection{
		Original: conntrack.Tuple{Source: source, Destination: destination, Protocol: of.IPProtoTCP, SourcePort: port, DestinationPort: 80},
		Reply:    conntrack.Tuple{Source: destination, Destination: source, Protocol: of.IPProtoTCP, SourcePort: 80, DestinationPort: port},
		Mark:     mark,
	}
}

const fromTunnel, fromGateway, fromPod = 1, 2, 3

func policyRule(direction policy.Direction, peers ...string) *policy.Rule {
	r := &policy.Rule{Effect: policy.Kubernetes, FlowID: 2, Direction: direction, AppliedTo: []policy.Pod{{InterfaceName: "a1", OFPort: 1, IPs: []netip.Addr{localPod}}}}
	for _, p := range peers {
		r.Peers = append(r.Peers, netip.MustParsePrefix(p))
	}
	return r
}

func TestSweep(t *testing.T) {
	service := connection(localPod, 7, netip.MustParseAddr("10.96.0.1"), fromPod|0x10)
	service.Reply.Source, service.Reply.SourcePort = remotePod, 8080
	refused := connection(localPod, 9, netip.MustParseAddr("10.96.0.1"), 0x10)
	refused.Reply.Source, refused.Reply.SourcePort = remotePod, 8080
	itself := connection(localPod, 8, netip.MustParseAddr("10.96.0.1"), fromPod|0x70)
	itself.Reply.Source, itself.Reply.SourcePort = localPod, 8080
	for _, test := range []struct {
		name       string
		rules      []*policy.Rule
		connection *conntrack.Connection
		want       bool // cut
	}{
		{"no rules", nil, connection(remotePod, 1, localPod, fromTunnel), false},
		{"rules of the other direction", []*policy.Rule{policyRule(policy.Egress)}, connection(remotePod, 1, localPod, fromTunnel), false},
		{"isolated", []*policy.Rule{policyRule(policy.Ingress)}, connection(remotePod, 1, localPod, fromTunnel), true},
		{"allowed", []*policy.Rule{policyRule(policy.Ingress, "10.0.1.0/24")}, connection(remotePod, 1, localPod, fromTunnel), false},
		{"another peer is allowed", []*policy.Rule{policyRule(policy.Ingress, "10.0.2.0/24")}, connection(remotePod, 1, localPod, fromTunnel), true},
		{"egress", []*policy.Rule{policyRule(policy.Egress)}, connection(localPod, 1, remotePod, fromPod), true},
		{"egress is asked about what the Pod has opened only", []*policy.Rule{policyRule(policy.Egress)}, connection(remotePod, 1, localPod, fromTunnel), false},
		{"from the Node itself", []*policy.Rule{policyRule(policy.Ingress)}, connection(nodeIP, 1, localPod, fromGateway), false},
		{"through the Node", []*policy.Rule{policyRule(policy.Ingress)}, connection(outside, 1, localPod, fromGateway), true},
		{"the Node's address, but from the tunnel", []*policy.Rule{policyRule(policy.Ingress)}, connection(nodeIP, 1, localPod, fromTunnel), true},
		{"the address behind a Service is allowed", []*policy.Rule{policyRule(policy.Egress, "10.0.1.1/32")}, service, false},
		{"the Service's address is allowed", []*policy.Rule{policyRule(policy.Egress, "10.96.0.1/32")}, service, true},
		{"a connection to a Service that was refused when it was opened", []*policy.Rule{policyRule(policy.Egress)}, refused, false},
		{"a Pod reaches itself through a Service", []*policy.Rule{policyRule(policy.Ingress)}, itself, false},
		{"a Pod may not reach itself", []*policy.Rule{policyRule(policy.Egress)}, itself, true},
		{"of other Pods", []*policy.Rule{policyRule(policy.Ingress)}, connection(remotePod, 1, outside, fromTunnel), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := *test.connection
			table := &connectionTable{connections: []*conntrack.Connection{&c}}
			rules := test.rules
			cutter := NewCutter(table, table, func() []*policy.Rule { return rules }, onNode(nodeIP))
			require.NoError(t, cutter.sweep())
			if !test.want {
				require.Empty(t, table.cut())
				require.Empty(t, table.evicted)
				return
			}
			source := test.connection.Original
			require.Equal(t, []uint16{source.SourcePort}, table.cut())
			require.Equal(t, []netip.AddrPort{netip.AddrPortFrom(source.Source, source.SourcePort)}, table.evicted)

			require.NoError(t, cutter.sweep())
			require.Len(t, table.evicted, 2, "the cache may have learned it again from a packet that was on its way")
			rules = nil
			require.NoError(t, cutter.sweep())
			require.Equal(t, test.connection.Mark, table.connections[0].Mark, "allowed again")
		})
	}
}

func TestCutterSweepsSeveralTimes(t *testing.T) {
	table := &connectionTable{connections: []*conntrack.Connection{connection(remotePod, 1, localPod, fromTunnel)}, listErr: errors.New("interrupted")}
	cutter := NewCutter(table, nil, func() []*policy.Rule { return []*policy.Rule{policyRule(policy.Ingress)} }, onNode())
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); cutter.Run(ctx) }()
	swept := func(n int) func() bool {
		return func() bool { table.mu.Lock(); defer table.mu.Unlock(); return table.lists >= n }
	}
	cutter.RulesChanged()
	require.Eventually(t, swept(len(sweepDelays)), time.Minute, time.Millisecond, "an error does not end it")
	require.Len(t, table.cut(), 1, "what had been listed before the error")
	cancel()
	<-done
}

func TestCutterSweepsOnceWhenEnforced(t *testing.T) {
	table := &connectionTable{connections: []*conntrack.Connection{connection(remotePod, 1, localPod, fromTunnel)}}
	cutter := NewCutter(table, nil, func() []*policy.Rule { return []*policy.Rule{policyRule(policy.Ingress)} }, onNode())
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); cutter.Run(ctx) }()
	cutter.RulesEnforced()
	require.Eventually(t, func() bool { return len(table.cut()) == 1 }, time.Minute, time.Millisecond)
	cancel()
	<-done
	require.Equal(t, 1, table.lists)
}

// waitingCache is the cache while the agent starts: it forgets when it may.
type waitingCache struct {
	*connectionTable
	asked, may chan struct{}
}

func (c waitingCache) EvictConnection(protocol uint8, client, dialed, server netip.AddrPort) error {
	c.asked <- struct{}{}
	<-c.may
	return c.connectionTable.EvictConnection(protocol, client, dialed, server)
}

// TestNoMarkWaitsForTheCache: all connections are marked when the cache is asked for the first time. One that cannot be marked harms no other.
func TestNoMarkWaitsForTheCache(t *testing.T) {
	table := &connectionTable{stuck: 2}
	for port := range uint16(loggedConnections + 2) {
		table.connections = append(table.connections, connection(remotePod, 1+port, localPod, fromTunnel))
	}
	cache := waitingCache{table, make(chan struct{}, len(table.connections)), make(chan struct{})}
	rules := []*policy.Rule{policyRule(policy.Ingress)}
	c := NewCutter(table, cache, func() []*policy.Rule { return rules }, onNode(nodeIP))
	done := make(chan error, 1)
	go func() { done <- c.sweep() }()
	<-cache.asked
	require.Len(t, table.cut(), loggedConnections+1)
	require.NotContains(t, table.cut(), table.stuck)
	close(cache.may)
	require.EqualError(t, <-done, "1 errors for 22 connections: no such luck")
	require.Len(t, table.evicted, len(table.connections), "the packets of the stuck one also take Open vSwitch's way")
}
