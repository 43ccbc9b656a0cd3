// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cniserver

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/containernetworking/plugins/pkg/ns"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
)

// podInterface describes the two sides of a Pod's interface.
type podInterface struct {
	kind             config.PodInterfaceType
	hostName, ifname string
	hostMAC, mac     net.HardwareAddr
	mtu              int
	addresses        []podAddress
}

// createPair makes the two devices, with the container side directly in its namespace and under its final name, so that a
// failure leaves nothing in the host's.
func createPair(netns ns.NetNS, p *podInterface) error {
	device := vethPair(netns, p)
	if p.kind == config.PodInterfaceNetkit {
		device = netkitPair(netns, p)
	}
	if err := netlink.LinkAdd(device); err != nil {
		return fmt.Errorf("create %s pair %s (host) and %s (container), MTU %d: %w", device.Type(), p.hostName, p.ifname, p.mtu, err)
	}
	return nil
}

func vethPair(netns ns.NetNS, p *podInterface) netlink.Link {
	veth := netlink.NewVeth(netlink.NewLinkAttrs())
	veth.Name = p.hostName
	veth.MTU = p.mtu
	// An explicit MAC address keeps udev from replacing it (MACAddressPolicy=persistent) after the result has named it.
	veth.HardwareAddr = p.hostMAC
	veth.PeerName = p.ifname
	veth.PeerHardwareAddr = p.mac
	veth.PeerMTU = uint32(p.mtu)
	veth.PeerNamespace = netlink.NsFd(netns.Fd())
	return veth
}

// configureContainerSide sets addresses, state and default routes of the interface in the Pod.
func configureContainerSide(netns ns.NetNS, p *podInterface) error {
	handle, err := netlink.NewHandleAt(nsHandle(netns), unix.NETLINK_ROUTE)
	if err != nil {
		return fmt.Errorf("netlink socket in network namespace %s: %w", netns.Path(), err)
	}
	defer handle.Close()
	link, err := handle.LinkByName(p.ifname)
	if err != nil {
		return fmt.Errorf("find container interface %s: %w", p.ifname, err)
	}
	for _, a := range p.addresses {
		addr := &netlink.Addr{IPNet: ipNet(a.prefix)}
		if a.prefix.Addr().Is6() {
			// The address is unique by allocation, and unusable while duplicate address detection runs.
			addr.Flags = unix.IFA_F_NODAD
		}
		if err := handle.AddrAdd(link, addr); err != nil {
			return fmt.Errorf("add address %s to container interface %s: %w", a.prefix, p.ifname, err)
		}
	}
	if err := handle.LinkSetUp(link); err != nil {
		return fmt.Errorf("set container interface %s up: %w", p.ifname, err)
	}
	for _, a := range p.addresses {
		route := &netlink.Route{
			LinkIndex: link.Attrs().Index,
			Dst:       ipNet(defaultDestination(a.gateway)),
			Gw:        a.gateway.AsSlice(),
		}
		if err := handle.RouteAdd(route); err != nil {
			return fmt.Errorf("add default route via %s to container interface %s: %w", a.gateway, p.ifname, err)
		}
	}
	return nil
}

func setHostSideUp(name string) error {
	link, err := netlink.LinkByName(name)
	if err == nil {
		err = netlink.LinkSetUp(link)
	}
	if err != nil {
		return fmt.Errorf("set host interface %s up: %w", name, err)
	}
	return nil
}

// deleteHostLink deletes the host side of a pair, and with it the other side. An absent device is not an error.
func deleteHostLink(name string) error {
	link, err := netlink.LinkByName(name)
	if err == nil {
		err = netlink.LinkDel(link)
	}
	if err == nil || isLinkNotFound(err) {
		return nil
	}
	return fmt.Errorf("delete host interface %s: %w", name, err)
}

// isLinkNotFound also matches a link that disappeared between look-up and use, together with its Pod's namespace.
func isLinkNotFound(err error) bool {
	return errors.As(err, &netlink.LinkNotFoundError{}) || errors.Is(err, unix.ENODEV)
}

func defaultDestination(gateway netip.Addr) netip.Prefix {
	if gateway.Is4() {
		return netip.PrefixFrom(netip.IPv4Unspecified(), 0)
	}
	return netip.PrefixFrom(netip.IPv6Unspecified(), 0)
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}
