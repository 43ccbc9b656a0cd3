// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package connectivity

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/flowstore"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
	"github.com/antrea-oncache/antrea/pkg/agent/prefixindex"
	"github.com/antrea-oncache/antrea/pkg/agent/reach"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

const arpOpRequest, arpOpReply = 1, 2

// NodeClient is the part of Client for remote Nodes.
type NodeClient interface {
	// InstallNodeFlows sends traffic for the Pod CIDRs of a remote Node (the keys of peers) to that Node. It refuses CIDRs that
	// overlap the local ones, or the CIDRs of a Node whose flows are installed, and each kind of Reach without flows.
	InstallNodeFlows(nodeName string, peers map[netip.Prefix]Peer) error
	UninstallNodeFlows(nodeName string) error
	// GetNodeFlowKeys returns the match strings of cached flows, for antctl get ovsflows.
	GetNodeFlowKeys(nodeName string) []string
}

// Peer says how one Pod CIDR of a remote Node is reached.
type Peer struct {
	Gateway netip.Addr // the remote gateway's address in the Pod CIDR
	Reach   reach.Reach
}

// Nodes is the feature that connects the Node to other Nodes. It uses the tables of Pod connectivity.
type Nodes struct {
	socket *pipeline.Socket
	nodes  *flowstore.Cache

	// networks has the Pod networks to which flows lead, and nodeNetworks the same by Node. The networks of two Nodes never
	// overlap: their flows would match the same packets, or be the same. Both change only within a change.
	networks     prefixindex.Index[string]
	nodeNetworks map[string][]netip.Prefix
	exceptions   *exceptions
}

func NewNodes(c *pipeline.Core) *Nodes {
	n := &Nodes{nodeNetworks: map[string][]netip.Prefix{}}
	n.socket = c.Register("Node connectivity", n)
	n.nodes = n.socket.Cache("nodes")
	n.exceptions = newExceptions(n.socket)
	return n
}

func (*Nodes) Tables(pipeline.Features) []pipeline.TableSpec { return nil }

func (*Nodes) BaseFlows(g *pipeline.Generator) []of.Flow { return tunnelFlows(g) }

func (n *Nodes) InstallNodeFlows(nodeName string, peers map[netip.Prefix]Peer) error {
	if err := validateNode(nodeName, peers); err != nil {
		return err
	}
	return n.socket.Change(func(t pipeline.Turn) error {
		if err := n.checkNetworks(t.G, nodeName, peers); err != nil {
			return fmt.Errorf("remote Node %s: %w", nodeName, err)
		}
		flows, err := nodeFlows(t.G, peers)
		if err == nil {
			err = n.socket.CheckNotBase(flows)
		}
		if err != nil {
			return fmt.Errorf("remote Node %s: %w", nodeName, err)
		}
		change := coherency.Change{Nodes: coherencyNodes(nodeName, peers)}
		addrs := addressesOf(t.G, peers)
		if err := t.Commit(change, nil, append(n.exceptions.plans(t.G, nodeName, addrs), n.nodes.Plan(nodeName, flows))...); err != nil {
			return fmt.Errorf("install the flows of remote Node %s: %w", nodeName, err)
		}
		n.setNetworks(nodeName, sortedPrefixes(peers))
		n.exceptions.set(nodeName, addrs)
		return nil
	})
}

// checkNetworks refuses Pod networks that overlap the local ones or another Node's.
func (n *Nodes) checkNetworks(g *pipeline.Generator, nodeName string, peers map[netip.Prefix]Peer) error {
	for cidr := range peers {
		for _, f := range g.Families() {
			if cidr.Overlaps(f.PodCIDR) {
				return fmt.Errorf("the Pod network %v overlaps the local one, %v", cidr, f.PodCIDR)
			}
		}
		for other, holder := range n.networks.Overlapping(cidr) {
			if holder != nodeName {
				return fmt.Errorf("the Pod network %v overlaps %v of remote Node %s, whose flows must be removed first", cidr, other, holder)
			}
		}
	}
	return nil
}

// setNetworks records the Pod networks of the Node's flows. Call it within a change.
func (n *Nodes) setNetworks(nodeName string, cidrs []netip.Prefix) {
	for _, cidr := range n.nodeNetworks[nodeName] {
		n.networks.Delete(cidr)
	}
	for _, cidr := range cidrs {
		n.networks.Set(cidr, nodeName)
	}
	if n.nodeNetworks[nodeName] = cidrs; len(cidrs) == 0 {
		delete(n.nodeNetworks, nodeName)
	}
}

