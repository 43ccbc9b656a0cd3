// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"net/netip"
	"slices"
	"sync"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow/flowstore"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// A packet for a port without Endpoints goes to the connections with the id ServiceRejectController. Its user data are one byte,
// ServiceRejectCategory. Both are Antrea's.
const (
	ServiceRejectController uint16 = 62373
	ServiceRejectCategory   byte   = 4
)

// Services is the feature that translates connections to Services. Its part of Client is in client.go.
//
// Only the first packets of a connection, until there is an answer, meet flows that depend on Services: conntrack translates later
// packets, and ConntrackState leads them past these flows. Therefore a change of a Service concerns no connection in ONCache's maps,
// and each change here is a coherency.Change that affects no flow: it only names addresses of Services.
type Services struct {
	socket *pipeline.Socket
	// cache has one object for each port, and one for each flow that ports share.
	cache *flowstore.Cache

	// mu protects state, which changes only within a change.
	mu    sync.Mutex
	state serviceState

	// groups, kept and nodePorts, the addresses that serve NodePorts, are protected by the changes.
	groups    serviceGroups
	kept      keptAffinities
	nodePorts []netip.Addr
}

func New(c *pipeline.Core) *Services {
	s := &Services{state: newServiceState(), groups: newServiceGroups()}
	s.socket = c.Register("Services", s)
	s.cache = s.socket.Cache("serviceObjects")
	s.socket.SetLearned(s.learnedAgain)
	return s
}

func (*Services) Tables(features pipeline.Features) []pipeline.TableSpec {
	if !features.AntreaProxy {
		return nil
	}
	specs := []pipeline.TableSpec{
		{Name: pipeline.TableUnSNAT, ID: 35, Stage: pipeline.StageConntrackState},
		{Name: pipeline.TablePreRoutingClassifier, ID: 50, Stage: pipeline.StagePreRouting},
		{Name: pipeline.TableSessionAffinity, ID: 60, Stage: pipeline.StagePreRouting, Miss: pipeline.MissToSelect},
		{Name: pipeline.TableServiceLB, ID: 65, Stage: pipeline.StagePreRouting},
		{Name: pipeline.TableEndpointDNAT, ID: 70, Stage: pipeline.StagePreRouting},
		{Name: pipeline.TableSNATMark, ID: 120, Stage: pipeline.StagePostRouting},
		{Name: pipeline.TableSNAT, ID: 125, Stage: pipeline.StagePostRouting},
	}
	if features.ProxyAll {
		specs = append(specs, pipeline.TableSpec{Name: pipeline.TableNodePortMark, ID: 55, Stage: pipeline.StagePreRouting})
	}
	return specs
}

// HasLearnedFlows reports whether the switch itself adds flows to the table, and removes them.
func HasLearnedFlows(table string) bool { return table == pipeline.TableSessionAffinity }

func (*Services) BaseFlows(g *pipeline.Generator) []of.Flow {
	if !g.Features.AntreaProxy {
		return continuedFlows(g)
	}
	flows := slices.Concat(selectionFlows(g), hairpinFlows(g))
	for _, f := range g.Families() {
		flows = slices.Concat(flows, translatedFlows(g, f), sourceTranslationFlows(g, f), nodePortFlows(g, f))
	}
	return flows
}

func (*Services) Meters(g *pipeline.Generator) []of.MeterEntry {
	if !g.Features.AntreaProxy {
		return nil
	}
	return g.PacketInMeters(pipeline.MeterServiceReject)
}
