// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package assign

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
	"github.com/antrea-oncache/antrea/pkg/agent/leftover"
	"github.com/antrea-oncache/antrea/pkg/agent/rtnl"
)

// DeviceName is the name of the device that has the addresses, as in Antrea. The kernel answers for them on all devices; this one is down.
const DeviceName = "antrea-egress0"

// dummy is the kind of DeviceName.
const dummy = "dummy"

// device is the device of the network namespace of the calling thread.
type device struct{}

// find returns the device; nil if there is none.
func (device) find() (netlink.Link, error) {
	link, err := netlink.LinkByName(DeviceName)
	if gone := (netlink.LinkNotFoundError{}); errors.As(err, &gone) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find device %s: %w", DeviceName, err)
	}
	if link.Type() != dummy {
		return nil, fmt.Errorf("device %s is of kind %s, want %s: remove or rename it", DeviceName, link.Type(), dummy)
	}
	return link, nil
}

// List returns the addresses of the device.
func (d device) List() (sets.Set[netip.Addr], error) {
	found := sets.New[netip.Addr]()
	link, err := d.find()
	if link == nil {
		return found, err
	}
	list, err := rtnl.Addresses(link)
	if err != nil {
		return nil, fmt.Errorf("list the addresses of %s: %w", DeviceName, err)
	}
	for _, entry := range list {
		if addr, ok := netip.AddrFromSlice(entry.IP); ok && !addr.Unmap().Is6() || ok && !addr.IsLinkLocalUnicast() {
			found.Insert(addr.Unmap())
		}
	}
	return found, nil
}

// Add gives the device an address, and makes the device if it is missing.
func (d device) Add(addr netip.Addr) error {
	link, err := d.find()
	if err != nil {
		return err
	}
	if link == nil {
		attributes := netlink.NewLinkAttrs()
		attributes.Name = DeviceName
		if err := netlink.LinkAdd(&netlink.Dummy{LinkAttrs: attributes}); err != nil {
			return fmt.Errorf("make device %s of kind %s: %w", DeviceName, dummy, err)
		}
		if link, err = d.find(); err != nil {
			return err
		}
		if link == nil {
			return fmt.Errorf("device %s has gone", DeviceName)
		}
	}
	if err := netlink.AddrAdd(link, entryOf(addr)); err != nil && !errors.Is(err, syscall.EEXIST) {
		return fmt.Errorf("give %s the address %s: %w", DeviceName, addr, err)
	}
	return nil
}

// Remove takes an address from the device. Each has a prefix of its own, so that it goes alone.
func (d device) Remove(addr netip.Addr) error {
	link, err := d.find()
	if link == nil {
		return err
	}
	if err := netlink.AddrDel(link, entryOf(addr)); err != nil && !errors.Is(err, syscall.EADDRNOTAVAIL) {
		return fmt.Errorf("take the address %s from %s: %w", addr, DeviceName, err)
	}
	return nil
}

// RemoveDevice removes the device of a former agent, and its addresses. Connections with these sources end: another Node may have the addresses next.
func RemoveDevice() error {
	link, err := device{}.find()
	if link == nil {
		return err
	}
	addrs, err := device{}.List()
	if err != nil {
		return err
	}
	if err := netlink.LinkDel(link); err != nil {
		return fmt.Errorf("delete device %s: %w", DeviceName, err)
	}
	if err := conntrack.End(conntrack.HostZone, func(c *conntrack.Connection) bool { return hasSource(c, addrs) }); err != nil {
		return fmt.Errorf("end connections with addresses of %s: %w", DeviceName, err)
	}
	return nil
}

// hasSource reports whether the kernel gives the connection's packets one of these sources.
func hasSource(c *conntrack.Connection, addrs sets.Set[netip.Addr]) bool {
	return c.Original.Source != c.Reply.Destination && addrs.Has(c.Reply.Destination)
}

// Leftovers finds what a former agent has left on the Node.
func Leftovers(context.Context) ([]leftover.Item, error) {
	link, err := device{}.find()
	if link == nil {
		return nil, err
	}
	return []leftover.Item{{Name: "device " + DeviceName + ", with addresses of Egresses", Remove: RemoveDevice}}, nil
}

func entryOf(addr netip.Addr) *netlink.Addr {
	entry := &netlink.Addr{IPNet: &net.IPNet{IP: addr.AsSlice(), Mask: net.CIDRMask(addr.BitLen(), addr.BitLen())}}
	if addr.Is6() {
		// The device has no neighbours that could have the address.
		entry.Flags = unix.IFA_F_NODAD
	}
	return entry
}
