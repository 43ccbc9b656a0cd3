// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
)

// kind is a kind of event: how it is drawn, and what it may do to traffic.
type kind struct {
	name string
	// weight is the frequency of the kind, relative to the others.
	weight int
	// pause is the longest time between the end of the event before and this one, length the range of how long the event lasts.
	pause  time.Duration
	length [2]time.Duration
	// concerns reports whether an event of this kind may lose packets of a flow. A flow that it does not concern loses none, but for probes.
	concerns func(flow) bool
	// probes is the number of packets that each other flow may lose anyway: packets that ask whether hits are still
	// right, before the agent notices the event.
	probes uint64
	// withoutHits selects the affected flows while an agent of the Node takes the cache over, so that there are no
	// hits; nil for the same.
	withoutHits func(flow) bool
	// bound limits the time after the end of the event for which an affected flow may stand still.
	bound time.Duration
	// hits is the least part of the event during which hits continue, with the gate on, if they did before.
	hits float64
	// without has reasons not to draw the kind in some modes.
	without map[cluster.Mode]string
}

// withTakeover reports whether it matters for events of this kind if an agent takes the cache over.
func (k *kind) withTakeover() bool { return k.withoutHits != nil || k.hits > 0 }

// takeover is appended to the names of kinds.
const takeover = ", takeover"

// duringTakeover is the kind of those events that meet an agent which takes the cache over.
func (k *kind) duringTakeover() *kind {
	met := *k
	met.name += takeover
	met.hits = 0
	if k.withoutHits != nil {
		met.concerns = k.withoutHits
	}
	return &met
}

// moment is a pause within which an agent does everything that it does after its start, above all the end of the former agent's round of
// flows after ten seconds.
const moment = 14 * time.Second

// hitsInRestart is less than what the end-to-end area AgentRestart demands, which waits for a cluster at rest before it restarts an agent.
const hitsInRestart = 0.5

var (
	noEgress    = only("Egress is for mode encap", cluster.Encap)
	noWireGuard = only("nothing is encrypted", cluster.WireGuard)
)

// kinds are all kinds of events.
var kinds = []kind{
	// The agent of a Node.
	{name: "agent-restart", weight: 4, pause: moment, concerns: none, hits: hitsInRestart},
	{name: "agent-kill", weight: 4, pause: moment, concerns: none, hits: hitsInRestart},
	{name: "agent-kill-starting", weight: 4, pause: time.Second, length: seconds(0, 4), concerns: none},
	{name: "agent-away", weight: 1, pause: time.Second, length: seconds(1, 10), concerns: none},
	{name: "agent-other-maps", weight: 1, pause: moment, concerns: none},
	// Open vSwitch of a Node.
	{name: "ovs-restart", weight: 1, pause: moment, concerns: opening, withoutHits: every, bound: 20 * time.Second},
	{name: "vswitchd-restart", weight: 1, pause: moment, concerns: opening, withoutHits: every, bound: 20 * time.Second},
	{name: "vswitchd-kill", weight: 1, pause: moment, length: seconds(0, 3), concerns: opening, withoutHits: every, bound: 20 * time.Second},
	{name: "ovsdb-kill", weight: 1, pause: moment, length: seconds(0, 3), concerns: none},
	{name: "ovs-agent-restart", weight: 1, pause: moment, concerns: opening, withoutHits: every, bound: 35 * time.Second},
	{name: "flows-wiped", weight: 1, pause: moment, concerns: opening, probes: 4, withoutHits: every, bound: 10 * time.Second},
	// The network between Nodes.
	{name: "uplink-flap", weight: 1, pause: time.Second, length: seconds(0, 2), concerns: between, bound: 10 * time.Second},
	{name: "mtu-change", weight: 1, pause: time.Second, length: seconds(1, 3), concerns: none},
	{name: "next-hop-mac", weight: 1, pause: time.Second, concerns: between, bound: 10 * time.Second},
	{name: "second-default-route", weight: 1, pause: time.Second, length: seconds(0, 3), concerns: none},
	{name: "policy-route", weight: 1, pause: time.Second, length: seconds(0, 3), concerns: none},
	// Nodes, Pods, the control plane.
	{name: "node-added-or-removed", weight: 2, pause: time.Second, concerns: none},
	{name: "node-readdressed", weight: 1, pause: time.Second, concerns: none},
	{name: "node-other-pods", weight: 1, pause: time.Second, concerns: none},
	{name: "pod-churn", weight: 2, pause: time.Second, concerns: none},
	{name: "address-reused", weight: 2, pause: time.Second, concerns: none},
	{name: "api-away", weight: 1, pause: time.Second, length: seconds(1, 15), concerns: none},
	{name: "controller-restart", weight: 1, pause: time.Second, length: seconds(0, 5), concerns: none},
	{name: "controller-kill", weight: 1, pause: time.Second, length: seconds(0, 5), concerns: none},
	// The Egress of unrelated Pods; all other kinds also allow its connections to fail for a while, none another source.
	{name: "egress-moves", weight: 2, pause: time.Second, concerns: none, without: noEgress},
	{name: "egress-owner-kill", weight: 2, pause: moment, length: seconds(0, 10), concerns: none, without: noEgress},
	{name: "gossip-cut", weight: 1, pause: time.Second, length: seconds(5, 25), concerns: none, without: noEgress},
	// Ways between Nodes other than the tunnel.
	{name: "route-deleted", weight: 2, pause: time.Second, concerns: between, bound: 20 * time.Second,
		without: except("only packets of the host take the route", cluster.Encap)},
	{name: "node-moves", weight: 2, pause: moment, concerns: between, bound: time.Minute,
		without: except("another end of the tunnel is not tried yet", cluster.Encap)},
	{name: "wireguard-deleted", weight: 2, pause: time.Second, concerns: between, bound: 30 * time.Second, without: noWireGuard},
	{name: "wireguard-key", weight: 2, pause: time.Second, concerns: between, bound: time.Minute, without: noWireGuard},
	// NetworkPolicies.
	{name: "policy-elsewhere", weight: 2, pause: time.Second, concerns: none},
	{name: "policy-same-verdicts", weight: 2, pause: time.Second, concerns: none},
	{name: "policy-forbids-or-allows", weight: 3, pause: time.Second, concerns: none},
	// The machine.
	{name: "clock-step", weight: 1, pause: time.Second, length: seconds(1, 4), concerns: none,
		without: except("a peer refuses handshakes that are earlier by the clock than the last one, for the hour that the clock was ahead", cluster.WireGuard)},
	{name: "conntrack-full", weight: 1, pause: time.Second, length: seconds(1, 4), concerns: opening, bound: 10 * time.Second},
	{name: "memory-full", weight: 1, pause: time.Second, length: seconds(1, 4), concerns: none},
}

// sabotage are faults that a run must find. They are for the test of the oracle.
var sabotage = []kind{
	{name: "lose", weight: 1, concerns: none},
	{name: "open", weight: 1, concerns: none},
	{name: "wrong-source", weight: 1, length: seconds(2, 2), concerns: none, without: noEgress},
	{name: "in-clear", weight: 1, concerns: none, without: noWireGuard},
}

func seconds(least, most int) [2]time.Duration {
	return [2]time.Duration{time.Duration(least) * time.Second, time.Duration(most) * time.Second}
}
