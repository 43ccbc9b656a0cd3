// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package rtnl

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// SetAddresses gives the device these addresses and removes others that a former Pod network may have left. IPv6
// link-local addresses stay.
func SetAddresses(link netlink.Link, addresses []netip.Prefix) error {
	name := link.Attrs().Name
	have, err := Addresses(link)
	if err != nil {
		return fmt.Errorf("list addresses of %q: %w", name, err)
	}
	missing := slices.Clone(addresses)
	for _, a := range have {
		p, ok := Prefix(a.IPNet)
		if !ok || p.Addr().Is6() && p.Addr().IsLinkLocalUnicast() {
			continue
		}
		if at := slices.Index(missing, p); at >= 0 {
			missing = slices.Delete(missing, at, at+1)
			continue
		}
		if err := netlink.AddrDel(link, &a); err != nil && !errors.Is(err, unix.EADDRNOTAVAIL) {
			return fmt.Errorf("remove address %s from %q: %w", p, name, err)
		}
	}
	for _, p := range missing {
		a := &netlink.Addr{IPNet: &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}}
		if p.Addr().Is6() {
			// The address cannot be in use elsewhere, and without this flag it is unusable for a second.
			a.Flags = unix.IFA_F_NODAD
		}
		if err := netlink.AddrReplace(link, a); err != nil {
			return fmt.Errorf("add address %s to %q: %w", p, name, err)
		}
	}
	return nil
}

// Prefix returns a device's address with the length of its network; false if there is none.
func Prefix(n *net.IPNet) (netip.Prefix, bool) {
	if n == nil {
		return netip.Prefix{}, false
	}
	addr, ok := netip.AddrFromSlice(n.IP)
	ones, _ := n.Mask.Size()
	return netip.PrefixFrom(addr.Unmap(), ones), ok
}
