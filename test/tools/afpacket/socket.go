// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package afpacket sends and receives whole frames of one network device through a packet socket (packet(7)), together with the
// kernel's metadata of a frame.
package afpacket

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// bufferSize holds tens of seconds of small frames: on a machine with too little CPU time, frames that the network has delivered
	// must not be lost before the program can read them.
	bufferSize = 64 << 20
	// maxFrame is the size of the kernel's largest super-packet with its headers.
	maxFrame = 1<<16 + 256
)

// Socket is a packet socket on one device.
type Socket struct {
	fd int
	// offloads says that frames are sent and received with their Offload.
	offloads bool
	frame    [offloadLength + maxFrame]byte
	control  [256]byte
}

// Open needs CAP_NET_RAW. From now on the socket gets the frames of the device with this index in both directions, except those that
// it sends itself. With offloads, Frame.Offload is sent and received; receiving a frame of any other kind of segmentation fails.
func Open(index int, offloads bool) (*Socket, error) {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("opening a packet socket: %w", err)
	}
	s := &Socket{fd: fd, offloads: offloads}
	err = errors.Join(
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, bufferSize),
		unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_AUXDATA, 1),
	)
	if offloads {
		err = errors.Join(err, unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_VNET_HDR, 1),
			unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVMARK, 1))
	}
	err = errors.Join(err, unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: networkOrder(unix.ETH_P_ALL), Ifindex: index}))
	if err != nil {
		s.Close()
		return nil, fmt.Errorf("preparing a packet socket on device %d: %w", index, err)
	}
	return s, nil
}

func networkOrder(v uint16) uint16 { return v<<8 | v>>8 }

// Close closes the socket.
func (s *Socket) Close() { unix.Close(s.fd) }

// Send sends a frame, with its Offload if the socket was opened with offloads.
func (s *Socket) Send(f Frame) error {
	data := f.Data
	if s.offloads {
		data = append(f.Offload.append(make([]byte, 0, offloadLength+len(data))), data...)
	}
	_, err := unix.Write(s.fd, data)
	return err
}

// Receive returns the next frame, for which it waits at most for wait; ok is false when there was none. Frame.Data is valid until the
// next call.
func (s *Socket) Receive(wait time.Duration) (f Frame, ok bool, err error) {
	n, control, from, err := s.receive()
	if errors.Is(err, unix.EAGAIN) && wait > 0 {
		if _, err := Wait(wait, s); err != nil {
			return f, false, err
		}
		n, control, from, err = s.receive()
	}
	if errors.Is(err, unix.EAGAIN) {
		return f, false, nil
	}
	if err != nil {
		return f, false, fmt.Errorf("receiving frames: %w", err)
	}
	f.Data = s.frame[:n]
	if s.offloads {
		f.Offload, f.Data = parseOffload(f.Data), f.Data[offloadLength:]
	}
	if link, isLink := from.(*unix.SockaddrLinklayer); isLink {
		f.Type = PacketType(link.Pkttype)
	}
	return f, true, f.parseControl(control)
}

func (s *Socket) receive() (n int, control []byte, from unix.Sockaddr, err error) {
	err = unix.EINTR // the Go runtime signals its threads
	var c int
	for errors.Is(err, unix.EINTR) {
		n, c, _, from, err = unix.Recvmsg(s.fd, s.frame[:], s.control[:], 0)
	}
	return n, s.control[:max(c, 0)], from, err
}

// Recvfrom is unix.Recvfrom for a socket that is not a Socket and has a time limit (SO_RCVTIMEO): signals of the Go runtime interrupt such
// calls (signal(7)), and each repetition has the whole time again.
func Recvfrom(fd int, b []byte) (n int, from unix.Sockaddr, err error) {
	for err = unix.EINTR; errors.Is(err, unix.EINTR); {
		n, from, err = unix.Recvfrom(fd, b, 0)
	}
	return n, from, err
}

// Wait waits, at most for limit, until one of the sockets has a frame, and says whether one has.
func Wait(limit time.Duration, sockets ...*Socket) (bool, error) {
	fds := make([]unix.PollFd, len(sockets))
	for i, s := range sockets {
		fds[i] = unix.PollFd{Fd: int32(s.fd), Events: unix.POLLIN}
	}
	for deadline := time.Now().Add(limit); ; {
		n, err := unix.Poll(fds, int(max(0, time.Until(deadline).Milliseconds())))
		if !errors.Is(err, unix.EINTR) {
			return n > 0, err
		}
	}
}
