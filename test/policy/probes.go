// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// service is the destination port of a probe.
type service struct {
	protocol corev1.Protocol
	port     uint16
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
		probes = append(probes, &Probe{From: from, To: to, IPv6: six, Protocol: s.protocol, Port: s.port, SourcePort: g.sourcePort(s.protocol)})
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

// clusterIPOf returns a Service that the Pod serves, in a third of the cases.
func (g *Generator) clusterIPOf(w *World, pod *Pod) *ClusterIP {
	for _, via := range w.ClusterIPs {
		if w.Pods[via.Place] == pod && g.chance(33) {
			return via
		}
	}
	return nil
}

// service returns a port that a policy names or one next to it, a named port of the destination, or a random one.
func (g *Generator) service(limits []service, to *Pod) service {
	if g.antrea && g.chance(8) {
		return service{ICMP, 0}
	}
	switch n := g.rng.IntN(10); {
	case n < 3 && len(limits) > 0:
		return pick(g.rng, limits)
	case n < 7:
		if ports := slices.Concat(to.Ports, to.SidecarPorts, to.InitPorts); len(ports) > 0 {
			port := pick(g.rng, ports)
			return service{port.Protocol, uint16(port.ContainerPort)}
		}
	}
	return service{pick(g.rng, protocols), pick(g.rng, numbers)}
}

// boundaries returns the first and last ports of the policies' ranges, and the ports before and after them; but for the port of DNS, where answers
// are read, and the one that Open vSwitch refuses.
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
			for _, number := range []int32{port.Port.IntVal - 1, port.Port.IntVal, last, last + 1} {
				if number > 0 && number <= 65535 && number != DNSPort && number != RefusedPort {
					limits = append(limits, service{protocol, uint16(number)})
				}
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
		for _, rule := range slices.Concat(p.spec.Ingress, p.spec.Egress) {
			for _, port := range rule.Ports {
				add([]networkingv1.NetworkPolicyPort{{Protocol: port.Protocol, Port: port.Port, EndPort: port.EndPort}})
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
