// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package auditlog

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/ippacket"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
)

// The lines are taken from the documentation of Antrea.
func TestLine(t *testing.T) {
	packet := func(src, dst string, protocol uint8, length int, transport ...byte) *ippacket.Packet {
		return &ippacket.Packet{Src: netip.MustParseAddr(src), Dst: netip.MustParseAddr(dst), Protocol: protocol, IP: make([]byte, length), Transport: transport}
	}
	allowed := openflow.PolicyPacket{Direction: policy.Ingress, Action: policy.Allow, Reference: "K8sNetworkPolicy:default/allow-tcp-80", Table: "IngressRule", Priority: 190}
	dropped := openflow.PolicyPacket{Direction: policy.Ingress, Action: policy.Drop, Table: "IngressDefaultRule"}
	for _, test := range []struct {
		name     string
		decision openflow.PolicyPacket
		packet   *ippacket.Packet
		want     string
	}{
		{"allowed", allowed, packet("10.10.1.13", "10.10.1.7", ippacket.TCP, 60, 0xde, 0xda, 0, 80),
			"IngressRule K8sNetworkPolicy:default/allow-tcp-80 <nil> Ingress Allow 190 default/nettool 10.10.1.13 57050 10.10.1.7 80 TCP 60 <nil>"},
		{"rejected by a rule", openflow.PolicyPacket{Direction: policy.Ingress, Action: policy.Reject, Reference: "K8sNetworkPolicy:default/no", Table: "T", Priority: 7},
			packet("10.10.1.13", "10.10.1.7", ippacket.TCP, 60, 0xde, 0xda, 0, 80), "T K8sNetworkPolicy:default/no <nil> Ingress Reject 7 default/nettool 10.10.1.13 57050 10.10.1.7 80 TCP 60 <nil>"},
		{"by a rule with a name and a label", openflow.PolicyPacket{
			Direction: policy.Egress, Action: policy.Pass, FlowID: 5, Reference: "AntreaClusterNetworkPolicy:web", Table: "AntreaPolicyEgressRule", Priority: 14500,
			Rule: &policy.Rule{Name: "egress-pass-1a2b3c4", LogLabel: "audit"}},
			packet("10.10.1.13", "10.10.1.7", ippacket.SCTP, 60, 0xde, 0xda, 0, 80),
			"AntreaPolicyEgressRule AntreaClusterNetworkPolicy:web egress-pass-1a2b3c4 Egress Pass 14500 default/nettool 10.10.1.13 <nil> 10.10.1.7 <nil> SCTP 60 audit"},
		{"by a rule with a name that would be another line", openflow.PolicyPacket{
			Direction: policy.Egress, Action: policy.Drop, FlowID: 5, Reference: "AntreaNetworkPolicy:ns/p", Table: "AntreaPolicyEgressRule", Priority: 14500,
			Rule: &policy.Rule{Name: "x\n2026/11/25 12:31:02.801442\r" + strings.Repeat("a", 1<<20)}},
			packet("10.10.1.13", "10.10.1.7", ippacket.TCP, 60, 0xde, 0xda, 0, 80),
			"AntreaPolicyEgressRule AntreaNetworkPolicy:ns/p x 2026/11/25 12:31:02.801442 " + strings.Repeat("a", 224) + " Egress Drop 14500 default/nettool 10.10.1.13 57050 10.10.1.7 80 TCP 60 <nil>"},
		{"by a rule that is gone", openflow.PolicyPacket{Direction: policy.Ingress, Action: policy.Drop, FlowID: 5, Table: "IngressDefaultRule"},
			packet("10.10.1.13", "10.10.1.7", ippacket.TCP, 60, 0xde, 0xda, 0, 80), "IngressDefaultRule <nil> <nil> Ingress Drop <nil> default/nettool 10.10.1.13 57050 10.10.1.7 80 TCP 60 <nil>"},
		{"dropped", dropped, packet("10.10.1.13", "10.10.1.7", ippacket.ICMP, 84, 8, 0, 0, 0),
			"IngressDefaultRule K8sNetworkPolicy <nil> Ingress Drop <nil> default/nettool 10.10.1.13 <nil> 10.10.1.7 <nil> ICMP 84 <nil>"},
		{"egress, IPv6", openflow.PolicyPacket{Direction: policy.Egress, Action: policy.Drop, Table: "EgressDefaultRule"}, packet("fd00::b", "fd00::c", ippacket.UDP, 49, 0, 1, 0, 53),
			"EgressDefaultRule K8sNetworkPolicy <nil> Egress Drop <nil> default/nettool fd00::b 1 fd00::c 53 UDP 49 <nil>"},
		{"another protocol", dropped, packet("10.10.1.13", "10.10.1.7", 47, 24, 0, 0, 0, 0),
			"IngressDefaultRule K8sNetworkPolicy <nil> Ingress Drop <nil> default/nettool 10.10.1.13 <nil> 10.10.1.7 <nil> 47 24 <nil>"},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.want, line(&test.decision, "default/nettool", test.packet))
		})
	}
}
