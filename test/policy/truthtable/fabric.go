// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/antrea-oncache/antrea/pkg/ovs/ovstest"
	"github.com/antrea-oncache/antrea/test/env/switchpair"
	"github.com/antrea-oncache/antrea/test/policy"
)

// fabric is two Nodes to which the Pods of a world are connected.
type fabric struct {
	*switchpair.Pair
	// last has the last trials of a run: conntrack knows their connections.
	last []*trial
	// queries is the number of queries of DNS so far.
	queries uint16
}

func newFabric(t ovstest.TB, world *policy.World) (*fabric, error) {
	pair, err := switchpair.New(t, places(world.Pods))
	return &fabric{Pair: pair}, err
}

// places returns where Pods are connected.
func places(pods []*policy.Pod) (all []switchpair.Place) {
	for _, p := range pods {
		all = append(all, switchpair.Place{Node: p.Node, IPv4: p.IPv4, IPv6: p.IPv6})
	}
	return all
}

// portsOf returns the ports at which a frame has arrived.
func portsOf(arrivals []switchpair.Arrival) (ports []*switchpair.Port) {
	for _, a := range arrivals {
		ports = append(ports, a.At)
	}
	return ports
}

func podKey(p *policy.Pod) string { return p.Namespace + "/" + p.Name }
