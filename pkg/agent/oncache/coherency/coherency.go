// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package coherency declares the contract that keeps ONCache never older than Open vSwitch. A component that changes
// forwarding state tells an Interceptor before it sends the change, carries the Interceptor's marks in the same atomic
// OpenFlow bundle, and then tells it whether the switch has accepted. It depends on package reach alone, so that the OpenFlow
// client can use it without knowing the cache.
package coherency

import (
	"net/netip"

	"github.com/antrea-oncache/antrea/pkg/agent/reach"
)

// Node is one way to a remote Node.
type Node struct {
	Name  string
	Reach reach.Reach
	// PodCIDRs are the Pod networks reached in this way.
	PodCIDRs []netip.Prefix
}

// Change says what one OpenFlow bundle alters, in terms of who is affected. The zero Change affects no established
// flow (for example a bundle that only adds a new Node).
type Change struct {
	// Interfaces are local Pod interfaces (OVS port names) whose forwarding or policy changes.
	Interfaces []string
	// RemovedInterfaces are local Pod interfaces that cease to exist with this change.
	RemovedInterfaces []string
	// Nodes are remote Nodes in their state after the change. A Node that is reached in more than one way has
	// an entry for each. A Node that is new, or unchanged, affects nothing.
	Nodes []Node
	// RemovedNodes are names of remote Nodes that cease to exist with this change.
	RemovedNodes []string
	// Services are addresses of Services for which the change matters as follows: from now on, connections of Pods to them may
	// (true) or cannot (false) be opened to an Endpoint in the Pod network. That affects no flow that is established.
	Services map[netip.Addr]bool
	// Frontends are the addresses of Services that the change concerns and does not remove. That affects no flow that is established, but new
	// connections to Pods, if Pods have these addresses.
	Frontends []netip.Addr
	// All is set when the change may affect any flow.
	All bool
	// Replay is set when the bundle also sends again everything that the switch should have already. If the switch accepts it, any flow
	// may be affected, because its former flows are unknown. If it does not, only the flows that the other fields name are affected.
	Replay bool
}

// Mark is the content of the mark flows of one local Pod interface: from now on Open vSwitch writes Epoch (0..511) into packets
// of its established connections. It goes into bits 20-29 of the packet mark, except in packets that the interface receives from
// another Pod of this Node: there it becomes the queue. 0 means that nothing may be learned from them.
type Mark struct {
	InterfaceName string
	OFPort        uint32
	Epoch         uint16
	// Openings: bit 29 of the packet mark and the epoch are also written into packets between the interface and the tunnel that open a TCP
	// connection, or another one, unless there are rules about source ports for the Pod: what they decide about one connection says nothing
	// about the next.
	Openings bool
	// Direct: the epoch is also written into packets between the interface and the gateway. The programs on the gateway must remove it from
	// those that do not go to a Pod of a Node reached directly.
	Direct bool
}

// Interceptor is called around every bundle that the OpenFlow client sends.
type Interceptor interface {
	// Begin is called before the bundle is built. The marks must be written in the same atomic bundle as the change.
	// End must be called exactly once, after the barrier reply that follows the bundle (err nil) or when the bundle was
	// refused or its fate is unknown (err not nil). Begin holds a lock until end is called: changes are serialized.
	Begin(Change) (marks []Mark, end func(err error))
}
