// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// Exactly the connections end that the first matching rule denies.
func TestSweepOfTiers(t *testing.T) {
	tier := func(action policy.Action, tier int32, direction policy.Direction, change func(r *policy.Rule)) *policy.Rule {
		r := policyRule(direction, "0.0.0.0/0")
		r.Effect = policy.Effect{Order: policy.OrderOf(tier, 1, 0), Action: action}
		if change != nil {
			change(r)
		}
		return r
	}
	isolated := policyRule(policy.Ingress)
	in, toWeb := connection(remotePod, 1, localPod, fromTunnel), connection(localPod, 2, netip.MustParseAddr("10.96.0.1"), fromPod|0x10)
	toWeb.Reply.Source = remotePod
	ping := &conntrack.Connection{
		Original: conntrack.Tuple{Source: localPod, Destination: remotePod, Protocol: of.IPProtoICMP}, Reply: conntrack.Tuple{Source: remotePod, Destination: localPod, Protocol: of.IPProtoICMP},
		Mark: fromPod, ICMPType: 8,
	}
	services := func(s ...policy.Service) func(r *policy.Rule) { return func(r *policy.Rule) { r.Services = s } }
	ofNodePort := func(group uint32) func(r *policy.Rule) {
		return func(r *policy.Rule) { r.AppliedTo, r.AppliedToServices = nil, []uint32{group} }
	}
	client := netip.MustParseAddr("198.51.100.7")
	toNodePort := func(server netip.Addr) *conntrack.Connection {
		c := connection(client, 3, config.VirtualNodePortIPv4, fromGateway|0x10)
		c.Reply.Source = server
		return c
	}
	ownNodePort := connection(localPod, 3, config.VirtualNodePortIPv4, fromPod|0x10)
	ownNodePort.Reply.Source = localPod
	onlyWeb := func(r *policy.Rule) { r.Peers, r.PeerServices = nil, []uint32{7} }
	for _, test := range []struct {
		name       string
		rules      []*policy.Rule
		connection *conntrack.Connection
		want       bool // cut
	}{
		{"dropped", []*policy.Rule{tier(policy.Drop, 50, policy.Ingress, nil)}, in, true},
		{"rejected", []*policy.Rule{tier(policy.Reject, 50, policy.Ingress, nil)}, in, true},
		{"allowed before", []*policy.Rule{tier(policy.Drop, 50, policy.Ingress, nil), tier(policy.Allow, 49, policy.Ingress, nil)}, in, false},
		{"allowed later", []*policy.Rule{tier(policy.Drop, 50, policy.Ingress, nil), tier(policy.Allow, 51, policy.Ingress, nil)}, in, true},
		{"allowed although isolated", []*policy.Rule{tier(policy.Allow, 50, policy.Ingress, nil), isolated}, in, false},
		{"passed to isolation", []*policy.Rule{tier(policy.Pass, 50, policy.Ingress, nil), tier(policy.Allow, 51, policy.Ingress, nil), isolated}, in, true},
		{"passed to nothing", []*policy.Rule{tier(policy.Pass, 50, policy.Ingress, nil), tier(policy.Drop, 51, policy.Ingress, nil)}, in, false},
		{"baseline", []*policy.Rule{tier(policy.Drop, 253, policy.Ingress, nil)}, in, true},
		{"source port", []*policy.Rule{tier(policy.Drop, 50, policy.Ingress, services(policy.Service{Protocol: of.IPProtoTCP, SourcePort: 1, SourceMask: 0xffff}))}, in, true},
		{"another source port", []*policy.Rule{tier(policy.Drop, 50, policy.Ingress, services(policy.Service{Protocol: of.IPProtoTCP, SourcePort: 2, SourceMask: 0xffff}))}, in, false},
		{"type of ICMP", []*policy.Rule{tier(policy.Drop, 50, policy.Egress, services(policy.Service{Protocol: of.IPProtoICMP, ICMPType: ptr(uint8(8))}))}, ping, true},
		{"another type", []*policy.Rule{tier(policy.Drop, 50, policy.Egress, services(policy.Service{Protocol: of.IPProtoICMP, ICMPType: ptr(uint8(0))}))}, ping, false},
		{"a Service", []*policy.Rule{tier(policy.Drop, 50, policy.Egress, onlyWeb)}, toWeb, true},
		{"the Pod behind a Service", []*policy.Rule{tier(policy.Drop, 50, policy.Egress, onlyWeb)}, connection(localPod, 2, remotePod, fromPod), false},
		{"a NodePort, served here", []*policy.Rule{tier(policy.Drop, 50, policy.Ingress, ofNodePort(7))}, toNodePort(localPod), true},
		{"a NodePort, served elsewhere", []*policy.Rule{tier(policy.Reject, 253, policy.Ingress, ofNodePort(7))}, toNodePort(remotePod), true},
		{"a NodePort whose rule comes before the Pod's", []*policy.Rule{tier(policy.Drop, 50, policy.Ingress, nil), tier(policy.Allow, 49, policy.Ingress, ofNodePort(7)), isolated}, toNodePort(localPod), false},
		{"a NodePort whose Pod does not allow it", []*policy.Rule{tier(policy.Drop, 50, policy.Ingress, nil), tier(policy.Allow, 51, policy.Ingress, ofNodePort(7))}, toNodePort(localPod), true},
		{"another Service's NodePort", []*policy.Rule{tier(policy.Drop, 50, policy.Ingress, ofNodePort(8))}, toNodePort(remotePod), false},
		{"the Pod behind a NodePort", []*policy.Rule{tier(policy.Drop, 50, policy.Ingress, ofNodePort(7))}, connection(client, 3, localPod, fromGateway), false},
		{"a Pod's own NodePort", []*policy.Rule{tier(policy.Drop, 50, policy.Ingress, ofNodePort(7))}, ownNodePort, true},
		{"an allowed Service", []*policy.Rule{tier(policy.Allow, 49, policy.Egress, onlyWeb), tier(policy.Drop, 50, policy.Egress, nil)}, toWeb, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := *test.connection
			table := &connectionTable{connections: []*conntrack.Connection{&c}}
			cutter := NewCutter(table, table, func() []*policy.Rule { return test.rules }, onNode(nodeIP))
			cutter.groupsOf = func(_ uint8, dialed netip.AddrPort) []uint32 {
				if dialed.Addr() == netip.MustParseAddr("10.96.0.1") || dialed.Addr() == config.VirtualNodePortIPv4 {
					return []uint32{7}
				}
				return nil
			}
			require.NoError(t, cutter.sweep())
			require.Equal(t, test.want, len(table.cut()) > 0)
			require.Equal(t, test.want, len(table.evicted) > 0)
		})
	}
}

// While the Node's addresses are unknown, no connection to a Service is taken for one to a NodePort.
func TestSweepWithoutAddresses(t *testing.T) {
	rule := policyRule(policy.Ingress, "0.0.0.0/0")
	rule.Effect, rule.AppliedTo, rule.AppliedToServices = policy.Effect{Order: policy.OrderOf(50, 1, 0), Action: policy.Drop}, nil, []uint32{7}
	c := connection(localPod, 2, netip.MustParseAddr("10.96.0.1"), fromPod|0x10)
	c.Reply.Source = remotePod
	table := &connectionTable{connections: []*conntrack.Connection{c}}
	for unknown, ofNode := range map[bool]func() func(netip.Addr) bool{
		true: func() func(netip.Addr) bool { return func(netip.Addr) bool { return true } }, false: onNode(nodeIP),
	} {
		cutter := NewCutter(table, nil, func() []*policy.Rule { return []*policy.Rule{rule} }, ofNode)
		cutter.groupsOf = func(uint8, netip.AddrPort) []uint32 { return []uint32{7} }
		require.NoError(t, cutter.sweep())
		require.Empty(t, table.cut(), "addresses are unknown: %t", unknown)
	}
}
