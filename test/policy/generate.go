// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"maps"
	"math/rand/v2"

	crd "github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// The size of a World.
const (
	namespaces       = 3
	podsPerNamespace = 4
	nodes            = 2
	maxPolicies      = 6
)

// Generator makes a sequence of Worlds. The places of Pods, each a Node and addresses, stay; labels and policies change.
type Generator struct {
	rng *rand.Rand
	set int
	// turnover is described at NewGeneratorWithTurnover; last is the previous World.
	turnover bool
	last     *World
	// antrea is described at NewAntreaGenerator; ruleNumber is for the names of rules, placed has the places that policies of this World got.
	antrea     bool
	ruleNumber int
	placed     []crd.NetworkPolicySpec
	// nodePorts is nil without NodePorts.
	nodePorts *nodePortGenerator
}

// NewGenerator makes a Generator: the same random numbers make the same Worlds. Pods stay the same except for their labels, and each
// World has policies of its own.
func NewGenerator(rng *rand.Rand) *Generator { return &Generator{rng: rng} }

// NewGeneratorWithTurnover makes a Generator with more change from World to World: Pods end and others take their places, with
// ports of their own; policies are edited; and there are Pods in the network of their Node.
func NewGeneratorWithTurnover(rng *rand.Rand) *Generator { return &Generator{rng: rng, turnover: true} }

// Follow makes the next World one that follows w instead of the last one that Next made.
func (g *Generator) Follow(w *World) { g.last = w }

// Next makes a World.
func (g *Generator) Next() *World {
	g.set++
	w := &World{Namespaces: map[string]map[string]string{}}
	for n := range namespaces {
		w.Namespaces[namespaceName(n)] = g.labels("team", "red", "blue", "")
		if g.antrea {
			maps.Copy(w.Namespaces[namespaceName(n)], g.labels("env", "prod", "prod", "prod", "dev"))
		}
	}
	for i := range namespaces * podsPerNamespace {
		w.Pods = append(w.Pods, g.pod(i))
	}
	if g.turnover {
		g.turnPods(w)
	}
	if g.still() {
		w.Namespaces, w.Pods, w.Hosts, w.Ended = g.last.Namespaces, g.last.Pods, g.last.Hosts, g.last.Ended
	}
	if w.Policies = g.policies(); g.crowded() {
		w.Policies = w.Policies[:min(1, len(w.Policies))]
	}
	if g.antrea {
		g.addAntrea(w)
	}
	g.last = w
	return w
}

func namespaceName(n int) string { return fmt.Sprint("ns", n) }

func pick[T any](rng *rand.Rand, from []T) T { return from[rng.IntN(len(from))] }

func (g *Generator) chance(percent int) bool { return g.rng.IntN(100) < percent }

// labels returns the key with one of the values, or no label.
func (g *Generator) labels(key string, values ...string) map[string]string {
	if g.chance(25) {
		return map[string]string{}
	}
	return map[string]string{key: pick(g.rng, values)}
}
