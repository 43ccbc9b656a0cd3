// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package switchpair

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
)

// Port is a port of a bridge, of Open vSwitch's type "dummy", whose other end is this process: frames go both ways over a Unix
// socket, each after its length (2 bytes, big endian).
type Port struct {
	Name   string
	OFPort uint32
	MAC    net.HardwareAddr
	// IPv4 is the address of the Pod behind it.
	IPv4 netip.Addr
	conn net.Conn
}

// open connects to the socket that Open vSwitch listens on for this port. receive gets every frame that leaves the bridge there, until
// the port is closed.
func (p *Port) open(socket string, receive func(*Port, []byte)) error {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return fmt.Errorf("connect to the port %s of the bridge: %w", p.Name, err)
	}
	p.conn = conn
	go func() {
		defer conn.Close()
		var length [2]byte
		for {
			if _, err := io.ReadFull(conn, length[:]); err != nil {
				return // closed; whoever waits for a frame reports that it is missing
			}
			frame := make([]byte, binary.BigEndian.Uint16(length[:]))
			if _, err := io.ReadFull(conn, frame); err != nil {
				return
			}
			receive(p, frame)
		}
	}()
	return nil
}

// Send passes frames to the bridge, in order.
func (p *Port) Send(frames ...[]byte) error {
	var stream []byte
	for _, frame := range frames {
		stream = append(binary.BigEndian.AppendUint16(stream, uint16(len(frame))), frame...)
	}
	if _, err := p.conn.Write(stream); err != nil {
		return fmt.Errorf("send %d frames into the port %s of the bridge: %w", len(frames), p.Name, err)
	}
	return nil
}
