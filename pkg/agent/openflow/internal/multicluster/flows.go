// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package multicluster

import (
	"net/netip"
	"slices"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// maker makes the flows of one state.
type maker struct {
	*pipeline.Generator
	pipeline.Family
	// gateway is valid on the gateway Node.
	gateway netip.Addr
}

// flowsOf returns the flows to other clusters, nil for none.
func flowsOf(g *pipeline.Generator, f pipeline.Family, gateway netip.Addr, clusters []Cluster) (flows []of.Flow) {
	m := maker{g, f, gateway}
	if gateway.IsValid() {
		flows = append(m.entryFlows(clusters), m.relayFlows()...)
	}
	for _, c := range clusters {
		flows = append(flows, m.routingFlows(c)...)
		if gateway.IsValid() && c.Peer.IsValid() {
			flows = append(flows, m.translationFlows(c)...)
		}
	}
	return flows
}

func (m maker) flow(table string, priority uint16, match []of.Match, actions ...of.Action) of.Flow {
	return m.Flow(pipeline.CookieMulticluster, table, priority, match, actions...)
}

// relayFlows are the gateway Node's, whatever clusters there are: packets for it may leave through the tunnel by which they have come, and answers
// are for the connections that it has translated.
func (m maker) relayFlows() []of.Flow {
	tunnel := m.Node.TunnelOFPort
	return []of.Flow{
		m.flow(pipeline.TableOutput, pipeline.PriorityHigh, pipeline.Matches(of.InPort(tunnel), pipeline.TargetOFPortField.Is(tunnel).Match(), pipeline.BetweenClusters.Match()), of.OutputInPort{}),
		m.flow(pipeline.TableUnSNAT, pipeline.PriorityNormal, pipeline.Matches(m.EthType, m.Dst(pipeline.Host(m.gateway))),
			of.CT{Zone: m.SNATZone, NAT: true, Table: m.Next(pipeline.TableUnSNAT)}),
	}
}

// entryFlows admit packets for the gateway Node from the tunnel. If packets between clusters are encrypted, packets of another cluster must have come from
// the address, inside its device, that only the owner of its key can have, and from one of its networks. This Node's address there is for
// nothing else: the host lets tunnel packets to it pass only from the device. All other packets from the tunnel are in clear: they come from Nodes of
// this cluster, and none is from another cluster. The base flows drop all packets with the address that no flow admits.
func (m maker) entryFlows(clusters []Cluster) (flows []of.Flow) {
	tunnel := of.InPort(m.Node.TunnelOFPort)
	virtual := pipeline.Matches(tunnel, of.EthDst(config.MulticlusterMAC))
	admit := func(priority uint16, match ...of.Match) {
		flows = append(flows, m.flow(pipeline.TableClassifier, priority, append(slices.Clone(virtual), match...),
			pipeline.FromTunnel.Load(), pipeline.RewriteMAC.Load(), pipeline.BetweenClusters.Load(), of.GotoTable{Table: m.FirstOf(pipeline.StageConntrackState)}))
	}
	if !m.Features.MulticlusterWireGuard {
		admit(pipeline.PriorityHigh)
		return flows
	}
	const encrypted, refused, within = pipeline.PriorityHigh + 3, pipeline.PriorityHigh + 2, pipeline.PriorityHigh + 1
	drop := func(priority uint16, match ...of.Match) {
		flows = append(flows, m.flow(pipeline.TableClassifier, priority, match))
	}
	for _, c := range clusters {
		for _, network := range c.Networks {
			if c.Peer.IsValid() {
				admit(encrypted, m.EthType, of.TunnelSrc(c.Gateway), of.TunnelDst(m.gateway), m.Src(network))
			}
			drop(refused, tunnel, m.EthType, m.Src(network))
			admit(within, m.EthType, m.Dst(network))
		}
	}
	drop(refused, tunnel, of.TunnelDst(m.gateway))
	return flows
}

// routingFlows lead to the cluster: packets to its networks, answers to connections that come from there, and the agent's answers to packets
// from there that policies reject, which belong to no connection.
func (m maker) routingFlows(c Cluster) (flows []of.Flow) {
	lead := func(priority uint16, match ...of.Match) {
		flows = append(flows, m.flow(pipeline.TableL3Forwarding, priority, append(match, m.EthType),
			of.SetEthSrc{MAC: m.Node.Gateway.MAC}, of.SetEthDst{MAC: config.MulticlusterMAC}, of.SetTunnelDst{IP: c.Peer},
			pipeline.ToTunnel.Load(), m.ToTable(pipeline.TableL3DecTTL)))
	}
	for _, network := range c.Networks {
		if !c.Peer.IsValid() {
			flows = append(flows, m.flow(pipeline.TableL3Forwarding, pipeline.PriorityNormal, pipeline.Matches(m.EthType, m.Dst(network))))
			continue
		}
		lead(pipeline.PriorityNormal, m.Dst(network))
	}
	if !c.Peer.IsValid() || c.contains(c.Gateway) {
		return flows
	}
	lead(pipeline.PriorityNormal, of.CTState("+rpl+trk"), m.Dst(pipeline.Host(c.Gateway)))
	lead(pipeline.PriorityNormal-1, pipeline.GeneratedReject.Match(), m.Dst(pipeline.Host(c.Gateway)))
	return flows
}

// translationFlows give new connections to the cluster the gateway's address. Connections that are older than this Node's role are not translated:
// the other cluster would take the address of a Pod for one of its own.
func (m maker) translationFlows(c Cluster) (flows []of.Flow) {
	for _, network := range c.Networks {
		opener := pipeline.Matches(m.EthType, of.CTState("+new+trk"), m.Dst(network))
		flows = append(flows,
			m.flow(pipeline.TableSNATMark, pipeline.PriorityHigh, opener, m.MarkSNAT(m.Family)),
			m.flow(pipeline.TableSNAT, pipeline.PriorityNormal, opener, of.CT{
				Commit: true, Zone: m.SNATZone, Table: m.Next(pipeline.TableSNAT), NATTo: &of.NATTo{Source: true, First: m.gateway},
				Exec: pipeline.Loads([]pipeline.FieldValue{pipeline.SNATCT}),
			}),
			m.flow(pipeline.TableSNAT, pipeline.PriorityLow, pipeline.Matches(m.EthType, of.CTState("-new-rpl+trk"), pipeline.NotSNATCT.Match(), m.Dst(network))))
	}
	return flows
}
