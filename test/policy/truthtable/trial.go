// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/test/env/switchpair"
	"github.com/antrea-oncache/antrea/test/policy"
	"github.com/antrea-oncache/antrea/test/tools/wire"
)

// trial is the packets of a probe, with their outcome.
type trial struct {
	*policy.Probe
	id uint32
	// want contains the outcomes that are right.
	want policy.Opinion
	// arrivals are the ports that the opening packet has reached; answered tells whether an answer has come back.
	arrivals []*switchpair.Port
	answered bool
	// rejected is set if the agent has answered that a policy forbids the connection; stray describes such an answer that is wrong.
	rejected bool
	stray    string
	// forgotten is set when conntrack was emptied after the opening: an answer of the agent that comes later is not translated back.
	forgotten bool
	// continues and ended say whether all packets of the established connection have arrived, or none.
	continues, ended bool
}

// trials returns the connections of probes, each with a client port of its own if the probe leaves it open.
func (f *fabric) trials(probes []*policy.Probe) []*trial {
	trials := make([]*trial, len(probes))
	for i, p := range probes {
		id, probe := f.NextID(), *p
		if probe.SourcePort == 0 {
			probe.SourcePort = uint16(10000 + id/wire.Step%50000)
		}
		trials[i] = &trial{Probe: &probe, id: id}
	}
	return trials
}

// mostAtOnce is the number of connections that are tried at once. A dummy port drops frames when its queue has 100, and about half of
// the frames that a Node sends go to the wire.
const mostAtOnce = 120

// rounds divides trials. The userspace conntrack of Open vSwitch knows no ports of SCTP: all SCTP connections between two addresses
// are one to it, so there must be at most one before it is emptied.
func rounds(trials []*trial) [][]*trial {
	var rounds [][]*trial
	used := map[string]int{}
	for _, t := range trials {
		round := 0
		if t.Protocol == corev1.ProtocolSCTP {
			pods := []string{podKey(t.From), podKey(t.To)}
			slices.Sort(pods)
			key := fmt.Sprint(pods, t.IPv6)
			round = used[key]
			used[key]++
		}
		for len(rounds) <= round {
			rounds = append(rounds, nil)
		}
		rounds[round] = append(rounds[round], t)
	}
	var chunks [][]*trial
	for _, round := range rounds {
		chunks = append(chunks, dealt(round)...)
	}
	return chunks
}

// dealt divides trials into as few parts of about the same size as possible, each of which has trials of all Pods.
func dealt(trials []*trial) [][]*trial {
	parts := make([][]*trial, (len(trials)+mostAtOnce-1)/mostAtOnce)
	for i, t := range trials {
		parts[i%len(parts)] = append(parts[i%len(parts)], t)
	}
	return parts
}

// run opens all connections and answers those that have arrived. Open vSwitch must already have all flows.
func (f *fabric) run(trials []*trial) error {
	for _, n := range f.Nodes {
		n.ForgetMegaflows()
	}
	byID := map[uint32]*trial{}
	for _, t := range trials {
		byID[t.id] = t
	}
	var former []*trial
	for _, round := range slices.Backward(rounds(trials)) {
		for _, t := range former {
			t.forgotten = true
		}
		for _, n := range f.Nodes {
			n.ForgetConnections()
		}
		former = round
		if err := f.runRound(round, byID); err != nil {
			return err
		}
	}
	f.last = former
	return nil
}

// runRound opens some of the connections of a run.
func (f *fabric) runRound(round []*trial, all map[uint32]*trial) error {
	var frames []switchpair.Outgoing
	var late []switchpair.Fence
	for _, t := range round {
		frames = append(frames, switchpair.Outgoing{At: f.source(t), Frame: wire.Opening(f.leg(t), protocolOf(t.Probe), t.id)})
		if t.want == policy.MayReject {
			late = append(late, switchpair.Fence{ID: t.id, At: f.source(t)})
		}
	}
	arrived, err := f.Exchange(frames, late...)
	if err != nil {
		return err
	}
	f.takeRejections(all, arrived)
	var answers []switchpair.Outgoing
	for _, t := range round {
		if t.arrivals = portsOf(arrived[t.id]); t.delivered(f) {
			answers = append(answers, switchpair.Outgoing{At: f.destination(t), Frame: wire.Answer(f.legBack(t), protocolOf(t.Probe), t.id)})
		}
	}
	if arrived, err = f.Exchange(answers); err != nil {
		return err
	}
	f.takeRejections(all, arrived)
	for _, t := range round {
		t.answered = slices.Equal(portsOf(arrived[t.id]), []*switchpair.Port{f.source(t)})
	}
	return nil
}

// port returns the port of a Pod that exchanges packets with another one. A Pod in the network of a Node is behind the gateway of the
// other Node.
func (f *fabric) port(p, other *policy.Pod) *switchpair.Port { return f.portOn(f.at(p, other), p) }

func (f *fabric) portOn(n *switchpair.Node, p *policy.Pod) *switchpair.Port {
	if p.HostNetwork {
		return n.Gateway
	}
	return n.Pods[p.IPv4]
}

// at returns the Node with the port of p when p exchanges packets with another Pod.
func (f *fabric) at(p, other *policy.Pod) *switchpair.Node {
	if p.HostNetwork {
		return f.Nodes[other.Node]
	}
	return f.Nodes[p.Node]
}