// coherencyNodes groups the Pod networks of a Node by how they are reached.
func coherencyNodes(name string, peers map[netip.Prefix]Peer) []coherency.Node {
	var nodes []coherency.Node
	for _, cidr := range sortedPrefixes(peers) {
		r := peers[cidr].Reach
		i := slices.IndexFunc(nodes, func(n coherency.Node) bool { return n.Reach == r })
		if i < 0 {
			i, nodes = len(nodes), append(nodes, coherency.Node{Name: name, Reach: r})
		}
		nodes[i].PodCIDRs = append(nodes[i].PodCIDRs, cidr)
	}
	return nodes
}

func (n *Nodes) UninstallNodeFlows(nodeName string) error {
	return n.socket.Change(func(t pipeline.Turn) error {
		change := coherency.Change{RemovedNodes: []string{nodeName}}
		if err := t.Commit(change, nil, append(n.exceptions.plans(t.G, nodeName, nil), n.nodes.Plan(nodeName, nil))...); err != nil {
			return fmt.Errorf("remove the flows of remote Node %s: %w", nodeName, err)
		}
		n.setNetworks(nodeName, nil)
		n.exceptions.set(nodeName, nil)
		return nil
	})
}

func (n *Nodes) GetNodeFlowKeys(nodeName string) []string {
	return n.nodes.MatchStrings(nodeName)
}

// tunnelFlows admits packets from other Nodes and maps the virtual MAC address to the tunnel port.
func tunnelFlows(g *pipeline.Generator) []of.Flow {
	const category = pipeline.CookiePodConnectivity
	port := g.Node.TunnelOFPort
	return []of.Flow{
		// The sending Node has checked the source address.
		g.Flow(category, pipeline.TableClassifier, pipeline.PriorityNormal, pipeline.Matches(of.InPort(port)),
			pipeline.FromTunnel.Load(), pipeline.RewriteMAC.Load(), of.GotoTable{Table: g.FirstOf(pipeline.StageConntrackState)}),
		g.Flow(category, pipeline.TableL2ForwardingCalc, pipeline.PriorityNormal, pipeline.Matches(of.EthDst(config.GlobalVirtualMAC)),
			loadTargetPort(port), pipeline.OutputToPort.Load(), g.ToNext(pipeline.TableL2ForwardingCalc)),
	}
}

// nodeFlows returns the flows of one remote Node.
func nodeFlows(g *pipeline.Generator, peers map[netip.Prefix]Peer) ([]of.Flow, error) {
	var flows []of.Flow
	for _, cidr := range sortedPrefixes(peers) {
		switch peer := peers[cidr]; peer.Reach.Kind {
		case reach.Tunnel:
			flows = append(flows, tunnelPeerFlows(g, cidr, peer)...)
		case reach.Direct, reach.Routed, reach.WireGuard:
			flows = append(flows, plainPeerFlows(g, cidr)...)
		default:
			return nil, fmt.Errorf("the Pod network %v: %w", cidr, peer.Reach.NotBuilt("flows"))
		}
	}
	return flows, nil
}

// tunnelPeerFlows returns the flows to a Pod network behind the tunnel. IPv6 needs no responder: the host has a permanent neighbor
// entry for the remote gateway (package route).
func tunnelPeerFlows(g *pipeline.Generator, cidr netip.Prefix, peer Peer) (flows []of.Flow) {
	if peer.Gateway.Is4() && g.Node.Gateway.IPv4.IsValid() {
		flows = append(flows, arpResponderFlow(g, peer.Gateway))
	}
	for _, f := range g.Families() {
		if !f.Contains(cidr.Addr()) {
			continue
		}
		flows = append(flows, g.Flow(pipeline.CookiePodConnectivity, pipeline.TableL3Forwarding, pipeline.PriorityNormal, pipeline.Matches(f.EthType, f.Dst(cidr)),
			throughTunnel(g, peer)...), changedPeerFlow(g, f, cidr, peer))
	}
	return flows
}

// throughTunnel are the actions of a flow in L3Forwarding that send packets to the peer through the tunnel.
func throughTunnel(g *pipeline.Generator, peer Peer) []of.Action {
	return []of.Action{of.SetEthSrc{MAC: g.Node.Gateway.MAC}, of.SetEthDst{MAC: config.GlobalVirtualMAC},
		of.SetTunnelDst{IP: peer.Reach.Address}, pipeline.ToTunnel.Load(), g.ToTable(pipeline.TableL3DecTTL)}
}

