// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package flows decides which flow records exist and what they contain, without I/O: a Ledger takes the counters of
// conntrack and the cache, and returns the records that are due. Denials do the same for connections that policies deny.
package flows

import (
	"net/netip"
	"time"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
)

// Count counts one direction: packets as the kernel handles them, and their bytes from the IP header on.
type Count = conntrack.Counter

// Counts count the original direction, from the client, and the reply direction.
type Counts [2]Count

// Entry is one direction of a connection in the cache.
type Entry struct {
	// Sent has the addresses of the connection's packets as the local Pod sends them, whichever direction the entry is for.
	Sent conntrack.Tuple
	// Egress is set when the entry is for what the local Pod sends.
	Egress bool
	// Created tells the entry from others with the same addresses.
	Created uint64
	// Count is the entry's count since then.
	Count Count
	// former marks an entry that was made before this agent, when the agent sees it for the first time.
	former bool
}

// Policy is a rule that has admitted or denied a connection. The zero Policy stands for none; a Policy with only an Action, for isolation.
type Policy struct {
	// Type is a value of the information element ingressNetworkPolicyType, Action of ingressNetworkPolicyRuleAction.
	Type, Action               uint8
	Namespace, Name, UID, Rule string
}

// Pod is a local Pod; it is empty if the address is not one of a local Pod.
type Pod struct{ Namespace, Name string }

// Egress is the Egress object that gives packets of a Pod their source outside the cluster. The zero Egress stands for none. Node is empty while none has the
// address.
type Egress struct{ Name, IP, Node string }

// Info describes a connection beyond its addresses.
type Info struct {
	Source, Destination Pod
	// SourceNode and DestinationNode are set where the Pod is.
	SourceNode, DestinationNode string
	// ServicePortName is NAMESPACE/NAME:PORT; empty if the destination is not translated by a known Service.
	ServicePortName string
	Ingress, Egress Policy
	// SNAT is set for connections to outside the cluster.
	SNAT Egress
	// FlowType is a value of the information element flowType.
	FlowType uint8
}

// Reason is a value of the information element flowEndReason (RFC 5102, section 5.11.3).
type Reason uint8

const (
	// ReasonIdle: no packet for the idle timeout. The flow may continue.
	ReasonIdle Reason = 1
	// ReasonActive: the flow continues.
	ReasonActive Reason = 2
	// ReasonEnd: the connection is closing or has been removed from conntrack.
	ReasonEnd Reason = 3
)

// Record is a flow record. Deltas are since the record before.
type Record struct {
	Info
	Protocol uint8
	// Client has opened the connection to Dialed, and Server answers. The last two differ if the destination is translated.
	Client, Dialed, Server netip.AddrPort
	Start, End             time.Time
	Reason                 Reason
	Total, Delta           Counts
	// TCPState is conntrack's; empty for other protocols.
	TCPState string

	// flow, or denied, is the state that the record is about.
	flow   *flow
	denied *denied
}

// key identifies a connection: the addresses are used again by later ones.
type key struct {
	zone     uint16
	original conntrack.Tuple
	id       uint32
	started  int64
}

func keyOf(c *conntrack.Connection) key {
	k := key{zone: c.Zone, original: c.Original, id: c.ID()}
	if !c.Started.IsZero() {
		k.started = c.Started.UnixNano()
	}
	return k
}

// flow is the state of a connection. State stores the exported fields.
type flow struct {
	Zone                   uint16
	ID                     uint32
	Started                int64
	Original, Reply        conntrack.Tuple
	Client, Dialed, Server netip.AddrPort
	Info                   Info
	TCPState               string
	Closing                bool
	// Slow is the count of conntrack at the last reading, Fast the total count of the cache, Exported the sum in
	// records.
	Slow, Fast, Exported Counts
	// First is the start of the connection, Last the time at which a packet of it was last noticed, Sent the time of
	// its last record.
	First, Last, Sent time.Time
	// Begun, Idle and EndSent: there is a record; the last one says idle; there is one that says end.
	Begun, Idle, EndSent bool

	// missed is the number of readings in a row without the connection. It has ended when it is gone.
	missed int
	gone   bool
}

func (f *flow) key() key { return key{f.Zone, f.Original, f.ID, f.Started} }

func (f *flow) total() (total Counts) {
	for d := range total {
		total[d] = Count{Packets: f.Slow[d].Packets + f.Fast[d].Packets, Bytes: f.Slow[d].Bytes + f.Fast[d].Bytes}
	}
	return total
}

func newFlow(c *conntrack.Connection, info Info, now time.Time) *flow {
	f := &flow{Zone: c.Zone, ID: c.ID(), Original: c.Original, Reply: c.Reply, Info: info, First: now, Last: now}
	if !c.Started.IsZero() {
		f.Started, f.First = c.Started.UnixNano(), c.Started
	}
	f.Client, f.Dialed, f.Server = c.Ends()
	return f
}

// update takes over what conntrack says now.
func (f *flow) update(c *conntrack.Connection, now time.Time) {
	f.missed = 0
	if f.Slow != c.Counters {
		f.Slow, f.Last = c.Counters, now
	}
	if c.TCP != nil {
		f.TCPState = c.TCP.State.String()
		f.Closing = c.TCP.State == conntrack.StateTimeWait || c.TCP.State == conntrack.StateClose
	}
}

// restarted reports whether c is a new connection with the key of f: counters never decrease.
func (f *flow) restarted(c *conntrack.Connection) bool {
	for d, count := range c.Counters {
		if count.Packets < f.Slow[d].Packets || count.Bytes < f.Slow[d].Bytes {
			return true
		}
	}
	return false
}

// add counts what the cache has carried in a direction: 0 is the original one.
func (f *flow) add(direction int, count Count, now time.Time) {
	f.Fast[direction].Packets += count.Packets
	f.Fast[direction].Bytes += count.Bytes
	f.Last = now
}