// source returns the port of the client. Clients outside of the cluster are behind the gateway of the Node that they dial.
func (f *fabric) source(t *trial) *switchpair.Port {
	if t.Dialed != "" {
		return f.Nodes[t.Dialed].Gateway
	}
	return f.port(t.From, t.To)
}

func (f *fabric) destination(t *trial) *switchpair.Port { return f.port(t.To, t.From) }

func (f *fabric) leg(t *trial) wire.Leg {
	if t.Dialed != "" {
		return f.legToNodePort(t)
	}
	source, destination := ends(t.Probe)
	next := f.nextHop(t.From, t.To)
	if t.Via != nil {
		next = f.Nodes[t.From.Node].Gateway.MAC
	}
	return wire.Leg{SourceMAC: f.source(t).MAC, DestinationMAC: next, Source: source, Destination: destination}
}

func (f *fabric) legBack(t *trial) wire.Leg {
	if t.Dialed != "" {
		return f.legFromServer(t)
	}
	source, _ := ends(t.Probe)
	_, server := t.Addresses()
	return wire.Leg{SourceMAC: f.destination(t).MAC, DestinationMAC: f.nextHop(t.To, t.From), Source: netip.AddrPortFrom(server, t.Port), Destination: source}
}

// nextHop returns the MAC address to which from sends packets for to.
func (f *fabric) nextHop(from, to *policy.Pod) []byte {
	if n := f.at(from, to); n == f.at(to, from) {
		return f.portOn(n, to).MAC
	}
	return f.Nodes[from.Node].Gateway.MAC
}

// delivered reports whether the packet has reached its destination once, and no other port.
func (t *trial) delivered(f *fabric) bool {
	return slices.Equal(t.arrivals, []*switchpair.Port{f.destination(t)})
}

// right reports whether the connection's outcome agrees with the specification.
func (t *trial) right(f *fabric) bool {
	switch {
	case t.stray != "":
		return false
	case t.rejected:
		return t.want&policy.MayReject != 0 && len(t.arrivals) == 0
	case len(t.arrivals) == 0:
		return t.want&policy.MayDrop != 0
	}
	return t.want&policy.MayAllow != 0 && t.delivered(f) && t.answered
}

func (t *trial) String() string {
	source, destination := ends(t.Probe)
	if t.Dialed != "" {
		return fmt.Sprintf("%s to %s (%s) by a NodePort of %s, %s, %v -> %v", t.From.Name, podKey(t.To), t.To.Node, t.Dialed, t.Protocol, source, destination)
	}
	return fmt.Sprintf("%s (%s) to %s (%s), %s, %v -> %v", podKey(t.From), t.From.Node, podKey(t.To), t.To.Node, t.Protocol, source, destination)
}

// outcome describes what happened to the connection.
func (t *trial) outcome(f *fabric) string {
	if t.delivered(f) && t.stray == "" && !t.rejected {
		if t.answered {
			return "delivered and answered"
		}
		return "delivered, but the answer was lost"
	}
	return t.opening(f)
}

// opening describes what happened to the opening packet.
func (t *trial) opening(f *fabric) string {
	switch {
	case t.stray != "":
		return t.place(f) + ", and " + t.stray
	case t.rejected:
		return t.place(f) + " and rejected"
	}
	return t.place(f)
}

// place describes where the opening packet has arrived.
func (t *trial) place(f *fabric) string {
	var places []string
	for _, p := range t.arrivals {
		places = append(places, p.Name)
	}
	switch {
	case len(places) == 0:
		return "dropped"
	case !t.delivered(f):
		return "delivered to " + strings.Join(places, " and ")
	}
	return "delivered"
}

// trace returns Open vSwitch's trace of the opening packet on both Nodes, and the flows of policy rules there.
func (f *fabric) trace(t *trial) string {
	var b strings.Builder
	l, from, to := f.leg(t), f.at(t.From, t.To), f.at(t.To, t.From)
	if t.Dialed != "" {
		from = f.Nodes[t.Dialed]
	}
	show := func(n *switchpair.Node, inPort uint32) {
		fmt.Fprintf(&b, "--- %s: flows of policies\n", n.Name())
		for _, flow := range n.OVS.DumpFlows(switchpair.BridgeName) {
			if strings.Contains(flow, "conj") || strings.Contains(flow, "priority=200") && strings.Contains(flow, "actions=drop") {
				fmt.Fprintln(&b, flow)
			}
		}
		fmt.Fprintf(&b, "--- %s: the packet\n%s\n", n.Name(), n.OVS.Appctl("ofproto/trace", switchpair.BridgeName, fmt.Sprint("in_port=", inPort),
			fmt.Sprintf("%x", wire.Opening(l, protocolOf(t.Probe), t.id)), "--ct-next", "trk,new", "--ct-next", "trk,new"))
	}
	show(from, f.source(t).OFPort)
	if to != from {
		l.SourceMAC, l.DestinationMAC = from.Gateway.MAC, config.GlobalVirtualMAC
		show(to, config.TunnelOFPort)
	}
	return b.String()
}

// ends returns the addresses of a probe's connection as its client sees it.
func ends(p *policy.Probe) (source, destination netip.AddrPort) {
	from, to := p.Addresses()
	port := p.Port
	if p.Via != nil {
		if to, port = p.Via.IPv4, p.Via.Port; p.IPv6 {
			to = p.Via.IPv6
		}
	}
	if p.Dialed != "" {
		to, port = nodePortAddress(p), p.Via.NodePort
	}
	return netip.AddrPortFrom(from, p.SourcePort), netip.AddrPortFrom(to, port)
}
