// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// packetSocket sends and receives whole frames of one device.
type packetSocket struct{ fd int }

// receiveTimeout is how long receive waits.
const receiveTimeout = 100 * time.Millisecond

// openPacketSocket needs CAP_NET_RAW. It gets frames from now on.
func openPacketSocket(index int) (*packetSocket, error) {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("opening a packet socket: %w", err)
	}
	s := &packetSocket{fd}
	timeout := unix.NsecToTimeval(receiveTimeout.Nanoseconds())
	err = errors.Join(
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, socketBuffer),
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &timeout),
		unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: networkOrder(unix.ETH_P_ALL), Ifindex: index}),
	)
	if err != nil {
		s.Close()
		return nil, fmt.Errorf("preparing a packet socket on device %d: %w", index, err)
	}
	return s, nil
}

func networkOrder(v uint16) uint16 { return v<<8 | v>>8 }

func (s *packetSocket) Close() { unix.Close(s.fd) }

func (s *packetSocket) send(frame []byte) error {
	_, err := unix.Write(s.fd, frame)
	return err
}

// receive returns the length of the next frame, 0 when there was none for receiveTimeout, and whether this host has sent it.
func (s *packetSocket) receive(buf []byte) (n int, outgoing bool, err error) {
	n, from, err := unix.Recvfrom(s.fd, buf, 0)
	for errors.Is(err, unix.EINTR) { // the Go runtime signals its threads
		n, from, err = unix.Recvfrom(s.fd, buf, 0)
	}
	if errors.Is(err, unix.EAGAIN) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("receiving frames: %w", err)
	}
	link, ok := from.(*unix.SockaddrLinklayer)
	return n, ok && link.Pkttype == unix.PACKET_OUTGOING, nil
}
