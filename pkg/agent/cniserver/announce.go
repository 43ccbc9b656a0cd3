// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cniserver

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/containernetworking/plugins/pkg/ns"
	"golang.org/x/sys/unix"
	"k8s.io/klog/v2"
)

const (
	announcementCount    = 3
	announcementInterval = 50 * time.Millisecond
)

// gratuitousARPFrame returns an Ethernet frame with an ARP request for the sender's own address (RFC 5227, 3:
// announcement).
func gratuitousARPFrame(ip netip.Addr, mac net.HardwareAddr) []byte {
	addr := ip.As4()
	frame := make([]byte, 0, 42)
	frame = append(frame, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)
	frame = append(frame, mac...)
	frame = binary.BigEndian.AppendUint16(frame, unix.ETH_P_ARP)
	frame = binary.BigEndian.AppendUint16(frame, 1) // Ethernet
	frame = binary.BigEndian.AppendUint16(frame, unix.ETH_P_IP)
	frame = append(frame, 6, 4)
	frame = binary.BigEndian.AppendUint16(frame, 1) // request
	frame = append(frame, mac...)
	frame = append(frame, addr[:]...)
	frame = append(frame, make([]byte, 6)...)
	return append(frame, addr[:]...)
}

// unsolicitedNeighborAdvertisement returns an Ethernet frame that tells all nodes (ff02::1) the MAC address of ip, and
// makes them forget any other (RFC 4861, 7.2.6).
func unsolicitedNeighborAdvertisement(ip netip.Addr, mac net.HardwareAddr) []byte {
	const (
		ipv6Header  = 40
		icmpLen     = 32 // header and flags (8), target (16), option (8)
		flagReplace = 0x20
	)
	src, allNodes := ip.As16(), netip.IPv6LinkLocalAllNodes().As16()
	frame := []byte{0x33, 0x33, 0, 0, 0, 1}
	frame = append(frame, mac...)
	frame = binary.BigEndian.AppendUint16(frame, unix.ETH_P_IPV6)
	ip6 := len(frame)
	frame = append(frame, 0x60, 0, 0, 0, 0, icmpLen, unix.IPPROTO_ICMPV6, 255)
	frame = append(frame, src[:]...)
	frame = append(frame, allNodes[:]...)
	frame = append(frame, 136, 0, 0, 0, flagReplace, 0, 0, 0)
	frame = append(frame, src[:]...)
	frame = append(frame, 2, 1) // target link-layer address, in units of 8 bytes
	frame = append(frame, mac...)
	sum := internetSum(frame[ip6+8:]) + icmpLen + unix.IPPROTO_ICMPV6 // pseudo-header: RFC 8200, 8.1
	for sum>>16 != 0 {
		sum = sum&0xffff + sum>>16
	}
	binary.BigEndian.PutUint16(frame[ip6+ipv6Header+2:], ^uint16(sum))
	return frame
}

// internetSum adds up 16-bit words (RFC 1071); b has an even number of bytes.
func internetSum(b []byte) (sum uint32) {
	for i := 0; i < len(b); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	return sum
}

// packetSocket opens a socket that sends whole frames from an interface of the Pod's namespace; it receives nothing. It
// works, and keeps the namespace alive, until it is closed.
func packetSocket(pod ns.NetNS, ifname string) (fd int, err error) {
	err = pod.Do(func(ns.NetNS) error {
		iface, err := net.InterfaceByName(ifname)
		if err != nil {
			return fmt.Errorf("find interface: %w", err)
		}
		if fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0); err != nil {
			return fmt.Errorf("socket: %w", err)
		}
		if err := unix.Bind(fd, &unix.SockaddrLinklayer{Ifindex: iface.Index}); err != nil {
			unix.Close(fd)
			return fmt.Errorf("bind: %w", err)
		}
		return nil
	})
	if err != nil {
		return -1, fmt.Errorf("packet socket on container interface %s: %w", ifname, err)
	}
	return fd, nil
}

// announce sends gratuitous ARPs for a Pod's IPv4 addresses and neighbor advertisements for its IPv6 ones on fd, which it
// closes. It stops at the first error; deleting the Pod meanwhile causes one.
func announce(ctx context.Context, fd int, p *podInterface) {
	defer unix.Close(fd)
	ticker := time.NewTicker(announcementInterval)
	defer ticker.Stop()
	for sent := 0; ; {
		for _, a := range p.addresses {
			frame := unsolicitedNeighborAdvertisement
			if a.prefix.Addr().Is4() {
				frame = gratuitousARPFrame
			}
			if err := unix.Send(fd, frame(a.prefix.Addr(), p.mac), 0); err != nil {
				klog.V(2).InfoS("Stopped announcing the addresses of a Pod", "interface", p.hostName, "address", a.prefix.Addr(), "err", err)
				return
			}
		}
		if sent++; sent == announcementCount {
			return
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}
