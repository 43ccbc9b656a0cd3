// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package traceflow

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"k8s.io/utils/ptr"

	"github.com/antrea-oncache/antrea/pkg/agent/ippacket"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// Policies are the rules on the switch.
type Policies interface {
	Rules() []*policy.Rule
	RuleOwner(flowID uint32) (v1beta2.NetworkPolicyReference, bool)
}

// observer turns findings into observations.
type observer struct {
	policies Policies
	// gateway are the addresses of the Node's gateway.
	gateway []netip.Addr
	// isPeer reports whether an address is in the Pod network of another Node.
	isPeer func(netip.Addr) bool
	// node is this Node, and egressOf finds the Egress of an address of one of its Pods; nil if there are none.
	node     string
	egressOf func(pod netip.Addr) (Egress, bool)
}

// observe returns what this Node has done with the packet, in order.
func (o *observer) observe(f *finding) []v1beta1.Observation {
	var observations []v1beta1.Observation
	add := func(observation v1beta1.Observation) { observations = append(observations, observation) }
	if f.role == v1beta1.RoleSender {
		add(v1beta1.Observation{Component: v1beta1.ComponentSpoofGuard, Action: v1beta1.ActionForwarded, SrcPodIP: f.source.String()})
	} else {
		add(v1beta1.Observation{Component: v1beta1.ComponentForwarding, Action: v1beta1.ActionReceived})
	}
	if f.report.Outcome == openflow.TraceRejected {
		add(v1beta1.Observation{Component: v1beta1.ComponentLB, Action: v1beta1.ActionRejected})
		return observations
	}
	if f.report.Outcome == openflow.TraceUnserved {
		add(v1beta1.Observation{Component: v1beta1.ComponentLB, Action: v1beta1.ActionDropped})
		return observations
	}
	if f.original.IsValid() && f.original != f.packet.Dst {
		translated := v1beta1.Observation{Component: v1beta1.ComponentLB, Action: v1beta1.ActionForwarded, TranslatedDstIP: f.packet.Dst.String()}
		if f.source != f.packet.Src {
			translated.TranslatedSrcIP = f.packet.Src.String()
		}
		add(translated)
	}
	for _, direction := range []policy.Direction{policy.Egress, policy.Ingress} {
		if observation := o.policy(f, direction); observation != nil {
			add(*observation)
			if observation.Action.Ends() {
				return observations
			}
		}
	}
	if observation := o.egress(f); observation != nil {
		add(*observation)
	}
	add(o.output(f))
	return observations
}

// policy is the effect of the rules of one direction; nil if none concerns the packet.
func (o *observer) policy(f *finding, direction policy.Direction) *v1beta1.Observation {
	id := f.report.EgressFlowID
	if direction == policy.Ingress {
		id = f.report.IngressFlowID
	}
	observation := &v1beta1.Observation{Component: v1beta1.ComponentNetworkPolicy, Action: v1beta1.ActionForwarded}
	switch dropped := f.report.Outcome == openflow.TraceDropped && f.report.Direction() == direction; {
	case dropped && f.report.DeniedBy != 0:
		observation.Action, observation.ComponentInfo = v1beta1.ActionDropped, openflow.MetricTable(direction)
		if rule := o.name(observation, f.report.DeniedBy); rule != nil && rule.Effect.Action == policy.Reject {
			observation.Action = v1beta1.ActionRejected
		}
	case dropped:
		observation.Action, observation.ComponentInfo = v1beta1.ActionDropped, f.report.Table
		observation.IsolatedBy = o.appliedTo(f, direction)
	case id == 0:
		return nil
	default:
		stage := policy.StageKubernetes
		if rule := o.name(observation, id); rule != nil {
			stage = rule.Effect.Order.Stage
		}
		observation.ComponentInfo = openflow.RuleTable(stage, direction)
	}
	return observation
}

