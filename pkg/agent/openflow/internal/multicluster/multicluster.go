// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package multicluster

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/flowstore"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// MulticlusterClient is the part of Client for other clusters. It needs Features.Multicluster.
type MulticlusterClient interface {
	// SetClusters replaces the ways to all other clusters in one atomic bundle. gateway is the source of new connections to them, and with
	// Features.MulticlusterWireGuard the destination of their tunnel packets, if this Node is the cluster's gateway Node, otherwise it is not valid. All addresses are of IPv4. An error leaves the former ways.
	SetClusters(gateway netip.Addr, clusters []Cluster) error
}

// Cluster is another cluster and the way to it.
type Cluster struct {
	Name string
	// Networks are its destinations. No two clusters have overlapping ones, and none overlaps a Pod network of this Node.
	Networks []netip.Prefix
	// Gateway is the source of connections that come from there. No other cluster has it. It is in no network, except with
	// Features.MulticlusterWireGuard: then it is in one of the cluster's, and also the source of the tunnel packets from there.
	Gateway netip.Addr
	// Peer is the Node at the other end of the tunnel: Gateway on the gateway Node, and on other Nodes the gateway Node's address. If it is not
	// valid, there is no way, and packets to the cluster are dropped.
	Peer netip.Addr
}

// Multicluster is the feature. Its methods may be called concurrently.
type Multicluster struct {
	socket *pipeline.Socket
	cache  *flowstore.Cache
}

// object names all flows in the flow cache: they change together.
const object = "clusters"

// New registers the feature.
func New(c *pipeline.Core) *Multicluster {
	m := &Multicluster{}
	m.socket = c.Register("Multicluster", m)
	m.cache = m.socket.Cache("other clusters")
	return m
}

func (*Multicluster) Tables(pipeline.Features) []pipeline.TableSpec { return nil }

// BaseFlows map the MAC address to the tunnel, and lead packets with it past the mark flows of ONCache. If packets between clusters are encrypted, packets with the
// address from the tunnel are dropped on every Node. This flow replaces the one with which an agent without encryption admitted them.
func (*Multicluster) BaseFlows(g *pipeline.Generator) (flows []of.Flow) {
	if !g.Features.Multicluster {
		return nil
	}
	virtual := of.EthDst(config.MulticlusterMAC)
	flows = append(flows, g.Flow(pipeline.CookieMulticluster, pipeline.TableL2ForwardingCalc, pipeline.PriorityNormal, pipeline.Matches(virtual),
		pipeline.TargetOFPortField.Is(g.Node.TunnelOFPort).Load(), pipeline.OutputToPort.Load(), g.ToNext(pipeline.TableL2ForwardingCalc)))
	if g.Features.MulticlusterWireGuard {
		flows = append(flows, g.Flow(pipeline.CookieMulticluster, pipeline.TableClassifier, pipeline.PriorityHigh, pipeline.Matches(of.InPort(g.Node.TunnelOFPort), virtual)))
	}
	if g.Features.ONCache {
		flows = append(flows, g.Flow(pipeline.CookieMulticluster, pipeline.TableONCacheMark, pipeline.PriorityHigh, pipeline.Matches(virtual), g.ToNext(pipeline.TableONCacheMark)))
	}
	return flows
}

func (m *Multicluster) SetClusters(gateway netip.Addr, clusters []Cluster) error {
	if err := validate(gateway, clusters); err != nil {
		return err
	}
	return m.socket.Change(func(t pipeline.Turn) error {
		f, err := check(t.G, clusters)
		if err != nil {
			return err
		}
		plan := m.cache.Plan(object, flowsOf(t.G, f, gateway, clusters))
		if plan.Empty() && !t.NeedsResync() {
			return nil
		}
		// A destination that another way led to is now behind this one, for any endpoint: a flow of the kernel may still lead to a former gateway.
		if err := t.Commit(coherency.Change{All: true}, nil, plan); err != nil {
			return fmt.Errorf("install the flows to %d other clusters: %w", len(clusters), err)
		}
		return nil
	})
}

// check returns the IP version of the flows, and refuses networks that the pipeline leads elsewhere.
func check(g *pipeline.Generator, clusters []Cluster) (f pipeline.Family, err error) {
	if !g.Features.Multicluster || !g.Features.AntreaProxy {
		return f, errors.New("flows to other clusters need the feature gates Multicluster and AntreaProxy")
	}
	f, ok := g.FamilyOf(netip.IPv4Unspecified())
	if !ok || !f.PodCIDR.Addr().Is4() {
		return f, errors.New("flows to other clusters need Pods with IPv4 addresses")
	}
	for _, c := range clusters {
		for _, n := range destinations(c) {
			if n.Overlaps(f.PodCIDR) {
				return f, fmt.Errorf("cluster %s: %v overlaps the local Pod network, %v", c.Name, n, f.PodCIDR)
			}
		}
		if inside := c.contains(c.Gateway); inside != g.Features.MulticlusterWireGuard {
			return f, fmt.Errorf("cluster %s: the gateway %v is in the cluster's networks %v: %t, want %t, as encryption between clusters is on or off",
				c.Name, c.Gateway, c.Networks, inside, !inside)
		}
	}
	return f, nil
}

// destinations are the networks of the cluster, and the address of its gateway if it is in none of them.
func destinations(c Cluster) []netip.Prefix {
	if c.contains(c.Gateway) {
		return c.Networks
	}
	return append(slices.Clone(c.Networks), pipeline.Host(c.Gateway))
}

// contains reports whether the address is in one of the cluster's networks.
func (c Cluster) contains(addr netip.Addr) bool {
	return slices.ContainsFunc(c.Networks, func(n netip.Prefix) bool { return n.Contains(addr) })
}

// validate refuses what is wrong for any pipeline.
func validate(gateway netip.Addr, clusters []Cluster) error {
	if gateway.IsValid() && !gateway.Is4() {
		return fmt.Errorf("the gateway address %v must be an IPv4 address", gateway)
	}
	owners := map[netip.Prefix]string{}
	for _, c := range clusters {
		switch {
		case c.Name == "" || len(c.Networks) == 0:
			return fmt.Errorf("another cluster named %q with the networks %v: it must have a name and a network", c.Name, c.Networks)
		case !c.Gateway.Is4() || c.Peer.IsValid() && !c.Peer.Is4():
			return fmt.Errorf("cluster %s: the gateway %v and the peer %v must be IPv4 addresses", c.Name, c.Gateway, c.Peer)
		}
		for _, n := range destinations(c) {
			if !n.IsValid() || !n.Addr().Is4() || n != n.Masked() {
				return fmt.Errorf("cluster %s: %v must be an IPv4 network without host bits", c.Name, n)
			}
			for other, owner := range owners {
				if n.Overlaps(other) {
					return fmt.Errorf("cluster %s: %v overlaps %v of cluster %s", c.Name, n, other, owner)
				}
			}
			owners[n] = c.Name
		}
	}
	return nil
}
