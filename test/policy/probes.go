// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	crd "github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// service is the destination port of a probe, and its source port, 0 for any.
type service struct {
	protocol     corev1.Protocol
	port, source uint16
}

// Probes returns probes between all ordered pairs of Pods, one or two ports with a protocol for each IP version, and one in each direction
// between a Pod and a Pod in the network of another Node. The Pod's own Node is left out: its traffic to the Pod is always allowed (its
// firewall marks it), and the specification leaves open whether the Pod's traffic to it is.
func (g *Generator) Probes(w *World) []*Probe {
	var probes []*Probe
	limits := boundaries(w)
	add := func(from, to *Pod, six bool) {
		if via := g.clusterIPOf(w, to); via != nil && !from.HostNetwork {
			probes = append(probes, &Probe{From: from, To: to, IPv6: six, Protocol: via.Protocol, Port: via.TargetPort, Via: via}) // with a source port of its own
			return
		}
		s := g.service(limits, to)
		probes = append(probes, &Probe{From: from, To: to, IPv6: six, Protocol: s.protocol, Port: s.port, SourcePort: cmp.Or(s.source, g.sourcePort(s.protocol))})
	}
	for _, from := range w.Pods {
		for _, to := range w.Pods {
			if from == to {
				continue // A Pod reaches itself without leaving it.
			}
			for _, six := range []bool{false, true} {
				add(from, to, six)
				if g.chance(60) {
					add(from, to, six)
				}
			}
		}
		for _, host := range w.Hosts {
			if host.Node == from.Node {
				continue
			}
			six := g.chance(50)
			add(host, from, six)
			add(from, host, six)
		}
	}
	if g.nodePorts != nil {
		probes = append(probes, g.nodePorts.probes(w)...)
	}
	return probes
}

// clusterIPOf returns a Service that the Pod serves, in almost half of the cases.
func (g *Generator) clusterIPOf(w *World, pod *Pod) *ClusterIP {
	for _, via := range w.ClusterIPs {
		if w.Pods[via.Place] == pod && g.chance(45) {
			return via
		}
	}
	return nil
}

// service returns a port that a policy names or one next to it, a named port of the destination, or a random one.
func (g *Generator) service(limits []service, to *Pod) service {
	if g.antrea && g.chance(10) {
		return service{protocol: ICMP}
	}
	switch n := g.rng.IntN(10); {
	case n < 3 && len(limits) > 0:
		return pick(g.rng, limits)
	case n < 7:
		if ports := slices.Concat(to.Ports, to.SidecarPorts, to.InitPorts); len(ports) > 0 {
			port := pick(g.rng, ports)
			return service{protocol: port.Protocol, port: uint16(port.ContainerPort)}
		}
	}
	return service{protocol: pick(g.rng, protocols), port: pick(g.rng, numbers)}
}

// boundaries returns the first and last ports of the policies' ranges, and the ports before and after them; but for the port of DNS, where answers
// are read, and the one that Open vSwitch refuses. For rules with codes of ICMP it returns echo requests.
func boundaries(w *World) []service {
	var limits []service
	add := func(ports []networkingv1.NetworkPolicyPort) {
		for _, port := range ports {
			if port.Port == nil || port.Port.Type != intstr.Int {
				continue
			}
			protocol := corev1.ProtocolTCP
			if port.Protocol != nil {
				protocol = *port.Protocol
			}
			last := port.Port.IntVal
			if port.EndPort != nil {
				last = *port.EndPort
			}
			for _, number := range around(port.Port.IntVal, last) {
				limits = append(limits, service{protocol: protocol, port: number})
			}
		}
	}
	for _, p := range w.AdminPolicies {
		p.limits(func(protocol corev1.Protocol, first, last int32) {
			port := intstr.FromInt32(first)
			add([]networkingv1.NetworkPolicyPort{{Protocol: &protocol, Port: &port, EndPort: &last}})
		})
	}
	for _, p := range w.antreaPolicies() {
		if IsOfServices(p.spec) {
			continue // Probes of NodePorts have the Services' ports.
		}
		for _, rule := range slices.Concat(p.spec.Ingress, p.spec.Egress) {
			for _, port := range rule.Ports {
				add([]networkingv1.NetworkPolicyPort{{Protocol: port.Protocol, Port: port.Port, EndPort: port.EndPort}})
				limits = append(limits, sourceBoundaries(&port)...)
			}
			for _, protocol := range rule.Protocols {
				if protocol.ICMP != nil && protocol.ICMP.ICMPCode != nil {
					limits = append(limits, slices.Repeat([]service{{protocol: ICMP}}, 4)...)
				}
			}
		}
	}
	for _, p := range w.Policies {
		for _, rule := range p.Spec.Ingress {
			add(rule.Ports)
		}
		for _, rule := range p.Spec.Egress {
			add(rule.Ports)
		}
	}
	return limits
}

// around returns the ends of a range and the ports next to it that probes may have.
func around(first, last int32) (ports []uint16) {
	for _, number := range []int32{first - 1, first, last, last + 1} {
		if number > 0 && number <= 65535 && number != DNSPort && number != RefusedPort {
			ports = append(ports, uint16(number))
		}
	}
	return ports
}

// sourceBoundaries returns connections to a port of a rule, or any, from its first and last source ports and from those next to them; none if the
// rule has no source ports or names the port.
func sourceBoundaries(port *crd.NetworkPolicyPort) (limits []service) {
	to := ptr.Deref(port.Port, intstr.FromInt32(int32(numbers[0])))
	if port.SourcePort == nil || to.Type != intstr.Int {
		return nil
	}
	for _, source := range around(*port.SourcePort, ptr.Deref(port.SourceEndPort, *port.SourcePort)) {
		limits = append(limits, service{ptr.Deref(port.Protocol, corev1.ProtocolTCP), uint16(to.IntVal), source})
	}
	return limits
}
