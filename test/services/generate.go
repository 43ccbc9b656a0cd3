// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package services

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// The size of a World.
const (
	nodes       = 2
	podsPerNode = 3
	// slots are the places for Services: each has names and cluster IPs of its own, and may be empty.
	slots = 7
	// mostEdits are made between two Worlds.
	mostEdits = 6
)

// ProxyName is the value of the label service.kubernetes.io/service-proxy-name that some agents ask for.
const ProxyName = "mine"

// Generator makes a sequence of Worlds. Nodes, except for their zones, and Pods stay; Services and EndpointSlices change.
type Generator struct {
	rng *rand.Rand
	// serial counts Services; it is the time at which one is created.
	serial int
	world  *World
}

// NewGenerator makes a Generator: the same random numbers make the same Worlds.
func NewGenerator(rng *rand.Rand) *Generator {
	g := &Generator{rng: rng, world: &World{}}
	for n := byte(1); n <= nodes; n++ {
		g.world.Nodes = append(g.world.Nodes, newNode(n))
		for p := byte(1); p <= podsPerNode; p++ {
			g.world.Pods = append(g.world.Pods, &Pod{
				Name: fmt.Sprintf("pod-%d-%d", n, p), Node: nodeName(n),
				IPv4: netip.AddrFrom4([4]byte{10, 10, n, 10 + p}), IPv6: netip.MustParseAddr(fmt.Sprintf("fd00:10:10:%d::%x", n, 10+p)),
			})
		}
	}
	g.world.Settings = g.settings()
	for slot := range slots {
		if g.chance(85) {
			g.create(slot)
		}
	}
	return g
}

func nodeName(n byte) string { return fmt.Sprint("node-", n) }

func newNode(n byte) *Node {
	return &Node{
		Name: nodeName(n), Zone: zones[n-1],
		Addresses:   []netip.Addr{netip.AddrFrom4([4]byte{192, 168, 77, n}), netip.MustParseAddr(fmt.Sprintf("fd00:192:168:77::%d", n))},
		Gateways:    []netip.Addr{netip.AddrFrom4([4]byte{10, 10, n, 1}), netip.MustParseAddr(fmt.Sprintf("fd00:10:10:%d::1", n))},
		PodNetworks: []netip.Prefix{netip.MustParsePrefix(fmt.Sprintf("10.10.%d.0/24", n)), netip.MustParsePrefix(fmt.Sprintf("fd00:10:10:%d::/64", n))},
	}
}

var zones = []string{"a", "b"}

// World returns the current World, which later changes leave alone.
func (g *Generator) World() *World {
	w := *g.world
	w.Nodes, w.Services, w.Slices = slices.Clone(w.Nodes), slices.Clone(w.Services), slices.Clone(w.Slices)
	return &w
}

// settings makes a configuration for the agents.
func (g *Generator) settings() Settings {
	s := Settings{ProxyAll: g.chance(65), LoadBalancerIPs: g.chance(85), NodeHints: g.chance(65)}
	if g.chance(10) {
		s.ServiceProxyName = ProxyName
	}
	if g.chance(30) {
		s.SkipServices = append(s.SkipServices, pick(g.rng, []string{namespaceOf(2) + "/" + serviceName(2), clusterIPs(4)[0], clusterIPs(5)[1]}))
	}
	return s
}

// Reconfigure changes the agents' configuration, and reports whether it is another one.
func (g *Generator) Reconfigure() bool {
	if g.chance(30) {
		return false
	}
	g.world.Settings = g.settings()
	return true
}

func pick[T any](rng *rand.Rand, from []T) T { return from[rng.IntN(len(from))] }

func (g *Generator) chance(percent int) bool { return g.rng.IntN(100) < percent }

func (g *Generator) addSeconds() int {
	g.serial++
	return g.serial
}

// serviceAt returns the Service in a slot, or nil.
func (g *Generator) serviceAt(slot int) *corev1.Service {
	for _, s := range g.world.Services {
		if s.Name == serviceName(slot) {
			return s
		}
	}
	return nil
}
