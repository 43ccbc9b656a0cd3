// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rtnl lists objects of the kernel's network configuration (rtnetlink and its relatives).
package rtnl

import (
	"errors"

	"github.com/vishvananda/netlink"
)

// ReceiveBuffer is the size, in bytes, of the receive buffer of a subscription (SO_RCVBUFFORCE of socket(7), which needs CAP_NET_ADMIN). With the
// kernel's default, 208 KiB, some 270 messages at once are too many, and Pods can cause more: neighbors that the kernel removes by the hundred, devices.
const ReceiveBuffer = 4 << 20

// attempts bounds how often a list is requested. Each needs another change at the moment of the dump.
const attempts = 10

// Dump requests a list again when the kernel reports that it has changed meanwhile (NLM_F_DUMP_INTR), as it often does while devices are made.
// After ten attempts it returns the last list with netlink.ErrDumpInterrupted.
func Dump[T any](list func() (T, error)) (T, error) {
	for attempt := 1; ; attempt++ {
		out, err := list()
		if !errors.Is(err, netlink.ErrDumpInterrupted) || attempt == attempts {
			return out, err
		}
	}
}

// Links lists the devices of the current network namespace.
func Links() ([]netlink.Link, error) { return Dump(netlink.LinkList) }

// Addresses lists addresses of both families: of one device, or of all if link is nil.
func Addresses(link netlink.Link) ([]netlink.Addr, error) {
	return Dump(func() ([]netlink.Addr, error) { return netlink.AddrList(link, netlink.FAMILY_ALL) })
}
