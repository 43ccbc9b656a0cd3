// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package services

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// Edit makes one to mostEdits changes to the World.
func (g *Generator) Edit() {
	for range 1 + g.rng.IntN(mostEdits) {
		slot := g.rng.IntN(slots)
		s := g.serviceAt(slot)
		switch n := g.rng.IntN(100); {
		case s == nil:
			g.create(slot)
		case n < 3:
			g.editZone()
		case n < 9:
			g.remove(s)
		case n < 25:
			g.remove(s)
			g.create(slot)
		case n < 55:
			g.editService(s, slot)
		default:
			g.editSlices(s)
		}
	}
}

// editZone moves a Node to another zone, or out of all.
func (g *Generator) editZone() {
	i := g.rng.IntN(len(g.world.Nodes))
	moved := *g.world.Nodes[i]
	moved.Zone = pick(g.rng, append([]string{""}, zones...))
	g.world.Nodes = slices.Clone(g.world.Nodes)
	g.world.Nodes[i] = &moved
}

// remove deletes a Service, and perhaps its EndpointSlices, which may be deleted later or get another Service with the name.
func (g *Generator) remove(s *corev1.Service) {
	g.world.Services = slices.DeleteFunc(slices.Clone(g.world.Services), func(other *corev1.Service) bool { return other == s })
	if g.chance(70) {
		g.dropSlices(s.Namespace, s.Name)
	}
}

// replace puts a copy in the place of an object, for which there is only one.
func replace[T comparable](list []T, old, edited T) []T {
	list = slices.Clone(list)
	list[slices.Index(list, old)] = edited
	return list
}

// editService changes one part of a Service.
func (g *Generator) editService(old *corev1.Service, slot int) {
	s := old.DeepCopy()
	g.world.Services = replace(g.world.Services, old, s)
	switch g.rng.IntN(8) {
	case 0:
		g.setPorts(s, slot)
		if g.chance(80) {
			for _, slice := range g.editableSlices(s) {
				g.setSlicePorts(s, slice)
			}
		}
	case 1:
		i := g.rng.IntN(len(s.Spec.Ports))
		s.Spec.Ports[i].Port = int32(81 + i)
	case 2, 3:
		g.setPolicies(s)
	case 4:
		g.setAffinity(s)
	case 5:
		g.setLabel(s)
	case 6:
		if s.Spec.Type != corev1.ServiceTypeExternalName {
			s.Spec.Type = pick(g.rng, []corev1.ServiceType{corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer})
			g.setPorts(s, slot)
			g.setExternalAddresses(s, slot)
		}
	default:
		g.setExternalAddresses(s, slot)
	}
}

// editableSlices puts copies in the places of a Service's EndpointSlices and returns these.
func (g *Generator) editableSlices(s *corev1.Service) (copies []*discoveryv1.EndpointSlice) {
	for _, slice := range g.slicesOf(s.Namespace, s.Name) {
		edited := slice.DeepCopy()
		g.world.Slices = replace(g.world.Slices, slice, edited)
		copies = append(copies, edited)
	}
	return copies
}

// editSlices changes the Endpoints of a Service.
func (g *Generator) editSlices(s *corev1.Service) {
	own := g.editableSlices(s)
	n := g.rng.IntN(10)
	if len(own) == 0 || n == 0 {
		g.addSlice(s, pick(g.rng, s.Spec.IPFamilies))
		return
	}
	slice := pick(g.rng, own)
	switch {
	case n == 1:
		g.world.Slices = slices.DeleteFunc(g.world.Slices, func(other *discoveryv1.EndpointSlice) bool { return other == slice })
	case n == 2:
		g.setSlicePorts(s, slice)
	case n == 3:
		edited := s.DeepCopy()
		g.world.Services = replace(g.world.Services, s, edited)
		g.setHints(edited)
	case n < 6 || len(slice.Endpoints) == 0:
		g.addEndpoint(s, slice)
	case n < 8:
		i := g.rng.IntN(len(slice.Endpoints))
		slice.Endpoints = slices.Delete(slice.Endpoints, i, i+1)
	default:
		e, conditions := pick(g.rng, slice.Endpoints), g.conditions()
		for _, other := range own {
			for i := range other.Endpoints {
				if other.Endpoints[i].Addresses[0] == e.Addresses[0] {
					other.Endpoints[i].Conditions = conditions
				}
			}
		}
	}
}
