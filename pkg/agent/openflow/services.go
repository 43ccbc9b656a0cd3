// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"net/netip"
	"slices"
	"sync"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow/flowstore"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// A packet for a port without Endpoints goes to the connections with the id ServiceRejectController. Its user data are one byte,
// ServiceRejectCategory. Both are Antrea's.
const (
	ServiceRejectController uint16 = 62373
	ServiceRejectCategory   byte   = 4
)

// services is the feature that translates connections to Services. Its part of Client is in service_client.go.
//
// Only the first packets of a connection, until there is an answer, meet flows that depend on Services: later ones are translated by
// conntrack, and ConntrackState leads them past all of them. Therefore a change of a Service concerns no connection that ONCache
// has in its maps, and each change here is a coherency.Change that affects no flow: it only says which addresses Services have.
type services struct {
	socket *socket
	// cache has one object for each port, and one for each flow that ports share.
	cache *flowstore.Cache

	// mu protects state, which changes only within a change.
	mu    sync.Mutex
	state serviceState

	// kept and nodePorts, the addresses that serve NodePorts, are protected by the changes.
	kept      keptAffinities
	nodePorts []netip.Addr
}

func newServices(c *core) *services {
	s := &services{state: newServiceState()}
	s.socket = c.register("Services", s)
	s.cache = s.socket.cache("serviceObjects")
	s.socket.setLearned(s.learnedAgain)
	return s
}

func (*services) tables(features Features) []tableSpec {
	if !features.AntreaProxy {
		return nil
	}
	specs := []tableSpec{
		{name: tableUnSNAT, stage: stageConntrackState, before: tableConntrackZone},
		{name: tablePreRoutingClassifier, stage: stagePreRouting},
		{name: tableSessionAffinity, stage: stagePreRouting, miss: missToSelect},
		{name: tableServiceLB, stage: stagePreRouting},
		{name: tableEndpointDNAT, stage: stagePreRouting},
		{name: tableSNATMark, stage: stagePostRouting},
		{name: tableSNAT, stage: stagePostRouting},
	}
	if features.ProxyAll {
		specs = append(specs, tableSpec{name: tableNodePortMark, stage: stagePreRouting, before: tableSessionAffinity})
	}
	return specs
}

// HasLearnedFlows tells whether the switch itself adds flows to the table, and removes them.
func HasLearnedFlows(table string) bool { return table == tableSessionAffinity }

func (*services) baseFlows(g *generator) []of.Flow {
	if !g.features.AntreaProxy {
		return continuedFlows(g)
	}
	flows := slices.Concat(selectionFlows(g), hairpinFlows(g))
	for _, f := range g.families() {
		flows = slices.Concat(flows, translatedFlows(g, f), sourceTranslationFlows(g, f), nodePortFlows(g, f))
	}
	return flows
}

func (*services) meters(g *generator) []of.MeterEntry {
	if !g.features.AntreaProxy {
		return nil
	}
	return g.packetInMeters(meterServiceReject)
}
