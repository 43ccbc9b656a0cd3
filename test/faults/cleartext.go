// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	agentconfig "github.com/antrea-oncache/antrea/pkg/config/agent"
	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
	"github.com/antrea-oncache/antrea/test/tools/afpacket"
)

const genevePort = 6081

// podNetworks contains the Pod networks of all Nodes, of the third one as well.
var podNetworks = netip.MustParsePrefix("10.10.0.0/16")

// ends are source and destination of packets.
type ends struct{ from, to netip.Addr }

// clearText counts what Nodes send that WireGuard should have encrypted: also packets that nothing comes of.
type clearText struct {
	recordings []*recording

	mu sync.Mutex
	// encrypted is the number of encrypted packets; packets has the others since the last call of take.
	encrypted uint64
	packets   map[ends]uint64
}

// recordClearText counts the packets that each Node sends from now on, where its cable is plugged into the network.
func recordClearText(c *cluster.Cluster) (*clearText, error) {
	t := &clearText{packets: map[ends]uint64{}}
	for _, n := range c.Nodes {
		r, err := record(c.Fabric, n.Name, t.see)
		if err != nil {
			return t, err
		}
		t.recordings = append(t.recordings, r)
	}
	return t, nil
}

func (t *clearText) see(frame afpacket.Frame) {
	if frame.Type == afpacket.Outgoing { // to the Node
		return
	}
	p, ok := packetOf(frame.Data)
	if !ok {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case p.inClear():
		t.packets[ends{p.source, p.destination}]++
	case p.protocol == unix.IPPROTO_UDP && p.port == agentconfig.DefaultWireGuardPort:
		t.encrypted++
	}
}

// inClear reports whether the packet is from or to a Pod, or the host's address in a Pod network, or in the tunnel. Its destination counts as well: packets
// of a host to another Node's Pod have the host's address if they take a wrong way.
func (p packet) inClear() bool {
	return podNetworks.Contains(p.source) || podNetworks.Contains(p.destination) || p.protocol == unix.IPPROTO_UDP && p.port == genevePort
}

// take returns the packets in clear since the last call.
func (t *clearText) take() map[ends]uint64 {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	taken := t.packets
	t.packets = map[ends]uint64{}
	return taken
}

// end ends the counting, and returns why it ended before, or that no packet was encrypted.
func (t *clearText) end() (err error) {
	for _, r := range t.recordings {
		err = errors.Join(err, r.end())
	}
	if err == nil && t.encrypted == 0 {
		err = fmt.Errorf("no Node has sent a packet to UDP port %d, so nothing was encrypted", agentconfig.DefaultWireGuardPort)
	}
	return err
}

// addClearText judges packets that were in clear during an event: no event allows any.
func (l *ledger) addClearText(e event, seen map[ends]uint64) (complaints []string) {
	for ends, packets := range seen {
		l.clearText += packets
		complaints = append(complaints, fmt.Sprintf("%d packets from %s to %s were not encrypted during %s", packets, ends.from, ends.to, e))
	}
	slices.Sort(complaints)
	l.complaints = append(l.complaints, complaints...)
	return complaints
}
