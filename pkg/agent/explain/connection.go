// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
)

// Connections are tracked by Open vSwitch.
type Connections interface {
	List(yield func(*conntrack.Connection) bool) error
}

// ends are the ends of a connection to the Service.
type ends struct{ client, server netip.AddrPort }

// openConnection is the state of a connection in conntrack and the cache.
type openConnection struct {
	tracked *conntrack.Connection
	flows   []api.FlowInfo
}

// connections describes the open connections of the client to the Service.
func (c *serviceCase) connections(excluded *api.Treatment) ([]api.ExplainedConnection, error) {
	open := map[ends]*openConnection{}
	at := func(e ends) *openConnection {
		if open[e] == nil {
			open[e] = &openConnection{}
		}
		return open[e]
	}
	err := c.explainer.Connections.List(func(conn *conntrack.Connection) bool {
		client, dialed, server := conn.Ends()
		if conn.Original.Protocol == c.protocol && client.Addr() == c.client && dialed == c.frontend.Address {
			at(ends{client, server}).tracked = conn
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	if err := c.addFlows(at); err != nil {
		return nil, err
	}
	var described []api.ExplainedConnection
	for e, o := range open {
		if c.clientPort != 0 && e.client.Port() != c.clientPort {
			continue
		}
		described = append(described, api.ExplainedConnection{
			Client: e.client.String(), Endpoint: e.server.String(), Flows: o.flows, Treatment: c.connectionTreatment(e, o, excluded),
		})
	}
	slices.SortFunc(described, func(a, b api.ExplainedConnection) int {
		return cmp.Or(cmp.Compare(a.Client, b.Client), cmp.Compare(a.Endpoint, b.Endpoint))
	})
	return described, nil
}

// addFlows adds the entries of the cache to the connections.
func (c *serviceCase) addFlows(at func(ends) *openConnection) error {
	if c.explainer.Cache == nil {
		return nil
	}
	flows, err := c.explainer.Cache.Flows(oncache.FlowFilter{Address: c.frontend.Address.Addr()})
	if err != nil {
		return err
	}
	dialed := c.frontend.Address.String()
	for _, f := range flows {
		// One direction has the Service as its destination, the other direction gets it as its source.
		client, server, service := f.Source, f.Translated, f.Destination
		if f.Translated == dialed {
			client, server, service = f.Destination, f.Source, f.Translated
		}
		clientAddress, err := netip.ParseAddrPort(client)
		serverAddress, errServer := netip.ParseAddrPort(server)
		// A flow of the address that is not translated is none of a Service.
		if err != nil || errServer != nil || f.Protocol != c.answer.Protocol || service != dialed || clientAddress.Addr() != c.client {
			continue
		}
		o := at(ends{clientAddress, serverAddress})
		o.flows = append(o.flows, f)
	}
	return nil
}

// connectionTreatment says which path the connection takes.
func (c *serviceCase) connectionTreatment(e ends, o *openConnection, excluded *api.Treatment) api.Treatment {
	switch {
	case o.tracked != nil && o.tracked.Mark&openflow.CutMark != 0:
		return api.Treatment{Path: api.PathDenied, Reason: api.ReasonPolicy, Detail: "the connection was cut"}
	case excluded != nil:
		return *excluded
	case len(o.flows) > 0:
		return c.cachedTreatment(o)
	}
	return c.uncachedTreatment(e.server, o.tracked)
}

// cachedTreatment is the treatment of a connection of which at least one direction is in the cache.
func (c *serviceCase) cachedTreatment(o *openConnection) api.Treatment {
	t := ofFlows(o.flows)
	switch {
	case len(o.flows) == 1 && o.flows[0].Peer != "":
		t.Detail = "only what " + o.flows[0].Pod + " sends is in the cache"
	case len(o.flows) == 1:
		t.Detail = "only the " + o.flows[0].Direction + " direction is in the cache"
	case o.tracked == nil:
		t.Detail = "conntrack has no entry any more: the next packet in Open vSwitch chooses an Endpoint again"
	}
	return t
}

// uncachedTreatment says why an open connection is not in the cache.
func (c *serviceCase) uncachedTreatment(server netip.AddrPort, conn *conntrack.Connection) api.Treatment {
	translated := openflow.IsServiceConnection(conn.Mark)
	switch {
	case !translated && c.found:
		return slow(api.ReasonKubeProxy, "Open vSwitch does not translate the connection, which is older than AntreaProxy's Service")
	case translated && !c.found:
		return slow("not_remote", "AntreaProxy does not have the Service any more")
	case translated && !openflow.PassedPolicies(conn.Mark):
		return slow("not_established", "policies have not let a packet of the connection pass")
	}
	if why := c.uncacheableServer(server); translated && why != nil {
		return *why
	}
	if openflow.TranslatesSource(conn.Mark) {
		return slow(api.ReasonSNAT, "Open vSwitch also translates the source")
	}
	if why := c.notAnnounced(); why != nil {
		return *why
	}
	if !conn.Established {
		return slow("not_established", "the Endpoint has not answered yet")
	}
	return c.explainer.notLearned(c.client)
}

// uncacheableServer is uncacheable for the Endpoint of a connection, which the Service may not have any more.
func (c *serviceCase) uncacheableServer(server netip.AddrPort) *api.Treatment {
	for _, e := range c.frontend.Endpoints {
		if e.Address == server {
			return c.uncacheable(server.Addr(), e.PodNetwork, e.OnThisNode)
		}
	}
	local := c.explainer.localPod(server.Addr()) != ""
	return c.uncacheable(server.Addr(), local || c.explainer.isRemote(server.Addr()), local)
}
