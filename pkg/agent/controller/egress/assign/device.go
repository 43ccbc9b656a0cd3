// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package assign

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
	"github.com/antrea-oncache/antrea/pkg/agent/leftover"
	"github.com/antrea-oncache/antrea/pkg/agent/rtnl"
	"github.com/antrea-oncache/antrea/pkg/agent/sysctl"
	"github.com/antrea-oncache/antrea/pkg/macaddr"
)

// dummy is the kind of config.EgressDevice.
const dummy = "dummy"

// place is the device that has an address, and the length of the subnet.
type place struct {
	device string
	bits   int
}

// placeOf returns the place of an address of a subnet.
func placeOf(addr netip.Addr, subnet config.EgressSubnet) place {
	p := place{config.EgressDevice, addr.BitLen()}
	if subnet.IsSeparate() {
		p.bits = subnet.Gateway.Bits()
	}
	if subnet.VLAN > 0 {
		p.device = subnet.Link("")
	}
	return p
}

// outside returns the device by which neighbours reach the place.
func (p place) outside(uplink string) string {
	if p.device == config.EgressDevice {
		return uplink
	}
	return p.device
}

// onUplink leaves out addresses of VLANs, for which the kernel answers.
func onUplink(places map[netip.Addr]place) sets.Set[netip.Addr] {
	found := sets.New[netip.Addr]()
	for addr, at := range places {
		if at.device == config.EgressDevice {
			found.Insert(addr)
		}
	}
	return found
}

// devices are the devices with Egress addresses, in the network namespace of the calling thread.
type devices struct {
	// uplink is the transport interface, below which VLANs are.
	uplink string
	// ownMAC gives each device of a VLAN a MAC address of its own.
	ownMAC bool
}

// managed returns the devices that have addresses, by name.
func (devices) managed() (map[string]netlink.Link, error) {
	links, err := rtnl.Links()
	if err != nil {
		return nil, fmt.Errorf("list network devices: %w", err)
	}
	found := map[string]netlink.Link{}
	for _, link := range links {
		name := link.Attrs().Name
		if name == config.EgressDevice && link.Type() != dummy {
			return nil, fmt.Errorf("device %s is of kind %s, want %s: remove or rename it", name, link.Type(), dummy)
		}
		if isEgressVLAN(link) || name == config.EgressDevice {
			found[name] = link
		}
	}
	return found, nil
}

// isEgressVLAN reports whether a device is one that an agent has made for a VLAN.
func isEgressVLAN(link netlink.Link) bool {
	number, ok := config.EgressVLAN(link.Attrs().Name)
	vlan, isVLAN := link.(*netlink.Vlan)
	return ok && isVLAN && vlan.VlanId == number && vlan.VlanProtocol == netlink.VLAN_PROTOCOL_8021Q
}

// List returns the places of the addresses. Those below another device than the transport interface are not where they should be: they do not count.
func (d devices) List() (map[netip.Addr]place, error) {
	links, err := d.managed()
	if err != nil {
		return nil, err
	}
	found := map[netip.Addr]place{}
	for name, link := range links {
		if !d.below(link) {
			continue
		}
		list, err := rtnl.Addresses(link)
		if err != nil {
			return nil, fmt.Errorf("list the addresses of %s: %w", name, err)
		}
		for _, entry := range list {
			bits, _ := entry.Mask.Size()
			if addr, ok := netip.AddrFromSlice(entry.IP); ok && !addr.Unmap().Is6() || ok && !addr.IsLinkLocalUnicast() {
				found[addr.Unmap()] = place{name, bits}
			}
		}
	}
	return found, nil
}

// Add gives the Node an address of a subnet, and makes its device if that is missing.
func (d devices) Add(addr netip.Addr, subnet config.EgressSubnet) error {
	links, err := d.managed()
	if err != nil {
		return err
	}
	at := placeOf(addr, subnet)
	link := links[at.device]
	if link != nil && !d.below(link) {
		if err := deleteDevice(link); err != nil {
			return err
		}
		link = nil
	}
	if link == nil {
		if err := d.make(at.device, subnet.VLAN); err != nil {
			return err
		}
		if link, err = netlink.LinkByName(at.device); err != nil {
			return fmt.Errorf("find device %s: %w", at.device, err)
		}
	}
	if err := d.keep(link); err != nil {
		return err
	}
	if err := netlink.AddrAdd(link, entryOf(addr, at.bits)); err != nil && !errors.Is(err, syscall.EEXIST) {
		return fmt.Errorf("give %s the address %s: %w", at.device, addr, err)
	}
	return nil
}

// below reports whether a device of a VLAN is on the transport interface, which may be another one than before; also if that is not there.
func (d devices) below(link netlink.Link) bool {
	if !isEgressVLAN(link) {
		return true
	}
	parent, err := netlink.LinkByName(d.uplink)
	return err != nil || parent.Attrs().Index == link.Attrs().ParentIndex
}

