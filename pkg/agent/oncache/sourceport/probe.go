// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package sourceport

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"net"
	"runtime"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

const (
	// tunnelPort is the destination port of the probe's tunnel. The probe's namespace has no other traffic.
	tunnelPort = 4789
	// flows is the number of flows sent. A kernel that uses both ports of a range of two uses only the first port for all flows once in
	// 2^flows times.
	flows = 64
	// patience limits the wait for a packet sent to the same namespace.
	patience = 5 * time.Second
)

// The tunnel enters one of a pair of devices and is read at the other. The addresses of the far ends are unused.
var (
	outerNear, outerFar = net.IPv4(198, 51, 100, 1), net.IPv4(198, 51, 100, 2)
	innerNear, innerFar = net.IPv4(192, 0, 2, 1), net.IPv4(192, 0, 2, 2)
)

// probe reports whether the kernel uses the last port of a range: it sends packets through a VXLAN device with the ports 1 and 2, in a
// network namespace of its own.
func probe() (usesLast bool, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		// The thread stays locked and ends with the goroutine, and so does the namespace.
		runtime.LockOSThread()
		if err = unix.Unshare(unix.CLONE_NEWNET); err != nil {
			err = fmt.Errorf("make a network namespace: %w", err)
			return
		}
		end, err2 := addTunnel()
		if err = err2; err == nil {
			usesLast, err = observe(end)
		}
	}()
	<-done
	return usesLast, err
}

// addTunnel makes a VXLAN device whose packets leave through a veth pair, and returns the index of the pair's other end. (Through the
// loopback device they would not be encapsulated.)
func addTunnel() (end int, err error) {
	attrs := netlink.NewLinkAttrs()
	attrs.Name = "probe-out"
	out := &netlink.Veth{LinkAttrs: attrs, PeerName: "probe-end"}
	if err := netlink.LinkAdd(out); err != nil {
		return 0, fmt.Errorf("make a veth pair: %w", err)
	}
	peer, err := netlink.LinkByName(out.PeerName)
	if err != nil {
		return 0, fmt.Errorf("find the end of a veth pair: %w", err)
	}
	attrs = netlink.NewLinkAttrs()
	attrs.Name = "probe"
	tunnel := &netlink.Vxlan{LinkAttrs: attrs, VxlanId: 1, Group: outerFar, Port: tunnelPort, PortLow: 1, PortHigh: 2}
	if err := netlink.LinkAdd(tunnel); err != nil {
		return 0, fmt.Errorf("make a VXLAN device: %w", err)
	}
	return peer.Attrs().Index, errors.Join(netlink.LinkSetUp(peer), setUp(out, outerNear, outerFar), setUp(tunnel, innerNear, innerFar))
}

// setUp gives a device an address and a neighbor.
func setUp(link netlink.Link, near, far net.IP) error {
	address := &netlink.Addr{IPNet: &net.IPNet{IP: near, Mask: net.CIDRMask(24, 32)}}
	neighbor := &netlink.Neigh{
		LinkIndex: link.Attrs().Index, State: netlink.NUD_PERMANENT, IP: far, HardwareAddr: net.HardwareAddr{2, 0, 0, 0, 0, 1},
	}
	if err := errors.Join(netlink.LinkSetUp(link), netlink.AddrAdd(link, address), netlink.NeighAdd(neighbor)); err != nil {
		return fmt.Errorf("set up device %s: %w", link.Attrs().Name, err)
	}
	return nil
}

// observe sends packets of many flows through the tunnel and reads their source ports at the end of the veth pair.
func observe(end int) (usesLast bool, err error) {
	ip := bits.ReverseBytes16(unix.ETH_P_IP)
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, int(ip))
	if err != nil {
		return false, fmt.Errorf("open a packet socket: %w", err)
	}
	defer unix.Close(fd)
	if err := unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: ip, Ifindex: end}); err != nil {
		return false, fmt.Errorf("bind a packet socket: %w", err)
	}
	limit := unix.NsecToTimeval(int64(patience))
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &limit); err != nil {
		return false, fmt.Errorf("limit the wait of a packet socket: %w", err)
	}
	for flow := range flows {
		if err := send(1024 + flow); err != nil {
			return false, err
		}
		port, err := receive(fd)
		if err != nil {
			return false, fmt.Errorf("read the packet of flow %d of %d outside the tunnel: %w", flow+1, flows, err)
		}
		if usesLast = port == 2; usesLast {
			break
		}
	}
	return usesLast, nil
}

// send sends a packet into the tunnel.
func send(port int) error {
	conn, err := net.DialUDP("udp4", &net.UDPAddr{IP: innerNear, Port: port}, &net.UDPAddr{IP: innerFar, Port: 9})
	if err != nil {
		return fmt.Errorf("open a socket: %w", err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte{0}); err != nil {
		return fmt.Errorf("send into the tunnel: %w", err)
	}
	return nil
}

// receive returns the source port of the next packet of the tunnel.
func receive(fd int) (uint16, error) {
	packet := make([]byte, 256) // from the IP header on
	for {
		n, _, err := unix.Recvfrom(fd, packet, 0)
		if err == unix.EINTR { // the Go runtime signals its threads, and calls with a time limit are not restarted (signal(7))
			continue
		}
		if err != nil {
			return 0, err
		}
		header := int(packet[0]&0xf) * 4
		if n < header+8 || packet[9] != unix.IPPROTO_UDP {
			continue
		}
		if udp := packet[header:]; binary.BigEndian.Uint16(udp[2:]) == tunnelPort {
			return binary.BigEndian.Uint16(udp), nil
		}
	}
}
