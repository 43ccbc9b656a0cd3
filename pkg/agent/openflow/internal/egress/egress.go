// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/flowstore"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// EgressClient is the part of Client for Egresses. It fails when the feature gate Egress is off.
type EgressClient interface {
	// InstallSNATMarkFlows gives what comes from other Nodes to an Egress address of this Node a mark, 1 to 254.
	InstallSNATMarkFlows(addr netip.Addr, mark uint8) error
	UninstallSNATMarkFlows(addr netip.Addr) error
	// InstallPodSNATFlows replaces the Egress of the Pod behind ofPort: at most one source for each IP version; none removes them.
	InstallPodSNATFlows(interfaceName string, ofPort uint32, sources []EgressSource) error
	UninstallPodSNATFlows(interfaceName string) error
	// InstallEgressQoS limits what leaves the cluster with a mark, 1 to 254, or changes the limit. It needs the feature gate EgressTrafficShaping.
	InstallEgressQoS(mark uint8, limit EgressBandwidth) error
	UninstallEgressQoS(mark uint8) error
}

// EgressSource is the source address that packets of a Pod get outside the cluster.
type EgressSource struct {
	Addr netip.Addr
	// Mark is 1 to 254 if this Node has the address, 0 if another one has it.
	Mark uint8
	// Refused drops the packets: this Node has the address, but cannot give it to packets.
	Refused bool
}

// Egresses is the feature. Its methods may be called concurrently.
type Egresses struct {
	socket    *pipeline.Socket
	addresses *flowstore.Cache
	pods      *flowstore.Cache
	limits    *flowstore.Cache
}

// New registers the feature.
func New(c *pipeline.Core) *Egresses {
	e := &Egresses{}
	e.socket = c.Register("Egress", e)
	e.addresses = e.socket.Cache("Egress addresses")
	e.pods = e.socket.Cache("Pods with an Egress")
	e.limits = e.socket.Cache("bandwidths of Egress addresses")
	return e
}

func (*Egresses) Tables(features pipeline.Features) []pipeline.TableSpec {
	if !features.Egress {
		return nil
	}
	specs := []pipeline.TableSpec{{
		Name: pipeline.TableEgressMark, ID: 105, Stage: pipeline.StageRouting, Miss: pipeline.MissToGateway,
	}}
	if features.EgressShaping {
		// All packets there go to the gateway.
		specs = append(specs, pipeline.TableSpec{
			Name: pipeline.TableEgressQoS, ID: 110, Stage: pipeline.StageRouting, Miss: pipeline.MissToGateway,
		})
	}
	return specs
}

// BaseFlows leads packets to the table, past it, and drops what other Nodes send to addresses that are not here. A connection that the
// Node knows continues with the source that it has.
func (*Egresses) BaseFlows(g *pipeline.Generator) (flows []of.Flow) {
	if !g.Features.Egress {
		return nil
	}
	opener := of.CTState("-rpl+trk")
	for _, f := range g.Families() {
		flows = append(flows,
			g.Flow(pipeline.CookieEgress, pipeline.TableL3Forwarding, pipeline.PriorityLow, pipeline.Matches(f.EthType, opener, pipeline.FromPod.Match()),
				g.ToTable(pipeline.TableEgressMark)),
			g.Flow(pipeline.CookieEgress, pipeline.TableL3Forwarding, pipeline.PriorityLow, pipeline.Matches(f.EthType, opener, pipeline.FromTunnel.Match()),
				of.SetEthDst{MAC: g.Node.Gateway.MAC}, g.ToTable(pipeline.TableEgressMark)),
			g.Flow(pipeline.CookieEgress, pipeline.TableEgressMark, pipeline.PriorityLow,
				pipeline.Matches(f.EthType, of.CTState("+new+trk"), pipeline.FromTunnel.Match())),
		)
		for _, network := range except(g.Node, f) {
			flows = append(flows, g.EgressException(f, network))
		}
	}
	return flows
}

// except returns the networks of a family to which the Node's packets go without Egress: its own addresses, and the configured ones.
func except(node *config.NodeConfig, f pipeline.Family) (networks []netip.Prefix) {
	for _, addr := range node.Addresses {
		networks = append(networks, pipeline.Host(addr))
	}
	for _, network := range node.EgressExcept {
		networks = append(networks, network.Masked())
	}
	networks = slices.DeleteFunc(networks, func(network netip.Prefix) bool { return !network.IsValid() || !f.Contains(network.Addr()) })
	slices.SortFunc(networks, netip.Prefix.Compare)
	return slices.Compact(networks)
}

