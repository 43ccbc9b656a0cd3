// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oftest

import (
	"fmt"
	"net/netip"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

func Prefixes(texts ...string) []netip.Prefix {
	var out []netip.Prefix
	for _, text := range texts {
		out = append(out, netip.MustParsePrefix(text))
	}
	return out
}

func Tcp(port uint16) policy.Service {
	return policy.Service{Protocol: of.IPProtoTCP, Port: port, Mask: 0xffff}
}

func Ingress(id uint32, pod policy.Pod, peers []netip.Prefix, services ...policy.Service) *policy.Rule {
	return &policy.Rule{Effect: policy.Kubernetes, FlowID: id, Direction: policy.Ingress, AppliedTo: []policy.Pod{pod}, Peers: peers, Services: services}
}

func Egress(id uint32, pod policy.Pod, peers []netip.Prefix, services ...policy.Service) *policy.Rule {
	return &policy.Rule{Effect: policy.Kubernetes, FlowID: id, Direction: policy.Egress, AppliedTo: []policy.Pod{pod}, Peers: peers, Services: services}
}

// Logged returns the rule with logging.
func Logged(r *policy.Rule) *policy.Rule {
	r.LogReference = "K8sNetworkPolicy:shop/web"
	return r
}

var (
	PolicyPodA = policy.Pod{InterfaceName: "pod-a", OFPort: PodAPort, IPs: []netip.Addr{PodAIP}}
	PolicyPodB = policy.Pod{InterfaceName: "pod-b", OFPort: PodBPort, IPs: []netip.Addr{PodBIP}}
	Everybody  = Prefixes("0.0.0.0/0", "::/0")
)

// NthPeer is an address outside of the Pods' network.
func NthPeer(i int) netip.Addr {
	return netip.AddrFrom4([4]byte{11, byte(i >> 16), byte(i >> 8), byte(i)})
}

// SharedFlowRules are rules that share flows.
var SharedFlowRules = []struct {
	Name string
	Rule func(i int) *policy.Rule
	// To is a connection that only the i-th rule allows.
	To func(i int) policy.Connection
}{
	{
		"on one Pod",
		func(i int) *policy.Rule {
			return Ingress(uint32(10+i), PolicyPodA, []netip.Prefix{pipeline.Host(NthPeer(i))}, Tcp(uint16(i)))
		},
		func(i int) policy.Connection {
			return policy.Connection{Source: NthPeer(i), Destination: PodAIP, Protocol: of.IPProtoTCP, DestinationPort: uint16(i)}
		},
	},
	{
		"on one Pod and one port",
		func(i int) *policy.Rule {
			return Ingress(uint32(10+i), PolicyPodA, []netip.Prefix{pipeline.Host(NthPeer(i))}, Tcp(80))
		},
		func(i int) policy.Connection {
			return policy.Connection{Source: NthPeer(i), Destination: PodAIP, Protocol: of.IPProtoTCP, DestinationPort: 80}
		},
	},
	{
		"on one Pod and one address",
		func(i int) *policy.Rule {
			return Egress(uint32(10+i), PolicyPodA, []netip.Prefix{pipeline.Host(RemotePodIP)}, Tcp(uint16(i)))
		},
		func(i int) policy.Connection {
			return policy.Connection{Source: PodAIP, Destination: RemotePodIP, Protocol: of.IPProtoTCP, DestinationPort: uint16(i)}
		},
	},
}

// Opening returns the packet that opens the connection, as it enters the bridge.
func Opening(c policy.Connection) string {
	var in string
	switch c.Source {
	case PodAIP:
		in = fmt.Sprintf("in_port=%d,dl_src=%v", PodAPort, PodAMAC)
	case PodBIP:
		in = fmt.Sprintf("in_port=%d,dl_src=%v", PodBPort, PodBMAC)
	default:
		in = fmt.Sprintf("in_port=%d,dl_src=0a:00:00:00:01:01", TunnelPort)
	}
	destination := GWMAC
	switch c.Destination {
	case PodAIP:
		destination = PodAMAC
	case PodBIP:
		destination = PodBMAC
	}
	packet := fmt.Sprintf("%s,%s,dl_dst=%v,nw_src=%v,nw_dst=%v,nw_ttl=64", ProtocolNames[c.Protocol], in, destination, c.Source, c.Destination)
	if c.Protocol != of.IPProtoICMP {
		packet += fmt.Sprintf(",%[1]s_src=33333,%[1]s_dst=%[2]d", ProtocolNames[c.Protocol], c.DestinationPort)
	}
	return packet
}

var ProtocolNames = map[uint8]string{of.IPProtoTCP: "tcp", of.IPProtoUDP: "udp", of.IPProtoSCTP: "sctp", of.IPProtoICMP: "icmp"}