// make makes a device; VLAN 0 is for the one that all other addresses have.
func (d devices) make(name string, vlan int) error {
	attributes := netlink.NewLinkAttrs()
	attributes.Name = name
	var link netlink.Link = &netlink.Dummy{LinkAttrs: attributes}
	if vlan > 0 {
		parent, err := netlink.LinkByName(d.uplink)
		if err != nil {
			return fmt.Errorf("make device %s: find the transport interface %s: %w", name, d.uplink, err)
		}
		attributes.ParentIndex = parent.Attrs().Index
		if attributes.HardwareAddr = parent.Attrs().HardwareAddr; d.ownMAC {
			attributes.HardwareAddr = macaddr.Random()
		}
		link = &netlink.Vlan{LinkAttrs: attributes, VlanId: vlan, VlanProtocol: netlink.VLAN_PROTOCOL_8021Q}
	}
	if err := netlink.LinkAdd(link); errors.Is(err, syscall.EEXIST) {
		return fmt.Errorf("make device %s of kind %s: another device has the name, or is the one of VLAN %d on %s: %w", name, link.Type(), vlan, d.uplink, err)
	} else if err != nil {
		return fmt.Errorf("make device %s of kind %s: %w", name, link.Type(), err)
	}
	return nil
}

// keep gives a device the state that it must have: addresses stay when the first one of their subnet goes, and a VLAN takes answers from outside the subnet,
// to which the Node's own routes lead elsewhere, but no routes and addresses from routers.
func (devices) keep(link netlink.Link) error {
	name, v4, v6 := link.Attrs().Name, "net/ipv4/conf/", "net/ipv6/conf/"
	errs := []error{sysctl.Apply(v4+name+"/promote_secondaries", "1")}
	if isEgressVLAN(link) {
		errs = append(errs, sysctl.Apply(v4+name+"/rp_filter", "2"))
		for _, key := range []string{"/accept_ra", "/autoconf"} {
			if err := sysctl.Apply(v6+name+key, "0"); !errors.Is(err, fs.ErrNotExist) { // without IPv6, the kernel has no such settings
				errs = append(errs, err)
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if isEgressVLAN(link) && link.Attrs().Flags&net.FlagUp == 0 {
		if err := netlink.LinkSetUp(link); err != nil {
			return fmt.Errorf("set device %s up: %w", name, err)
		}
	}
	return nil
}

// Keep repairs foreign changes of the devices, and removes devices of VLANs without addresses.
func (d devices) Keep() error {
	links, err := d.managed()
	if err != nil {
		return err
	}
	has, err := d.List()
	if err != nil {
		return err
	}
	used := sets.New[string]()
	for _, at := range has {
		used.Insert(at.device)
	}
	var errs []error
	for name, link := range links {
		if used.Has(name) {
			errs = append(errs, d.keep(link))
		} else if isEgressVLAN(link) {
			errs = append(errs, deleteDevice(link))
		}
	}
	return errors.Join(errs...)
}

func deleteDevice(link netlink.Link) error {
	if err := netlink.LinkDel(link); err != nil && !errors.Is(err, syscall.ENODEV) {
		return fmt.Errorf("delete device %s: %w", link.Attrs().Name, err)
	}
	return nil
}

// Remove takes an address from its device.
func (d devices) Remove(addr netip.Addr) error {
	links, err := d.managed()
	if err != nil {
		return err
	}
	has, err := d.List()
	if err != nil {
		return err
	}
	at, ok := has[addr]
	if !ok {
		return nil
	}
	if err := netlink.AddrDel(links[at.device], entryOf(addr, at.bits)); err != nil && !errors.Is(err, syscall.EADDRNOTAVAIL) {
		return fmt.Errorf("take the address %s from %s: %w", addr, at.device, err)
	}
	return nil
}

// RemoveDevices removes the devices of a former agent, and their addresses. Connections with these sources end: another Node may have the addresses next.
func RemoveDevices() error {
	links, err := devices{}.managed()
	if len(links) == 0 {
		return err
	}
	has, err := devices{}.List()
	if err != nil {
		return err
	}
	for _, link := range links {
		if err := deleteDevice(link); err != nil {
			return err
		}
	}
	addrs := sets.KeySet(has)
	if err := conntrack.End(conntrack.HostZone, func(c *conntrack.Connection) bool { return hasSource(c, addrs) }); err != nil {
		return fmt.Errorf("end connections with former Egress addresses: %w", err)
	}
	return nil
}

// hasSource reports whether the kernel gives the connection's packets one of these sources.
func hasSource(c *conntrack.Connection, addrs sets.Set[netip.Addr]) bool {
	return c.Original.Source != c.Reply.Destination && addrs.Has(c.Reply.Destination)
}

// Leftovers finds what a former agent has left on the Node.
func Leftovers(context.Context) ([]leftover.Item, error) {
	links, err := devices{}.managed()
	if len(links) == 0 {
		return nil, err
	}
	names := slices.Sorted(maps.Keys(links))
	return []leftover.Item{{Name: "device " + strings.Join(names, ", ") + ", with addresses of Egresses", Remove: RemoveDevices}}, nil
}

func entryOf(addr netip.Addr, bits int) *netlink.Addr {
	entry := &netlink.Addr{IPNet: &net.IPNet{IP: addr.AsSlice(), Mask: net.CIDRMask(bits, addr.BitLen())}}
	if addr.Is6() {
		// The former Node may have it for a moment, and the one with the address is to answer at once.
		entry.Flags = unix.IFA_F_NODAD
	}
	return entry
}
