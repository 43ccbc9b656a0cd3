// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
	"github.com/antrea-oncache/antrea/test/tools/afpacket"
)

// sources counts the packets that arrive at a server, by their sources: also packets that no connection comes of.
type sources struct {
	server    netip.AddrPort
	recording *recording

	mu sync.Mutex
	// total is the number of all packets; packets has the ones since the last call of takeOther.
	total   uint64
	packets map[netip.Addr]uint64
}

// recordSources counts the packets that arrive in a space from now on.
func recordSources(at *cluster.Space, server netip.AddrPort) (s *sources, err error) {
	s = &sources{server: server, packets: map[netip.Addr]uint64{}}
	s.recording, err = record(at, cluster.Uplink, s.see)
	return s, err
}

func (s *sources) see(frame afpacket.Frame) {
	source, ok := sourceOf(frame.Data, s.server)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total++
	s.packets[source]++
}

// takeOther returns the packets since the last call that had other sources than the right ones.
func (s *sources) takeOther(right []netip.Addr) map[netip.Addr]uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.packets
	s.packets = map[netip.Addr]uint64{}
	for _, source := range right {
		delete(taken, source)
	}
	return taken
}

// end ends the counting, and returns why it ended before, or that there was nothing to count.
func (s *sources) end() error {
	if err := s.recording.end(); err != nil {
		return err
	}
	if s.total == 0 {
		return fmt.Errorf("no packet has arrived at %s, so no source was compared", s.server)
	}
	return nil
}

// sourceOf returns the source of a TCP packet to an address and port of IPv4; ok is false for other frames.
func sourceOf(frame []byte, to netip.AddrPort) (source netip.Addr, ok bool) {
	p, ok := packetOf(frame)
	return p.source, ok && p.protocol == unix.IPPROTO_TCP && p.destination == to.Addr() && p.port == to.Port()
}

// rightSources are the sources that packets of Pods may have outside: the Egress address or, in a mode without Egress, an address of a Node.
func (w *world) rightSources() []netip.Addr {
	if w.mode == cluster.Encap {
		return []netip.Addr{egressAddress}
	}
	return []netip.Addr{w.Nodes[0].IPv4, w.homes[0].address, w.homes[1].address}
}

// addSources judges packets that came to outside during an event with other sources than the right ones: no event allows any.
func (l *ledger) addSources(e event, wrong map[netip.Addr]uint64, right []netip.Addr) (complaints []string) {
	for source, packets := range wrong {
		l.wrongSource += packets
		complaints = append(complaints, fmt.Sprintf("%d packets of Pods to outside had the source %s instead of %s during %s", packets, source, listed(right), e))
	}
	slices.Sort(complaints)
	l.complaints = append(l.complaints, complaints...)
	return complaints
}

func listed(addresses []netip.Addr) string {
	var texts []string
	for _, a := range addresses {
		texts = append(texts, a.String())
	}
	return strings.Join(texts, " or ")
}
