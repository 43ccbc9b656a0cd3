// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
	"github.com/antrea-oncache/antrea/test/tools/afpacket"
)

// sources counts the packets that arrive at a server, by their sources: also packets that no connection comes of.
type sources struct {
	server netip.AddrPort
	socket *afpacket.Socket
	ended  atomic.Bool
	failed chan error

	mu sync.Mutex
	// total is the number of all packets; packets has the ones since the last call of takeOther.
	total   uint64
	packets map[netip.Addr]uint64
}

// recordSources counts the packets that arrive in a space from now on.
func recordSources(at *cluster.Space, server netip.AddrPort) (*sources, error) {
	s := &sources{server: server, failed: make(chan error, 1), packets: map[netip.Addr]uint64{}}
	err := at.Do(func() error {
		device, err := net.InterfaceByName(cluster.Uplink)
		if err == nil {
			s.socket, err = afpacket.Open(device.Index, false)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	go func() { s.failed <- s.read() }()
	return s, nil
}

// read counts until the end.
func (s *sources) read() error {
	defer s.socket.Close()
	for !s.ended.Load() {
		frame, ok, err := s.socket.Receive(watchInterval)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if source, ok := sourceOf(frame.Data, s.server); ok {
			s.mu.Lock()
			s.total++
			s.packets[source]++
			s.mu.Unlock()
		}
	}
	return nil
}

// takeOther returns the packets since the last call that had other sources than the right one.
func (s *sources) takeOther(right netip.Addr) map[netip.Addr]uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.packets
	s.packets = map[netip.Addr]uint64{}
	delete(taken, right)
	return taken
}

// end ends the counting, and returns why it ended before, or that there was nothing to count.
func (s *sources) end() error {
	s.ended.Store(true)
	if err := <-s.failed; err != nil {
		return err
	}
	if s.total == 0 {
		return fmt.Errorf("no packet has arrived at %s, so no source was compared", s.server)
	}
	return nil
}

const (
	ethernetLength = 14
	ipv4Length     = 20
)

// sourceOf returns the source of a TCP packet to an address and port of IPv4; ok is false for other frames.
func sourceOf(frame []byte, to netip.AddrPort) (source netip.Addr, ok bool) {
	if len(frame) < ethernetLength+ipv4Length || binary.BigEndian.Uint16(frame[12:]) != unix.ETH_P_IP {
		return source, false
	}
	ip := frame[ethernetLength:]
	tcp := ip[min(int(ip[0]&0xf)*4, len(ip)):]
	if ip[9] != unix.IPPROTO_TCP || len(tcp) < 4 || netip.AddrFrom4([4]byte(ip[16:20])) != to.Addr() || binary.BigEndian.Uint16(tcp[2:]) != to.Port() {
		return source, false
	}
	return netip.AddrFrom4([4]byte(ip[12:16])), true
}
