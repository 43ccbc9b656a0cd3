// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package api declares what the agent's path /oncache answers and antctl get oncache prints.
package api

import (
	"fmt"
	"time"
)

// States of the cache.
const (
	// StateActive: established flows take the fast path.
	StateActive = "Active"
	// StateObserving: flows are learned and hits counted, but all traffic takes the slow path (oncache.mode: observe).
	StateObserving = "Observing"
	// StateOff: all traffic takes the slow path (oncache.mode: off).
	StateOff = "Off"
	// StateSuspended: the agent is starting, the transport interface is not usable at the moment, or carries programs of others that accelerated
	// packets would bypass; all traffic takes the slow path.
	StateSuspended = "Suspended"
	// StateUnavailable: this kernel or a device cannot carry the fast path; all traffic takes the slow path.
	StateUnavailable = "Unavailable"
)

// Status is the summary of one Node's cache.
type Status struct {
	// Time is the time at which the counters were read.
	Time  time.Time `json:"time,omitzero"`
	State string    `json:"state"`
	// Reason says why the state is Unavailable or Suspended.
	Reason string `json:"reason,omitempty"`
	Mode   string `json:"mode,omitempty"`
	Hook   string `json:"hook,omitempty"`
	Uplink string `json:"uplink,omitempty"`
	Tunnel string `json:"tunnel,omitempty"`
	// Rewrite is the port of rewritten packets, with oncache.tunnel: rewrite. Keys is the number of keys that other Nodes may use.
	Rewrite string `json:"rewrite,omitempty"`
	Keys    int    `json:"keys,omitempty"`
	// NotRewriting says why other Nodes are told no keys and so rewrite no packets to this one, although there is such a port.
	NotRewriting string `json:"notRewriting,omitempty"`
	LeaseSeconds int    `json:"leaseSeconds,omitempty"`
	// MaxFlows is the capacity per direction.
	MaxFlows uint32         `json:"maxFlows,omitempty"`
	Egress   DirectionStats `json:"egress"`
	Ingress  DirectionStats `json:"ingress"`
	// Endpoints is the number of local Pods that may use the cache, PodsOnOVS of those that may not at the moment.
	Endpoints int `json:"endpoints"`
	PodsOnOVS int `json:"podsOnOVS"`
	// Nodes is the number of remote Nodes that flows may go to, NodesOnOVS the number of Nodes that are reached without the tunnel, to which
	// there are no hits.
	Nodes      int `json:"nodes"`
	NodesOnOVS int `json:"nodesOnOVS"`

	Evictions Evictions `json:"evictions"`
	Conntrack Conntrack `json:"conntrack"`
	// Openings is set with oncache.openings.
	Openings *Openings `json:"openings,omitempty"`
	// OpenVSwitchAway is set while Open vSwitch cannot confirm entries.
	OpenVSwitchAway *Absence `json:"openVSwitchAway,omitempty"`
	// Programs counts packets by program and reason, without zeros.
	Programs map[string]map[string]uint64 `json:"programs,omitempty"`
	// MemoryBytes is the memory of all maps.
	MemoryBytes uint64 `json:"memoryBytes,omitempty"`
}

// Absence says why Open vSwitch counts as away, for how long it has done so, and how much longer leases are held; 0: they end.
type Absence struct {
	Reason      string  `json:"reason"`
	Seconds     float64 `json:"seconds"`
	HeldSeconds float64 `json:"heldSeconds"`
}

// String is one line for people.
func (a *Absence) String() string {
	held := "leases end"
	if a.HeldSeconds > 0 {
		held = fmt.Sprintf("leases are held for %.0fs more", a.HeldSeconds)
	}
	return fmt.Sprintf("away for %.0fs, %s: %s", a.Seconds, held, a.Reason)
}

// DirectionStats are the flow entries and packets of one direction.
type DirectionStats struct {
	// Entries is the number of entries in the map, Active of those that the next packet would use.
	Entries int `json:"entries"`
	Active  int `json:"active"`
	// Hits are packets that took the fast path; Misses are packets of a cacheable kind that had no usable entry.
	Hits   uint64 `json:"hits"`
	Misses uint64 `json:"misses"`
	// LocalHits are the Hits from one Pod of the Node to another; they are part of egress.
	LocalHits uint64 `json:"localHits,omitempty"`
	// RewrittenHits are the Hits that were rewritten instead of encapsulated.
	RewrittenHits uint64 `json:"rewrittenHits,omitempty"`
	// Restored are rewritten packets for which Open vSwitch has decided, UnknownKeys those that were dropped because their sender was not
	// given the key; both are part of ingress.
	Restored    uint64 `json:"restored,omitempty"`
	UnknownKeys uint64 `json:"unknownKeys,omitempty"`
	// WouldHit are packets that would have been hits, in mode observe.
	WouldHit uint64 `json:"wouldHit,omitempty"`
	// MissReasons splits Misses; Leases are the misses that confirmed live entries.
	MissReasons map[string]uint64 `json:"missReasons,omitempty"`
	// Uncacheable splits the packets that never take the fast path, by their kind.
	Uncacheable map[string]uint64 `json:"uncacheable,omitempty"`
	// Learned is the number of entries written, Renewed of those confirmed.
	Learned uint64 `json:"learned"`
	Renewed uint64 `json:"renewed"`
}

