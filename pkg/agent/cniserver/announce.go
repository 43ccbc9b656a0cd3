// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cniserver

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/containernetworking/plugins/pkg/ns"
	"golang.org/x/sys/unix"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/announce"
)

const (
	announcementCount    = 3
	announcementInterval = 50 * time.Millisecond
)

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

// announcePod sends gratuitous ARPs for a Pod's IPv4 addresses and neighbor advertisements for its IPv6 ones on fd, which it
// closes. It stops at the first error; deleting the Pod meanwhile causes one.
func announcePod(ctx context.Context, fd int, p *podInterface) {
	defer unix.Close(fd)
	ticker := time.NewTicker(announcementInterval)
	defer ticker.Stop()
	for sent := 0; ; {
		for _, a := range p.addresses {
			if err := unix.Send(fd, announce.Frame(a.prefix.Addr(), p.mac), 0); err != nil {
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