func (e *Egresses) InstallSNATMarkFlows(addr netip.Addr, mark uint8) error {
	if err := checkMark(mark); err != nil {
		return fmt.Errorf("source %s: %w", addr, err)
	}
	return e.change(func(t pipeline.Turn) error {
		f, ok := t.G.FamilyOf(addr)
		if !ok {
			return fmt.Errorf("the Egress address %s is of an IP version that Pods do not have", addr)
		}
		flow := t.G.Flow(pipeline.CookieEgress, pipeline.TableEgressMark, pipeline.PriorityNormal,
			pipeline.Matches(f.EthType, of.CTState("+trk"), of.TunnelDst(addr)), toHost(t.G, mark)...)
		// The cache has no packets that come from the tunnel for the host.
		if err := t.Commit(coherency.Change{}, nil, e.addresses.Plan(addr.String(), []of.Flow{flow})); err != nil {
			return fmt.Errorf("install the flow of Egress address %s: %w", addr, err)
		}
		return nil
	})
}

func checkMark(mark uint8) error {
	if mark == 0 || mark == config.ServiceMark {
		return fmt.Errorf("mark %d: must be 1 to %d", mark, config.ServiceMark-1)
	}
	return nil
}

func (e *Egresses) UninstallSNATMarkFlows(addr netip.Addr) error {
	return e.change(func(t pipeline.Turn) error {
		if err := t.Commit(coherency.Change{}, nil, e.addresses.Plan(addr.String(), nil)); err != nil {
			return fmt.Errorf("remove the flow of Egress address %s: %w", addr, err)
		}
		return nil
	})
}

func (e *Egresses) InstallPodSNATFlows(interfaceName string, ofPort uint32, sources []EgressSource) error {
	return e.change(func(t pipeline.Turn) error {
		var flows []of.Flow
		for _, f := range t.G.Families() {
			for _, source := range sources {
				if f.Contains(source.Addr) {
					flows = append(flows, podFlow(t.G, f, ofPort, source))
				}
			}
		}
		return e.commitPod(t, interfaceName, flows)
	})
}

func (e *Egresses) UninstallPodSNATFlows(interfaceName string) error {
	return e.change(func(t pipeline.Turn) error { return e.commitPod(t, interfaceName, nil) })
}

// commitPod also evicts what the Pod has cached: the flows decide about connections that are established.
func (e *Egresses) commitPod(t pipeline.Turn, interfaceName string, flows []of.Flow) error {
	plan := e.pods.Plan(interfaceName, flows)
	if plan.Empty() {
		return nil
	}
	if err := t.Commit(coherency.Change{Interfaces: []string{interfaceName}}, nil, plan); err != nil {
		return fmt.Errorf("change the Egress flows of interface %s: %w", interfaceName, err)
	}
	return nil
}

func (e *Egresses) change(change func(pipeline.Turn) error) error {
	return e.socket.Change(func(t pipeline.Turn) error {
		if !t.G.Features.Egress {
			return fmt.Errorf("flows of Egresses need the feature gate Egress, which is off")
		}
		return change(t)
	})
}

// podFlow returns the flow of a Pod's packets that leave the cluster.
func podFlow(g *pipeline.Generator, f pipeline.Family, ofPort uint32, source EgressSource) of.Flow {
	flow := func(match []of.Match, actions ...of.Action) of.Flow {
		return g.Flow(pipeline.CookieEgress, pipeline.TableEgressMark, pipeline.PriorityNormal, match, actions...)
	}
	match := pipeline.Matches(f.EthType, of.CTState("+trk"), of.InPort(ofPort))
	switch {
	case source.Refused:
		return flow(match)
	case source.Mark != 0:
		return flow(match, toHost(g, source.Mark)...)
	default:
		return flow(match, of.SetEthSrc{MAC: g.Node.Gateway.MAC}, of.SetEthDst{MAC: config.GlobalVirtualMAC}, of.SetTunnelDst{IP: source.Addr},
			pipeline.ToTunnel.Load(), pipeline.RemoteSNAT.Load(), g.ToTable(pipeline.TableL2ForwardingCalc))
	}
}

// toHost are the actions that leave a packet to the host, which translates its source by the mark.
func toHost(g *pipeline.Generator, mark uint8) []of.Action {
	next := pipeline.TableL2ForwardingCalc
	if g.Features.EgressShaping {
		next = pipeline.TableEgressQoS
	}
	return []of.Action{pipeline.EgressSNATIDField.Is(uint32(mark)).Load(), pipeline.ToGateway.Load(), g.ToTable(next)}
}