// name puts the names of a rule and its policy into the observation. It returns nil if the rule is no longer known.
func (o *observer) name(observation *v1beta1.Observation, id uint32) *policy.Rule {
	owner, ok := o.policies.RuleOwner(id)
	if !ok {
		return nil
	}
	observation.NetworkPolicy = owner.ToString()
	rules := o.policies.Rules()
	i := slices.IndexFunc(rules, func(r *policy.Rule) bool { return r.FlowID == id })
	if i < 0 {
		return nil
	}
	observation.NetworkPolicyRule = rules[i].Name
	return rules[i]
}

// appliedTo returns the policies that isolate the Pod that no rule allows to receive or send the packet.
func (o *observer) appliedTo(f *finding, direction policy.Direction) (names []string) {
	connection := policy.Connection{Source: f.packet.Src, Destination: f.packet.Dst, Protocol: f.packet.Protocol}
	_, connection.DestinationPort, _ = f.packet.Ports()
	for _, rule := range o.policies.Rules() {
		if !policy.Evaluate([]*policy.Rule{rule}, direction, connection).Isolated {
			continue
		}
		if owner, ok := o.policies.RuleOwner(rule.FlowID); ok && !slices.Contains(names, owner.ToString()) {
			names = append(names, owner.ToString())
		}
	}
	slices.Sort(names)
	return names
}

// output is the exit of the packet.
func (o *observer) output(f *finding) v1beta1.Observation {
	observation := v1beta1.Observation{Component: v1beta1.ComponentForwarding, ComponentInfo: "Output", Action: v1beta1.ActionDelivered, TTL: int32(ttlOf(f.packet))}
	switch r := &f.report; {
	case r.ToTunnel:
		observation.Action, observation.TunnelDstIP = v1beta1.ActionForwarded, r.TunnelDst.String()
	case r.ToGateway && o.isPeer(f.packet.Dst):
		observation.Action = v1beta1.ActionForwarded
	case r.ToGateway && !slices.Contains(o.gateway, f.packet.Dst):
		observation.Action = v1beta1.ActionForwardedOutOfNetwork
	}
	return observation
}

func ttlOf(p *ippacket.Packet) uint8 {
	if p.Src.Is4() {
		return p.IP[8]
	}
	return p.IP[7]
}

// capture describes a packet of live traffic as it was sent: routing, which may have followed, has decremented the TTL.
func capture(s seenPacket) *v1beta1.Packet {
	p := s.packet
	ttl := int32(ttlOf(p))
	if s.report.HasSeen(openflow.TableL3DecTTL) && ttl < 255 {
		ttl++
	}
	c := &v1beta1.Packet{SrcIP: p.Src.String(), DstIP: p.Dst.String(), Length: int32(len(p.IP))}
	if p.Src.Is4() {
		c.IPHeader = &v1beta1.IPHeader{Protocol: int32(p.Protocol), TTL: ttl, Flags: int32(p.IP[6] >> 5)}
	} else {
		c.IPv6Header = &v1beta1.IPv6Header{NextHeader: ptr.To(int32(p.Protocol)), HopLimit: ttl}
	}
	src, dst, _ := p.Ports()
	switch {
	case p.Protocol == ippacket.TCP && len(p.Transport) >= 14:
		c.TransportHeader.TCP = &v1beta1.TCPHeader{SrcPort: int32(src), DstPort: int32(dst), Flags: ptr.To(int32(p.Transport[13]))}
	case p.Protocol == ippacket.UDP:
		c.TransportHeader.UDP = &v1beta1.UDPHeader{SrcPort: int32(src), DstPort: int32(dst)}
	case (p.Protocol == ippacket.ICMP || p.Protocol == ippacket.ICMPv6) && len(p.Transport) >= 8:
		c.TransportHeader.ICMP = &v1beta1.ICMPEchoRequestHeader{
			ID: int32(binary.BigEndian.Uint16(p.Transport[4:])), Sequence: int32(binary.BigEndian.Uint16(p.Transport[6:])),
		}
	}
	return c
}