// Openings are verdicts of Open vSwitch about new TCP connections. So far none is used.
type Openings struct {
	Entries int    `json:"entries"`
	Learned uint64 `json:"learned"`
	Renewed uint64 `json:"renewed"`
	// Covered are the SYNs, repeated ones too, for which there was an opening.
	Covered uint64 `json:"covered"`
}

// OpeningInfo is one opening.
type OpeningInfo struct {
	// Client and Server are a local Pod and a Pod of the remote Node, Server with its port.
	Client string `json:"client"`
	Server string `json:"server"`
	Pod    string `json:"pod"` // namespace/name of the local Pod
	Node   string `json:"node"`
	// State is "active", or why the opening does not hold.
	State string `json:"state"`
	// Covered is the number of SYNs, repeated ones too, for which it was there.
	Covered uint64 `json:"covered"`
	// LeaseSeconds is the remaining lease, AgeSeconds the time since it was learned.
	LeaseSeconds float64 `json:"leaseSeconds"`
	AgeSeconds   float64 `json:"ageSeconds"`
}

// FlowInfo is one entry of the cache: one direction of a connection.
type FlowInfo struct {
	Direction string `json:"direction"`
	Protocol  string `json:"protocol"`
	// Source and Destination are the packets' addresses as they come from the Pod, or from the other Node.
	Source      string `json:"source"`
	Destination string `json:"destination"`
	// Translated is, in a connection to a Service, the new destination of an egress flow (the Endpoint) or the new source of an ingress
	// flow (the Service); "" in others. Within this Node both directions are egress flows; for the answers to the client it is the new
	// source, and SourceTranslated is set.
	Translated       string `json:"translated,omitempty"`
	SourceTranslated bool   `json:"sourceTranslated,omitempty"`
	Pod              string `json:"pod"` // namespace/name of the local Pod
	// Node is the remote Node, or "" for a flow within this Node. Then Peer is the Pod that receives, as namespace/name.
	Node string `json:"node"`
	Peer string `json:"peer,omitempty"`
	// State is "active", or why the next packet takes the slow path.
	State   string `json:"state"`
	Packets uint64 `json:"packets"`
	Bytes   uint64 `json:"bytes"`
	// LeaseSeconds is the remaining lease, AgeSeconds the time since the flow was first learned.
	LeaseSeconds float64 `json:"leaseSeconds"`
	AgeSeconds   float64 `json:"ageSeconds"`
	// Rewritten is set in an egress flow whose packets are rewritten instead of encapsulated.
	Rewritten bool `json:"rewritten,omitempty"`
}

// NodeInfo is one transport address of a remote Node.
type NodeInfo struct {
	Name string `json:"name"`
	// Reach is tunnel, direct, routed or wireguard.
	Reach string `json:"reach"`
	// TunnelIP is the Node's transport address, however it is reached.
	TunnelIP string   `json:"tunnelIP"`
	PodCIDRs []string `json:"podCIDRs"`
	// Slot means nothing with OnOVS.
	Slot int `json:"slot"`
	// OnOVS says why there are no hits to the Node; empty if there can be.
	OnOVS string `json:"onOVS,omitempty"`
}

// EndpointInfo is one local Pod.
type EndpointInfo struct {
	Pod           string `json:"pod"`
	InterfaceName string `json:"interfaceName"`
	// Kind is the kind of the interface: veth or netkit.
	Kind       string   `json:"kind"`
	IPs        []string `json:"ips"`
	IfIndex    int      `json:"ifIndex"`
	Slot       int      `json:"slot"`
	Generation uint32   `json:"generation"`
	// Epoch is the epoch that Open vSwitch must write into packets that may teach the cache; 0 while nothing is learned.
	Epoch uint32 `json:"epoch"`
	// Flows is the number of the Pod's entries in the cache, in both directions. It can be too high for up to a minute.
	Flows int `json:"flows"`
	// ShareUsedUp: a flow map is nearly full and the Pod has its share of it, so flows that are not in it stay on Open vSwitch.
	ShareUsedUp bool `json:"shareUsedUp,omitempty"`
	// OnOVS says why the Pod's traffic takes the slow path; "" when it may use the cache. Such a Pod has no slot.
	OnOVS string `json:"onOVS,omitempty"`
}

// Evictions counts generation increments by scope.
type Evictions struct {
	Endpoint uint64 `json:"endpoint"`
	Node     uint64 `json:"node"`
	All      uint64 `json:"all"`
}

// Conntrack counts the updates of conntrack's entries of accelerated connections.
type Conntrack struct {
	// Segments counts updates after conntrack had seen a segment, Idle updates for connections that had become idle.
	Segments uint64 `json:"segments"`
	Idle     uint64 `json:"idle"`
	Failed   uint64 `json:"failed"`
}

// Flushed is the result of a flush.
type Flushed struct {
	// Scope is "Pod <namespace>/<name>", "Node <name>" or "all".
	Scope string `json:"scope"`
	// Entries is the number of entries, of both directions, that were valid until then.
	Entries int `json:"entries"`
}

// ModeInfo is the mode that the operator wants.
type ModeInfo struct {
	Mode string `json:"mode"`
}
