// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMatches(t *testing.T) {
	const peer = "10.10.2.0/24"
	allow, client6 := tiered(Allow, 50, 1, 0), netip.MustParseAddr("fd00::20")
	tcp := Connection{Source: client, Destination: local.IPs[0], Protocol: 6, SourcePort: 40000, DestinationPort: 80}
	ping := Connection{Source: client, Destination: local.IPs[0], Protocol: 1, ICMPType: 8}
	ping6 := Connection{Source: client6, Destination: local.IPs[1], Protocol: 58, ICMPType: 128}
	nodePort := tcp
	nodePort.Destination, nodePort.ServiceGroup, nodePort.NodePort = netip.MustParseAddr("10.10.3.1"), 5, true
	clusterIP := nodePort
	clusterIP.NodePort = false
	tests := []struct {
		name string
		rule *Rule
		c    Connection
		want bool
	}{
		{"source port", rule(1, allow, peer, Service{Protocol: 6, SourcePort: 40000, SourceMask: 0xfffe}), tcp, true},
		{"another source port", rule(1, allow, peer, Service{Protocol: 6, SourcePort: 40002, SourceMask: 0xfffe}), tcp, false},
		{"source port, any destination port of 0 is not meant", rule(1, allow, peer, Service{Protocol: 6, Mask: 0xffff, SourcePort: 40000, SourceMask: 0xffff}), tcp, false},
		{"ICMP", rule(1, allow, peer, Service{Protocol: 1}), ping, true},
		{"ICMP type and code", rule(1, allow, peer, Service{Protocol: 1, ICMPType: octet(8), ICMPCode: octet(0)}), ping, true},
		{"another ICMP code", rule(1, allow, peer, Service{Protocol: 1, ICMPType: octet(8), ICMPCode: octet(1)}), ping, false},
		{"ICMP in IPv6", rule(1, allow, "fd00::/64", Service{Protocol: 1, ICMPType: octet(128)}), ping6, true},
		{"another protocol than ICMP", rule(1, allow, peer, Service{Protocol: 1}), tcp, false},
		{"NodePort", &Rule{Effect: allow, Direction: Ingress, AppliedToServices: []uint32{4, 5}, Peers: []netip.Prefix{anyIPv4}}, nodePort, true},
		{"NodePort of another Service", &Rule{Effect: allow, Direction: Ingress, AppliedToServices: []uint32{4}, Peers: []netip.Prefix{anyIPv4}}, nodePort, false},
		{"a ClusterIP is not a NodePort", &Rule{Effect: allow, Direction: Ingress, AppliedToServices: []uint32{5}, Peers: []netip.Prefix{anyIPv4}}, clusterIP, false},
		{"to a Service", toServices(allow, 5), Connection{Source: client, Destination: local.IPs[0], Protocol: 6, ServiceGroup: 5}, true},
		{"to an Endpoint directly", toServices(allow, 5), tcp, false},
		{"group 0 is not a Service", toServices(allow, 0), tcp, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { require.Equal(t, tt.want, tt.rule.Matches(tt.c)) })
	}
}

func TestOrderOf(t *testing.T) {
	ordered := []Order{OrderOf(0, 1, 0), OrderOf(250, 1.5, 3), OrderOf(TierAdmin, 0, 0), {Stage: StageKubernetes}, OrderOf(TierBaseline, 1, 0), OrderOf(TierBaselineAdmin, 0, 0)}
	for i := range ordered[1:] {
		require.Negative(t, ordered[i].Compare(ordered[i+1]), "%+v before %+v", ordered[i], ordered[i+1])
	}
}
