// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"net"
	"net/netip"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
	"github.com/antrea-oncache/antrea/test/tools/afpacket"
)

// recording shows frames of a device to a function.
type recording struct {
	socket *afpacket.Socket
	ended  atomic.Bool
	failed chan error
}

// record shows all frames of a device in a space to see from now on, which must not keep them.
func record(at *cluster.Space, device string, see func(afpacket.Frame)) (*recording, error) {
	r := &recording{failed: make(chan error, 1)}
	err := at.Do(func() error {
		link, err := net.InterfaceByName(device)
		if err == nil {
			r.socket, err = afpacket.Open(link.Index, false)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	go func() { r.failed <- r.read(see) }()
	return r, nil
}

func (r *recording) read(see func(afpacket.Frame)) error {
	defer r.socket.Close()
	for !r.ended.Load() {
		frame, ok, err := r.socket.Receive(watchInterval)
		if err != nil {
			return err
		}
		if ok {
			see(frame)
		}
	}
	return nil
}

// end ends the recording, and returns why it ended before.
func (r *recording) end() error {
	r.ended.Store(true)
	return <-r.failed
}

const (
	ethernetLength = 14
	ipv4Length     = 20
)

// packet is an IPv4 packet of a frame. port is the destination port of TCP and UDP, 0 for others and for fragments but the first.
type packet struct {
	source, destination netip.Addr
	protocol            byte
	port                uint16
}

// packetOf reads a frame; ok is false if it has no whole header of IPv4.
func packetOf(frame []byte) (p packet, ok bool) {
	if len(frame) < ethernetLength+ipv4Length || binary.BigEndian.Uint16(frame[12:]) != unix.ETH_P_IP {
		return p, false
	}
	ip := frame[ethernetLength:]
	p = packet{source: netip.AddrFrom4([4]byte(ip[12:16])), destination: netip.AddrFrom4([4]byte(ip[16:20])), protocol: ip[9]}
	transport := ip[min(int(ip[0]&0xf)*4, len(ip)):]
	first := binary.BigEndian.Uint16(ip[6:])&0x1fff == 0
	if first && len(transport) >= 4 && (p.protocol == unix.IPPROTO_TCP || p.protocol == unix.IPPROTO_UDP) {
		p.port = binary.BigEndian.Uint16(transport[2:])
	}
	return p, true
}
