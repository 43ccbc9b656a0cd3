// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
	"github.com/antrea-oncache/antrea/test/env/switchpair"
	"github.com/antrea-oncache/antrea/test/tools/wire"
)

// connections is the conntrack table of Open vSwitch in user space, for the part of the agent that ends connections and expects the kernel's.
type connections struct {
	node   *switchpair.Node
	bridge of.Switch

	mu sync.Mutex
	// cut has the connections that are cut, by the direction that the client sends in.
	cut map[conntrack.Tuple]bool
}

func newConnections(node *switchpair.Node, bridge of.Switch) *connections {
	return &connections{node: node, bridge: bridge, cut: map[conntrack.Tuple]bool{}}
}

// List implements agentpolicy.Connections.
func (c *connections) List(yield func(*conntrack.Connection) bool) error {
	all, err := c.node.Connections(context.Background())
	if err != nil {
		return err
	}
	for _, connection := range all {
		if slices.Contains(openflow.ConntrackZones, connection.Zone) && !yield(connection) {
			return nil
		}
	}
	return nil
}

// SetMark implements agentpolicy.Connections. Open vSwitch has no command for that, but another packet of the connection can bring a mark.
func (c *connections) SetMark(connection *conntrack.Connection, value, mask uint32) error {
	tuple := connection.Original
	packet := wire.Data(wire.Leg{
		SourceMAC: unusedMAC, DestinationMAC: unusedMAC, Source: netip.AddrPortFrom(tuple.Source, tuple.SourcePort), Destination: netip.AddrPortFrom(tuple.Destination, tuple.DestinationPort),
	}, tuple.Protocol, 0, 0, false)
	mark := of.SetField{Field: of.FieldCTMark, Value: binary.BigEndian.AppendUint32(nil, value), Mask: binary.BigEndian.AppendUint32(nil, mask)}
	ct := of.CT{Commit: true, Zone: connection.Zone, Exec: []of.Action{mark}}
	if err := c.bridge.PacketOut(context.Background(), of.PacketOut{Actions: []of.Action{ct}, Data: packet}); err != nil {
		return fmt.Errorf("mark the connection %+v: %w", tuple, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut[tuple] = value&mask&openflow.CutMark != 0
	return nil
}

// unusedMAC is a MAC address that is not on any bridge.
var unusedMAC = net.HardwareAddr{0x0a, 0, 0, 0, 0xff, 1}

// hasCut reports whether the connection of a trial is cut here, where it may be known by the Service that was dialed. masquerade is the address that
// the server's Node sees if the client has dialed a NodePort of another Node, or invalid.
func (c *connections) hasCut(t *trial, masquerade netip.Addr) bool {
	client, dialed := ends(t.Probe)
	_, server := t.Addresses()
	tuple := conntrack.Tuple{Source: client.Addr(), SourcePort: client.Port(), Protocol: protocolOf(t.Probe), Destination: dialed.Addr(), DestinationPort: dialed.Port()}
	served := tuple
	served.Destination, served.DestinationPort = server, t.Port
	forwarded := served
	forwarded.Source = masquerade
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cut[tuple] || c.cut[served] || c.cut[forwarded]
}

// forget says that the table is about to be emptied.
func (c *connections) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.cut)
}

// hasPackets reports whether Data makes packets of a protocol.
func hasPackets(protocol uint8) bool {
	return protocol == unix.IPPROTO_TCP || protocol == unix.IPPROTO_UDP
}

// hasCut reports whether an agent has cut the connection of a trial.
func (c *cluster) hasCut(t *trial) bool {
	var masquerade netip.Addr
	for _, n := range c.switches {
		if n.Name() == t.Dialed && t.Dialed != t.To.Node {
			masquerade = gatewayIP(n.Identity, t.IPv6)
		}
	}
	return slices.ContainsFunc(c.switches, func(n nodeSwitch) bool { return n.connections.hasCut(t, masquerade) })
}

// forgetCuts says that conntrack is about to be emptied.
func (c *cluster) forgetCuts() {
	for _, n := range c.switches {
		n.connections.forget()
	}
}
