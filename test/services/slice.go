// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package services

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// candidate is an address that may be an Endpoint.
type candidate struct{ ipv4, ipv6, node string }

// candidates are Pods, Nodes, addresses outside the cluster, and what no Endpoint may be.
func (g *Generator) candidates() (good, bad []candidate) {
	for _, p := range g.world.Pods {
		good = append(good, candidate{p.IPv4.String(), p.IPv6.String(), p.Node})
	}
	for _, n := range g.world.Nodes {
		good = append(good, candidate{n.Addresses[0].String(), n.Addresses[1].String(), n.Name})
	}
	for i := range 2 {
		good = append(good, candidate{fmt.Sprint("192.0.2.", 50+i), fmt.Sprintf("2001:db8:2::%d", 50+i), ""})
	}
	bad = []candidate{{"127.0.0.1", "::1", ""}, {"169.254.1.1", "fe80::1", ""}, {clusterIPv4(0, 1), clusterIPv6(0, 1), ""}}
	return good, bad
}

// slicesOf returns the EndpointSlices of a Service, also of one that is gone.
func (g *Generator) slicesOf(namespace, name string) (own []*discoveryv1.EndpointSlice) {
	for _, slice := range g.world.Slices {
		if slice.Namespace == namespace && slice.Labels[discoveryv1.LabelServiceName] == name {
			own = append(own, slice)
		}
	}
	return own
}

// setSlices replaces the EndpointSlices of a Service.
func (g *Generator) setSlices(s *corev1.Service) {
	g.dropSlices(s.Namespace, s.Name)
	for _, version := range s.Spec.IPFamilies {
		for range pick(g.rng, []int{0, 1, 1, 1, 2, 2}) {
			g.addSlice(s, version)
		}
	}
	g.setHints(s)
}

func (g *Generator) dropSlices(namespace, name string) {
	own := g.slicesOf(namespace, name)
	g.world.Slices = slices.DeleteFunc(slices.Clone(g.world.Slices), func(slice *discoveryv1.EndpointSlice) bool { return slices.Contains(own, slice) })
}

// addSlice adds an EndpointSlice to a Service.
func (g *Generator) addSlice(s *corev1.Service, version corev1.IPFamily) {
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: s.Namespace, Name: fmt.Sprint(s.Name, "-", g.addSeconds()), Labels: map[string]string{discoveryv1.LabelServiceName: s.Name}},
		AddressType: discoveryv1.AddressType(version),
	}
	g.setSlicePorts(s, slice)
	g.world.Slices = append(g.world.Slices, slice)
	for range pick(g.rng, []int{0, 1, 2, 2, 3, 4}) {
		g.addEndpoint(s, slice)
	}
}

// setSlicePorts gives an EndpointSlice the ports of its Service, with target ports of its own. A Pod need not have all named ports.
func (g *Generator) setSlicePorts(s *corev1.Service, slice *discoveryv1.EndpointSlice) {
	slice.Ports = nil
	for i, port := range s.Spec.Ports {
		if len(s.Spec.Ports) > 1 && g.chance(10) {
			continue
		}
		number := int32(8080 + 10*i + g.rng.IntN(3))
		slice.Ports = append(slice.Ports, discoveryv1.EndpointPort{Name: ptr.To(port.Name), Protocol: ptr.To(port.Protocol), Port: &number})
	}
}

// addEndpoint adds an Endpoint that the EndpointSlice does not have. An address has the same conditions in all EndpointSlices of a Service:
// what counts otherwise is open.
func (g *Generator) addEndpoint(s *corev1.Service, slice *discoveryv1.EndpointSlice) {
	good, bad := g.candidates()
	from := pick(g.rng, good)
	if g.chance(4) {
		from = pick(g.rng, bad)
	}
	e := discoveryv1.Endpoint{Addresses: []string{from.ipv4}}
	if slice.AddressType == discoveryv1.AddressTypeIPv6 {
		e.Addresses[0] = from.ipv6
	}
	if from.node != "" {
		e.NodeName = ptr.To(from.node)
	}
	e.Conditions, e.Hints = g.conditions(), g.hints(valueOr(s.Spec.TrafficDistribution, ""), &e)
	for _, other := range g.slicesOf(s.Namespace, s.Name) {
		for i := range other.Endpoints {
			if other.Endpoints[i].Addresses[0] != e.Addresses[0] {
				continue
			}
			if other == slice {
				return
			}
			e = *other.Endpoints[i].DeepCopy()
		}
	}
	slice.Endpoints = append(slice.Endpoints, e)
}

// conditions returns the conditions of an Endpoint: ready (two thirds), not ready, or terminating.
func (g *Generator) conditions() discoveryv1.EndpointConditions {
	yes, no := true, false
	return pick(g.rng, []discoveryv1.EndpointConditions{
		{}, {}, {}, {Ready: &yes}, {Ready: &yes}, {Ready: &yes}, {Ready: &yes}, {Ready: &yes, Serving: &yes, Terminating: &no}, {Ready: &yes, Serving: &yes}, {Ready: &yes, Terminating: &no},
		{Ready: &no, Serving: &no}, {Ready: &no, Serving: &no, Terminating: &no},
		{Ready: &no, Serving: &yes, Terminating: &yes}, {Ready: &no, Terminating: &yes}, {Ready: &no, Serving: &no, Terminating: &yes},
	})
}

// setHints gives the Endpoints of a Service hints for zones, for zones and Nodes, or none, as the EndpointSlice controller does for
// trafficDistribution. Sometimes one lacks them, as in a transition.
func (g *Generator) setHints(s *corev1.Service) {
	mode := pick(g.rng, []string{"", "", corev1.ServiceTrafficDistributionPreferSameZone, corev1.ServiceTrafficDistributionPreferSameNode})
	s.Spec.TrafficDistribution = nil
	if mode != "" {
		s.Spec.TrafficDistribution = &mode
	}
	hints := map[string]*discoveryv1.EndpointHints{}
	for _, slice := range g.slicesOf(s.Namespace, s.Name) {
		for i := range slice.Endpoints {
			e := &slice.Endpoints[i]
			if _, known := hints[e.Addresses[0]]; !known {
				hints[e.Addresses[0]] = g.hints(mode, e)
			}
			e.Hints = hints[e.Addresses[0]].DeepCopy()
		}
	}
}

func (g *Generator) hints(mode string, e *discoveryv1.Endpoint) *discoveryv1.EndpointHints {
	if mode == "" || g.chance(15) {
		return nil
	}
	hints := &discoveryv1.EndpointHints{ForZones: []discoveryv1.ForZone{{Name: pick(g.rng, zones)}}}
	if g.chance(10) {
		hints.ForZones = []discoveryv1.ForZone{{Name: zones[0]}, {Name: zones[1]}}
	}
	if mode == corev1.ServiceTrafficDistributionPreferSameNode {
		hints.ForNodes = []discoveryv1.ForNode{{Name: valueOr(e.NodeName, pick(g.rng, g.world.Nodes).Name)}}
	}
	return hints
}