// changedPeerFlow sends answers of Pods through the tunnel to a peer that was reached without it when it opened the connection: the traffic mode has
// changed, or the peer's subnet. Connections from the gateway otherwise return there, and the host would send these back to the bridge, or drop them
// as invalid because it has not seen the packets from the tunnel. Connections to Services of this Node do return there: the host translates them.
func changedPeerFlow(g *pipeline.Generator, f pipeline.Family, cidr netip.Prefix, peer Peer) of.Flow {
	return g.Flow(pipeline.CookiePodConnectivity, pipeline.TableL3Forwarding, pipeline.PriorityHigh+1,
		pipeline.Matches(f.EthType, of.CTState("+rpl+trk"), pipeline.ConnFromGateway.Match(), pipeline.NotServiceCT.Match(), pipeline.FromPod.Match(), f.Dst(cidr)),
		throughTunnel(g, peer)...)
}

// plainPeerFlows leave packets to a Pod network to the host, which routes them as they are or encrypts them. The host decrements their TTL, and so does this bridge.
func plainPeerFlows(g *pipeline.Generator, cidr netip.Prefix) (flows []of.Flow) {
	for _, f := range g.Families() {
		if !f.Contains(cidr.Addr()) {
			continue
		}
		flows = append(flows, g.Flow(pipeline.CookiePodConnectivity, pipeline.TableL3Forwarding, pipeline.PriorityNormal, pipeline.Matches(f.EthType, f.Dst(cidr)),
			of.SetEthDst{MAC: g.Node.Gateway.MAC}, pipeline.ToGateway.Load(), g.ToTable(pipeline.TableL3DecTTL)))
	}
	return flows
}

// arpResponderFlow answers ARP requests for a remote gateway with the virtual MAC address. The remote gateway is the next hop of
// the host's routes to the remote Pods, so this leads their packets into the tunnel.
func arpResponderFlow(g *pipeline.Generator, ip netip.Addr) of.Flow {
	mac := macValue(config.GlobalVirtualMAC)
	return g.Flow(pipeline.CookiePodConnectivity, pipeline.TableARPResponder, pipeline.PriorityNormal,
		pipeline.Matches(of.EthType(of.EthTypeARP), of.ARPOp(arpOpRequest), of.ARPTPA(ip)),
		move(of.FieldEthSrc, of.FieldEthDst, 48),
		of.SetEthSrc{MAC: config.GlobalVirtualMAC},
		of.LoadField{Field: of.FieldARPOp, Range: of.Range{From: 0, To: 15}, Value: arpOpReply},
		move(of.FieldARPSHA, of.FieldARPTHA, 48),
		of.LoadField{Field: of.FieldARPSHA, Range: of.Range{From: 0, To: 47}, Value: mac},
		// Swap the protocol addresses.
		move(of.FieldARPTPA, pipeline.SwapField.Field, 32),
		move(of.FieldARPSPA, of.FieldARPTPA, 32),
		move(pipeline.SwapField.Field, of.FieldARPSPA, 32),
		of.OutputInPort{},
	)
}

// move copies a whole field.
func move(src, dst of.Field, bits uint8) of.Action {
	r := of.Range{From: 0, To: bits - 1}
	return of.MoveField{Src: src, SrcRange: r, Dst: dst, DstRange: r}
}

func macValue(mac []byte) (value uint64) {
	for _, b := range mac {
		value = value<<8 | uint64(b)
	}
	return value
}

func sortedPrefixes(peers map[netip.Prefix]Peer) []netip.Prefix {
	prefixes := make([]netip.Prefix, 0, len(peers))
	for p := range peers {
		prefixes = append(prefixes, p)
	}
	slices.SortFunc(prefixes, netip.Prefix.Compare)
	return prefixes
}

func validateNode(nodeName string, peers map[netip.Prefix]Peer) error {
	if nodeName == "" {
		return fmt.Errorf("remote Node without name (Pod networks %v)", sortedPrefixes(peers))
	}
	if len(peers) == 0 {
		return fmt.Errorf("remote Node %s without Pod network", nodeName)
	}
	for cidr, peer := range peers {
		if !cidr.IsValid() || !cidr.Contains(peer.Gateway) {
			return fmt.Errorf("remote Node %s: the gateway %v must be an address in the Pod network %v", nodeName, peer.Gateway, cidr)
		}
		if err := peer.Reach.CheckAddress(); err != nil {
			return fmt.Errorf("remote Node %s: %w", nodeName, err)
		}
	}
	return nil
}
