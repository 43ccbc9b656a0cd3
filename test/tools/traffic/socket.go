// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net/netip"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// socketBuffer holds tens of seconds of small datagrams: on a machine with too little CPU time, datagrams that the network
// has delivered must not be lost before the program can read them.
const socketBuffer = 64 << 20

// socketOptions are set on a socket before it is bound.
type socketOptions struct {
	// tos is IP_TOS or IPV6_TCLASS, -1 for the default. TCP ignores its two ECN bits.
	tos int
	// dontFragment sets DF, which IPv6 packets do not need, and makes datagrams that do not fit fail.
	dontFragment bool
	// buffers enlarges the buffers, so that a slow process loses nothing.
	buffers bool
}

// control fits net.Dialer and net.ListenConfig.
func (o socketOptions) control(network, address string, c syscall.RawConn) error {
	var failed error
	set := func(fd, level, option, value int) {
		if err := unix.SetsockoptInt(fd, level, option, value); err != nil && failed == nil {
			failed = fmt.Errorf("setting socket option %d/%d to %d: %w", level, option, value, err)
		}
	}
	err := c.Control(func(raw uintptr) {
		fd := int(raw)
		set(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
		ipv6 := strings.HasSuffix(network, "6")
		if ipv6 && (strings.HasPrefix(address, ":") || strings.HasPrefix(address, "[::]:")) {
			set(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 0)
		}
		if o.tos >= 0 && ipv6 {
			set(fd, unix.IPPROTO_IPV6, unix.IPV6_TCLASS, o.tos)
		} else if o.tos >= 0 {
			set(fd, unix.IPPROTO_IP, unix.IP_TOS, o.tos)
		}
		if o.dontFragment && ipv6 {
			set(fd, unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER, unix.IPV6_PMTUDISC_DO)
		} else if o.dontFragment {
			set(fd, unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_DO)
		}
		if o.buffers {
			set(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, socketBuffer)
			set(fd, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, socketBuffer)
		}
	})
	if err != nil {
		return err
	}
	return failed
}

// network returns protocol ("tcp", "udp") with the IP version of an address and port. Without an address it is IPv6, which
// stands for both. Go would decide by the loopback device, which may be down in a Pod.
func network(protocol, address string) string {
	if addr, err := netip.ParseAddrPort(address); err == nil && addr.Addr().Is4() {
		return protocol + "4"
	}
	return protocol + "6"
}
