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
	gratuitousARPCount    = 3
	gratuitousARPInterval = 50 * time.Millisecond
)

// gratuitousARPFrame is an Ethernet frame with an ARP request for the sender's own address (RFC 5227, 3: announcement).
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

// packetSocket opens a socket that sends whole frames out of an interface of the Pod's namespace; it receives nothing. It
// keeps working, and the namespace alive, until it is closed.
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

// announce sends the gratuitous ARPs of a Pod's IPv4 addresses on fd and closes it. It stops at the first error, which is
// what a Pod that is deleted meanwhile causes.
func announce(ctx context.Context, fd int, p *podInterface) {
	defer unix.Close(fd)
	ticker := time.NewTicker(gratuitousARPInterval)
	defer ticker.Stop()
	for sent := 0; ; {
		for _, a := range p.addresses {
			if !a.prefix.Addr().Is4() {
				continue
			}
			if err := unix.Send(fd, gratuitousARPFrame(a.prefix.Addr(), p.mac), 0); err != nil {
				klog.V(2).InfoS("Stopped sending gratuitous ARPs", "interface", p.hostName, "address", a.prefix.Addr(), "err", err)
				return
			}
		}
		if sent++; sent == gratuitousARPCount {
			return
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}
