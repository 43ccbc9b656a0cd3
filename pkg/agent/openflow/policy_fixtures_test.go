// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"fmt"
	"net/netip"

	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

func prefixes(texts ...string) []netip.Prefix {
	var out []netip.Prefix
	for _, text := range texts {
		out = append(out, netip.MustParsePrefix(text))
	}
	return out
}

func tcp(port uint16) policy.Service {
	return policy.Service{Protocol: of.IPProtoTCP, Port: port, Mask: 0xffff}
}

func ingress(id uint32, pod policy.Pod, peers []netip.Prefix, services ...policy.Service) *policy.Rule {
	return &policy.Rule{Effect: policy.Kubernetes, FlowID: id, Direction: policy.Ingress, AppliedTo: []policy.Pod{pod}, Peers: peers, Services: services}
}

func egress(id uint32, pod policy.Pod, peers []netip.Prefix, services ...policy.Service) *policy.Rule {
	return &policy.Rule{Effect: policy.Kubernetes, FlowID: id, Direction: policy.Egress, AppliedTo: []policy.Pod{pod}, Peers: peers, Services: services}
}

// logged returns the rule with logging.
func logged(r *policy.Rule) *policy.Rule {
	r.LogReference = "K8sNetworkPolicy:shop/web"
	return r
}

var (
	policyPodA = policy.Pod{InterfaceName: "pod-a", OFPort: podAPort, IPs: []netip.Addr{podAIP}}
	policyPodB = policy.Pod{InterfaceName: "pod-b", OFPort: podBPort, IPs: []netip.Addr{podBIP}}
	everybody  = prefixes("0.0.0.0/0", "::/0")
)

// nthPeer is an address outside of the Pods' network.
func nthPeer(i int) netip.Addr {
	return netip.AddrFrom4([4]byte{11, byte(i >> 16), byte(i >> 8), byte(i)})
}

// sharedFlowRules are rules that share flows.
var sharedFlowRules = []struct {
	name string
	rule func(i int) *policy.Rule
	// to is a connection that only the i-th rule allows.
	to func(i int) policy.Connection
}{
	{
		"on one Pod",
		func(i int) *policy.Rule {
			return ingress(uint32(10+i), policyPodA, []netip.Prefix{host(nthPeer(i))}, tcp(uint16(i)))
		},
		func(i int) policy.Connection {
			return policy.Connection{Source: nthPeer(i), Destination: podAIP, Protocol: of.IPProtoTCP, DestinationPort: uint16(i)}
		},
	},
	{
		"on one Pod and one port",
		func(i int) *policy.Rule {
			return ingress(uint32(10+i), policyPodA, []netip.Prefix{host(nthPeer(i))}, tcp(80))
		},
		func(i int) policy.Connection {
			return policy.Connection{Source: nthPeer(i), Destination: podAIP, Protocol: of.IPProtoTCP, DestinationPort: 80}
		},
	},
	{
		"on one Pod and one address",
		func(i int) *policy.Rule {
			return egress(uint32(10+i), policyPodA, []netip.Prefix{host(remotePodIP)}, tcp(uint16(i)))
		},
		func(i int) policy.Connection {
			return policy.Connection{Source: podAIP, Destination: remotePodIP, Protocol: of.IPProtoTCP, DestinationPort: uint16(i)}
		},
	},
}

// opening returns the packet that opens the connection, as it enters the bridge.
func opening(c policy.Connection) string {
	var in string
	switch c.Source {
	case podAIP:
		in = fmt.Sprintf("in_port=%d,dl_src=%v", podAPort, podAMAC)
	case podBIP:
		in = fmt.Sprintf("in_port=%d,dl_src=%v", podBPort, podBMAC)
	default:
		in = fmt.Sprintf("in_port=%d,dl_src=0a:00:00:00:01:01", tunnelPort)
	}
	destination := gwMAC
	switch c.Destination {
	case podAIP:
		destination = podAMAC
	case podBIP:
		destination = podBMAC
	}
	packet := fmt.Sprintf("%s,%s,dl_dst=%v,nw_src=%v,nw_dst=%v,nw_ttl=64", protocolNames[c.Protocol], in, destination, c.Source, c.Destination)
	if c.Protocol != of.IPProtoICMP {
		packet += fmt.Sprintf(",%[1]s_src=33333,%[1]s_dst=%[2]d", protocolNames[c.Protocol], c.DestinationPort)
	}
	return packet
}

var protocolNames = map[uint8]string{of.IPProtoTCP: "tcp", of.IPProtoUDP: "udp", of.IPProtoSCTP: "sctp", of.IPProtoICMP: "icmp"}
