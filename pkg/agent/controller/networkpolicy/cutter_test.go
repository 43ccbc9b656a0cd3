// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

var (
	localPod  = netip.MustParseAddr("10.0.0.1")
	remotePod = netip.MustParseAddr("10.0.1.1")
	nodeIP    = netip.MustParseAddr("10.0.0.254")
	outside   = netip.MustParseAddr("203.0.113.9")
)

// connectionTable is conntrack, and the cache of the same connections.
type connectionTable struct {
	mu          sync.Mutex
	connections []*conntrack.Connection
	evicted     []netip.AddrPort
	listErr     error
	lists       int
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

func policyRule(direction openflow.PolicyDirection, peers ...string) *openflow.PolicyRule {
	r := &openflow.PolicyRule{FlowID: 2, Direction: direction, AppliedTo: []openflow.PolicyPod{{InterfaceName: "a1", OFPort: 1, IPs: []netip.Addr{localPod}}}}
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
		rules      []*openflow.PolicyRule
		connection *conntrack.Connection
		want       bool // cut
	}{
		{"no rules", nil, connection(remotePod, 1, localPod, fromTunnel), false},
		{"rules of the other direction", []*openflow.PolicyRule{policyRule(openflow.PolicyEgress)}, connection(remotePod, 1, localPod, fromTunnel), false},
		{"isolated", []*openflow.PolicyRule{policyRule(openflow.PolicyIngress)}, connection(remotePod, 1, localPod, fromTunnel), true},
		{"allowed", []*openflow.PolicyRule{policyRule(openflow.PolicyIngress, "10.0.1.0/24")}, connection(remotePod, 1, localPod, fromTunnel), false},
		{"another peer is allowed", []*openflow.PolicyRule{policyRule(openflow.PolicyIngress, "10.0.2.0/24")}, connection(remotePod, 1, localPod, fromTunnel), true},
		{"egress", []*openflow.PolicyRule{policyRule(openflow.PolicyEgress)}, connection(localPod, 1, remotePod, fromPod), true},
		{"egress is asked about what the Pod has opened only", []*openflow.PolicyRule{policyRule(openflow.PolicyEgress)}, connection(remotePod, 1, localPod, fromTunnel), false},
		{"from the Node itself", []*openflow.PolicyRule{policyRule(openflow.PolicyIngress)}, connection(nodeIP, 1, localPod, fromGateway), false},
		{"through the Node", []*openflow.PolicyRule{policyRule(openflow.PolicyIngress)}, connection(outside, 1, localPod, fromGateway), true},
		{"the Node's address, but from the tunnel", []*openflow.PolicyRule{policyRule(openflow.PolicyIngress)}, connection(nodeIP, 1, localPod, fromTunnel), true},
		{"the address behind a Service is allowed", []*openflow.PolicyRule{policyRule(openflow.PolicyEgress, "10.0.1.1/32")}, service, false},
		{"the Service's address is allowed", []*openflow.PolicyRule{policyRule(openflow.PolicyEgress, "10.96.0.1/32")}, service, true},
		{"a connection to a Service that was refused when it was opened", []*openflow.PolicyRule{policyRule(openflow.PolicyEgress)}, refused, false},
		{"a Pod reaches itself through a Service", []*openflow.PolicyRule{policyRule(openflow.PolicyIngress)}, itself, false},
		{"a Pod may not reach itself", []*openflow.PolicyRule{policyRule(openflow.PolicyEgress)}, itself, true},
		{"of other Pods", []*openflow.PolicyRule{policyRule(openflow.PolicyIngress)}, connection(remotePod, 1, outside, fromTunnel), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := *test.connection
			table := &connectionTable{connections: []*conntrack.Connection{&c}}
			rules := test.rules
			cutter := NewCutter(table, table, func() []*openflow.PolicyRule { return rules }, func(a netip.Addr) bool { return a == nodeIP })
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
	cutter := NewCutter(table, nil, func() []*openflow.PolicyRule { return []*openflow.PolicyRule{policyRule(openflow.PolicyIngress)} }, func(netip.Addr) bool { return false })
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); cutter.Run(ctx) }()
	swept := func(n int) func() bool {
		return func() bool { table.mu.Lock(); defer table.mu.Unlock(); return table.lists >= n }
	}
	cutter.RulesChanged()
	require.Eventually(t, swept(1), time.Minute, time.Millisecond)
	require.Empty(t, table.cut())
	table.mu.Lock()
	table.listErr = nil
	table.mu.Unlock()
	require.Eventually(t, func() bool { return len(table.cut()) == 1 }, time.Minute, time.Millisecond, "an error does not end it")
	require.Eventually(t, swept(len(sweepDelays)), time.Minute, time.Millisecond)
	cancel()
	<-done
}

func TestCutterSweepsOnceWhenEnforced(t *testing.T) {
	table := &connectionTable{connections: []*conntrack.Connection{connection(remotePod, 1, localPod, fromTunnel)}}
	cutter := NewCutter(table, nil, func() []*openflow.PolicyRule { return []*openflow.PolicyRule{policyRule(openflow.PolicyIngress)} }, func(netip.Addr) bool { return false })
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); cutter.Run(ctx) }()
	cutter.RulesEnforced()
	require.Eventually(t, func() bool { return len(table.cut()) == 1 }, time.Minute, time.Millisecond)
	cancel()
	<-done
	require.Equal(t, 1, table.lists)
}
