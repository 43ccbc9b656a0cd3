// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package dns

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/flowstore"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// DNSController is the id of the connections that get the held packets. It is this project's.
const DNSController uint16 = 62377

// DNSCategory is the user data of these packets. It is Antrea's.
const DNSCategory byte = 2

const (
	// conjunction is Antrea's. No rule has this id.
	conjunction uint32 = 1
	port        uint16 = 53
	// priorityHeld and the one above are higher than the priorities of established connections and of rules.
	priorityHeld = pipeline.PriorityEstablished + 1
)

// DNSClient is the part of Client for answers of DNS.
type DNSClient interface {
	// HoldDNS makes the switch hold the answers of DNS to exactly these interfaces, given with their OpenFlow ports. They go to
	// DNSController, paused.
	HoldDNS(ports map[string]uint32) error
	// SendDNSFragment sends a part of a held answer to the interface with the OpenFlow port to, past all flows. from is the port at which the
	// answer has arrived.
	SendDNSFragment(ctx context.Context, from, to uint32, frame []byte) error
}

// Interception is the feature that holds answers.
type Interception struct {
	socket *pipeline.Socket
	// held has one object: the flows of all Pods, which share some.
	held *flowstore.Cache
	// ports and meters are changed only within changes: what the switch has accepted, and the numbers of the Pods' meters by OpenFlow port.
	ports  map[string]uint32
	meters map[uint32]uint32
}

func New(c *pipeline.Core) *Interception {
	i := &Interception{ports: map[string]uint32{}, meters: map[uint32]uint32{}}
	i.socket = c.Register("DNS interception", i)
	i.held = i.socket.Cache("heldAnswers")
	return i
}

func (*Interception) Tables(pipeline.Features) []pipeline.TableSpec { return nil }

func (*Interception) BaseFlows(*pipeline.Generator) []of.Flow { return nil }

func (*Interception) Meters(g *pipeline.Generator) []of.MeterEntry {
	if !g.Features.AntreaPolicy {
		return nil
	}
	return g.PacketInMeters(pipeline.MeterDNS)
}

func (i *Interception) HoldDNS(ports map[string]uint32) error {
	return i.socket.Change(func(t pipeline.Turn) error {
		if !t.G.Features.AntreaPolicy {
			return errors.New("rules with names need the feature gate AntreaPolicy, which is off")
		}
		for name, port := range ports {
			if err := pipeline.ValidateOFPort(port); err != nil {
				return fmt.Errorf("hold the answers of DNS to interface %s: %w", name, err)
			}
		}
		return i.hold(t, ports)
	})
}

func (i *Interception) SendDNSFragment(ctx context.Context, from, to uint32, frame []byte) error {
	if err := pipeline.ValidateOFPort(to); err != nil {
		return fmt.Errorf("fragment of an answer of DNS: %w", err)
	}
	return i.socket.PacketOut(ctx, of.PacketOut{InPort: from, Actions: []of.Action{of.Output{Port: to}}, Data: frame})
}

func (i *Interception) hold(t pipeline.Turn, ports map[string]uint32) error {
	limits := i.limits(t.G, ports)
	plan := i.held.Plan("Pods", i.flows(t.G, ports, limits))
	if plan.Empty() && !t.NeedsResync() {
		i.ports = maps.Clone(ports)
		return nil
	}
	if err := t.AddMeters(meterEntries(t.G, limits)); err != nil {
		return fmt.Errorf("limit the answers of DNS to %d Pods: %w", len(ports), err)
	}
	if err := t.Commit(coherency.Change{Interfaces: i.begun(ports)}, nil, plan); err != nil {
		return fmt.Errorf("hold the answers of DNS to %d Pods: %w", len(ports), err)
	}
	i.ports, i.meters = maps.Clone(ports), limits
	return nil
}

// begun returns the interfaces whose answers are not held yet: the cache may know connections with their DNS servers.
func (i *Interception) begun(ports map[string]uint32) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(ports)) {
		if i.ports[name] != ports[name] {
			names = append(names, name)
		}
	}
	return names
}

// flows returns nil without Pods: packets of all Pods would have to be compared with port 53.
func (i *Interception) flows(g *pipeline.Generator, ports map[string]uint32, meters map[uint32]uint32) []of.Flow {
	if len(ports) == 0 {
		return nil
	}
	flow := func(priority uint16, match []of.Match, actions ...of.Action) of.Flow {
		return g.Flow(pipeline.CookieNetworkPolicy, pipeline.TableAntreaPolicyIngressRule, priority, match, actions...)
	}
	flows := []of.Flow{flow(priorityHeld, pipeline.Matches(of.ConjID(conjunction)), toAgent(g)...)}
	if g.Features.ONCache {
		// Held packets go past the cache's marks.
		flows = append(flows, g.Flow(pipeline.CookieNetworkPolicy, pipeline.TableONCacheMark, pipeline.PriorityHigh,
			pipeline.Matches(pipeline.WasHeld.Match()), g.ToTable(pipeline.TableOutput)))
	}
	for _, f := range g.Families() {
		for _, protocol := range []struct {
			number uint8
			source of.Match
		}{{of.IPProtoTCP, of.TCPSrc(port, 0xffff)}, {of.IPProtoUDP, of.UDPSrc(port, 0xffff)}} {
			flows = append(flows, flow(priorityHeld,
				pipeline.Matches(f.EthType, of.CTState("+rpl+trk"), of.IPProto(protocol.number), protocol.source), clause(1)))
		}
	}
	for _, ofPort := range distinct(ports) {
		pod := pipeline.TargetOFPortField.Is(ofPort).Match()
		flows = append(flows, flow(priorityHeld, pipeline.Matches(pod), clause(2)))
		if meter, limited := meters[ofPort]; limited {
			flows = append(flows, flow(priorityHeld+1, pipeline.Matches(of.ConjID(conjunction), pod), append([]of.Action{of.Meter{ID: pipeline.MeterDNSPods + meter}}, toAgent(g)...)...))
		}
	}
	return flows
}

func clause(n uint8) of.Action { return of.Conjunction{ID: conjunction, Clause: n, NClauses: 2} }

// toAgent are the actions for a held packet. When the agent resumes it, it continues with the last one.
func toAgent(g *pipeline.Generator) []of.Action {
	hold := g.ToAgent(DNSController, pipeline.MeterDNS, DNSCategory).(of.Controller)
	hold.Pause = true
	return []of.Action{pipeline.WasHeld.Load(), hold, g.ToTable(pipeline.TableIngressMetric)}
}

// distinct returns the ports in ascending order. Two interfaces may have the same one while one of them is being replaced.
func distinct(ports map[string]uint32) []uint32 {
	return slices.Compact(slices.Sorted(maps.Values(ports)))
}
