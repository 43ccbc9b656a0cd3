// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestServiceMatches(t *testing.T) {
	value := func(v uint8) *uint8 { return &v }
	tcp := Connection{Protocol: 6, SourcePort: 1025, DestinationPort: 81}
	echo := Connection{Protocol: 1, ICMPType: 8}
	for _, tc := range []struct {
		name       string
		service    Service
		connection Connection
		want       bool
	}{
		{"every port", Service{Protocol: 6}, tcp, true},
		{"another protocol", Service{Protocol: 17}, tcp, false},
		{"port", Service{Protocol: 6, Port: 81, Mask: 0xffff}, tcp, true},
		{"ports", Service{Protocol: 6, Port: 80, Mask: 0xfffe}, tcp, true},
		{"port 0", Service{Protocol: 6, Port: 0, Mask: 0xffff}, tcp, false},
		{"source port", Service{Protocol: 6, SourcePort: 1024, SourceMask: 0xfffe}, tcp, true},
		{"another source port", Service{Protocol: 6, SourcePort: 1026, SourceMask: 0xfffe}, tcp, false},
		{"source port 0", Service{Protocol: 6, SourceMask: 0xffff}, tcp, false},
		{"all of ICMP", Service{Protocol: 1}, echo, true},
		{"type", Service{Protocol: 1, ICMPType: value(8)}, echo, true},
		{"another type", Service{Protocol: 1, ICMPType: value(0)}, echo, false},
		{"another code", Service{Protocol: 1, ICMPType: value(8), ICMPCode: value(1)}, echo, false},
		{"ICMPv6", Service{Protocol: 1, ICMPType: value(128)}, Connection{Protocol: 58, ICMPType: 128}, true},
	} {
		require.Equal(t, tc.want, tc.service.Matches(tc.connection), tc.name)
		require.True(t, tc.service.within(Service{Protocol: tc.service.Protocol}), tc.name)
		require.True(t, tc.service.within(tc.service), tc.name)
	}
	require.False(t, Service{Protocol: 6}.within(Service{Protocol: 6, SourcePort: 1, SourceMask: 0xffff}))
	require.False(t, Service{Protocol: 1}.within(Service{Protocol: 1, ICMPType: value(0)}))
}

// Rules about Services match by the group that has chosen the destination.
func TestRulesAboutServices(t *testing.T) {
	to := &Rule{Direction: Egress, AppliedTo: []Pod{local}, PeerServices: []uint32{7}}
	c := Connection{Source: local.IPs[0], Destination: client, Protocol: 6, DestinationPort: 80}
	require.False(t, to.Matches(c), "directly to the Endpoint")
	c.ServiceGroup = 8
	require.False(t, to.Matches(c))
	c.ServiceGroup = 7
	require.True(t, to.Matches(c))

	at := &Rule{Direction: Ingress, AppliedToServices: []uint32{7}, Peers: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}}
	c = Connection{Source: netip.MustParseAddr("192.0.2.1"), Destination: client, Protocol: 6, DestinationPort: 80, ServiceGroup: 7}
	require.False(t, at.Matches(c), "a ClusterIP")
	c.NodePort = true
	require.True(t, at.Matches(c))
	c.Source = client
	require.False(t, at.Matches(c))

	drop := func(r Rule) *Rule {
		r.Effect = tiered(Drop, 50, 1, 0)
		return &r
	}
	require.False(t, Closed([]*Rule{drop(*at)}, nil, nil))
	require.True(t, Closed([]*Rule{drop(*at)}, []*Rule{drop(*at)}, nil))
	require.False(t, Closed([]*Rule{drop(*to)}, []*Rule{drop(Rule{Direction: Egress, AppliedTo: []Pod{local}, PeerServices: []uint32{8}})}, []Pod{local}))
}
