// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package flowexporter

import (
	"net/netip"
	"slices"

	"github.com/vmware/go-ipfix/pkg/registry"
	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
	"github.com/antrea-oncache/antrea/pkg/agent/flowexporter/flows"
	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
)

// Values of the information element flowType.
const (
	intraNode    = 1
	interNode    = 2
	toExternal   = 3
	fromExternal = 4
)

// policyTypes are the values of the information element ingressNetworkPolicyType.
var policyTypes = map[v1beta2.NetworkPolicyType]uint8{
	v1beta2.K8sNetworkPolicy: registry.PolicyTypeK8sNetworkPolicy, v1beta2.AntreaNetworkPolicy: registry.PolicyTypeAntreaNetworkPolicy,
	v1beta2.AntreaClusterNetworkPolicy: registry.PolicyTypeAntreaClusterNetworkPolicy,
}

// Describer finds the names of what connections concern.
type Describer struct {
	Node       string
	Interfaces interface {
		GetInterfaceByIP(ip netip.Addr) (*interfacestore.InterfaceConfig, bool)
	}
	// PodNetworks are the Pod networks of all Nodes.
	PodNetworks func() []netip.Prefix
	// Rules are the sources of policies by the flow ids of their rules.
	Rules func() map[uint32]v1beta2.NetworkPolicyReference
	// RuleNames are the names of rules by flow id, of rules that have one.
	RuleNames func() map[uint32]string
	// ServicePort returns the name of a Service's port, NAMESPACE/NAME:PORT, by an address at which it is reached; empty if there is none.
	// It is nil without AntreaProxy.
	ServicePort func(protocol corev1.Protocol, address netip.AddrPort) string
	// Egresses returns what finds the Egress of a local Pod's connections to a destination outside the cluster. It is nil without the feature.
	Egresses func() func(pod, destination netip.Addr) flows.Egress
	// Protocols are the IP protocols of connections that are described; none means all.
	Protocols []uint8
}

// Begin returns what describes the connections of one reading.
func (d *Describer) Begin() flows.Describe {
	networks, rules, names := d.PodNetworks(), d.Rules(), d.RuleNames()
	admitted := func(id uint32) flows.Policy {
		p := policy(rules[id])
		if p.Name != "" {
			p.Action, p.Rule = registry.NetworkPolicyRuleActionAllow, names[id]
		}
		return p
	}
	egress := func(_, _ netip.Addr) flows.Egress { return flows.Egress{} }
	if d.Egresses != nil {
		egress = d.Egresses()
	}
	isPod := func(addr netip.Addr) bool {
		return slices.ContainsFunc(networks, func(network netip.Prefix) bool { return network.Contains(addr) })
	}
	return func(c *conntrack.Connection) (info flows.Info, ok bool) {
		if len(d.Protocols) > 0 && !slices.Contains(d.Protocols, c.Original.Protocol) {
			return info, false
		}
		client, dialed, server := c.Ends()
		var from, to bool
		info.Source, from = d.pod(client.Addr())
		info.Destination, to = d.pod(server.Addr())
		if from {
			info.SourceNode = d.Node
		}
		if to {
			info.DestinationNode = d.Node
		}
		info.FlowType = flowType(from, to, from || d.isRemotePod(client.Addr(), isPod), to || d.isRemotePod(server.Addr(), isPod))
		if from && info.FlowType == toExternal {
			info.SNAT = egress(client.Addr(), server.Addr())
		}
		if dialed != server && d.ServicePort != nil {
			info.ServicePortName = d.ServicePort(protocolNames[c.Original.Protocol], dialed)
		}
		// The label names the rules that have admitted the connection: ingress in the lower half, egress in the upper
		// half.
		info.Ingress, info.Egress = admitted(uint32(c.Labels[0])), admitted(uint32(c.Labels[0]>>32))
		return info, from || to
	}
}

var protocolNames = map[uint8]corev1.Protocol{6: corev1.ProtocolTCP, 17: corev1.ProtocolUDP, 132: corev1.ProtocolSCTP}

func (d *Describer) pod(addr netip.Addr) (pod flows.Pod, ok bool) {
	i, ok := d.Interfaces.GetInterfaceByIP(addr)
	if !ok || i.Type != interfacestore.ContainerInterface {
		return pod, false
	}
	return flows.Pod{Namespace: i.PodNamespace, Name: i.PodName}, true
}

// isRemotePod reports whether the address, which does not belong to a local Pod, is in a Pod network and not this
// Node's gateway.
func (d *Describer) isRemotePod(addr netip.Addr, isPod func(netip.Addr) bool) bool {
	_, own := d.Interfaces.GetInterfaceByIP(addr)
	return isPod(addr) && !own
}

func flowType(fromLocal, toLocal, fromPod, toPod bool) uint8 {
	switch {
	case fromLocal && toLocal:
		return intraNode
	case fromPod && toPod:
		return interNode
	case fromPod:
		return toExternal
	}
	return fromExternal
}

// Rule returns the policy of the rule with the flow id; the zero value for others.
func (d *Describer) Rule(id uint32) flows.Policy { return policy(d.Rules()[id]) }

func policy(ref v1beta2.NetworkPolicyReference) flows.Policy {
	return flows.Policy{Type: policyTypes[ref.Type], Namespace: ref.Namespace, Name: ref.Name, UID: string(ref.UID)}
}
