// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
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
