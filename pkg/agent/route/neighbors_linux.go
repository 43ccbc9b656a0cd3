// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/rtnl"
)

// The next hops of routes to remote Pods are remote gateways with the virtual MAC address. For IPv4 the pipeline answers
// the ARP request; for IPv6 the host has permanent neighbor entries, as in Antrea. The methods below do nothing for IPv4.
// The caller holds mutex.

func (s *stack) addNeighbor(gateway netip.Addr, link int) error {
	if !s.family.staticNeighbors {
		return nil
	}
	return s.setNeighbor(gateway, link)
}

// setNeighbor makes a permanent entry with the virtual MAC address. One that the kernel has learned is replaced, a permanent one with
// another MAC address is not.
func (s *stack) setNeighbor(addr netip.Addr, link int) error {
	n := s.neighbor(addr, link)
	err := netlink.NeighAdd(n)
	if errors.Is(err, unix.EEXIST) {
		if err = s.checkForeignNeighbor(addr, link); err == nil {
			err = netlink.NeighSet(n)
		}
	}
	if err != nil {
		return fmt.Errorf("add neighbor %s with MAC address %s on link %d: %w", addr, config.GlobalVirtualMAC, link, err)
	}
	return nil
}

func (s *stack) checkForeignNeighbor(addr netip.Addr, link int) error {
	n, err := findNeighbor(s.neighbor(addr, link))
	if err != nil {
		return err
	}
	if n.State&netlink.NUD_PERMANENT != 0 && !bytes.Equal(n.HardwareAddr, config.GlobalVirtualMAC) {
		return fmt.Errorf("there is a permanent neighbor with MAC address %s, which the agent has not made: remove it", n.HardwareAddr)
	}
	return nil
}

// findNeighbor reads the entry with the link and address of n, the zero Neigh if there is none. It asks for this entry alone (RTM_GETNEIGH without
// NLM_F_DUMP), which costs the same however many there are. Before Linux 5.0, it must read all.
func findNeighbor(n *netlink.Neigh) (found netlink.Neigh, err error) {
	request := nl.NewNetlinkRequest(unix.RTM_GETNEIGH, 0)
	request.AddData(&netlink.Ndmsg{Family: uint8(n.Family), Index: uint32(n.LinkIndex)})
	request.AddData(nl.NewRtAttr(netlink.NDA_DST, n.IP))
	answers, err := request.Execute(unix.NETLINK_ROUTE, unix.RTM_NEWNEIGH)
	switch {
	case errors.Is(err, unix.ENOENT):
		return found, nil
	case errors.Is(err, unix.EOPNOTSUPP):
		return findNeighborAmongAll(n)
	}
	if err == nil && len(answers) == 0 {
		err = errors.New("the kernel has not answered")
	}
	if err != nil {
		return found, fmt.Errorf("read neighbor %s on link %d: %w", n.IP, n.LinkIndex, err)
	}
	answer, err := netlink.NeighDeserialize(answers[0])
	if err != nil {
		return found, fmt.Errorf("read neighbor %s on link %d: %w", n.IP, n.LinkIndex, err)
	}
	return *answer, nil
}

func findNeighborAmongAll(n *netlink.Neigh) (found netlink.Neigh, err error) {
	list, err := rtnl.Dump(func() ([]netlink.Neigh, error) { return netlink.NeighList(n.LinkIndex, n.Family) })
	if i := slices.IndexFunc(list, func(have netlink.Neigh) bool { return have.IP.Equal(n.IP) }); err == nil && i >= 0 {
		found = list[i]
	}
	return found, err
}

func (s *stack) deleteNeighbor(gateway netip.Addr, link int) error {
	if !s.family.staticNeighbors {
		return nil
	}
	if err := netlink.NeighDel(s.neighbor(gateway, link)); err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("delete neighbor %s on link %d: %w", gateway, link, err)
	}
	return nil
}

func (s *stack) neighbor(gateway netip.Addr, link int) *netlink.Neigh {
	return &netlink.Neigh{
		LinkIndex: link, Family: s.family.af, State: netlink.NUD_PERMANENT,
		IP: gateway.AsSlice(), HardwareAddr: config.GlobalVirtualMAC,
	}
}

// gatewayNeighbors lists the permanent entries with the virtual MAC address.
func (s *stack) gatewayNeighbors(link int) (map[netip.Addr]bool, error) {
	found := map[netip.Addr]bool{}
	if !s.family.staticNeighbors {
		return found, nil
	}
	list, err := rtnl.Dump(func() ([]netlink.Neigh, error) { return netlink.NeighList(link, s.family.af) })
	if err != nil {
		return nil, fmt.Errorf("list %s neighbors on link %d: %w", s.family.name, link, err)
	}
	for _, n := range list {
		addr, ok := netip.AddrFromSlice(n.IP)
		if ok && n.State&netlink.NUD_PERMANENT != 0 && bytes.Equal(n.HardwareAddr, config.GlobalVirtualMAC) {
			found[addr] = true
		}
	}
	return found, nil
}

// syncNeighbors adds the entries that the desired routes lack.
func (s *stack) syncNeighbors(desired []podRoute, link int) error {
	if !s.family.staticNeighbors {
		return nil
	}
	have, err := s.gatewayNeighbors(link)
	if err != nil {
		return err
	}
	var errs []error
	for _, r := range desired {
		if have[r.gateway] {
			continue
		}
		if err := s.addNeighbor(r.gateway, link); err != nil {
			errs = append(errs, err)
			continue
		}
		klog.InfoS("Added a neighbor that another program removed", "address", r.gateway)
	}
	return errors.Join(errs...)
}

// removeUnknownNeighbors removes entries for gateways of unknown CIDRs.
func (s *stack) removeUnknownNeighbors(known map[netip.Prefix]bool, link int) error {
	have, err := s.gatewayNeighbors(link)
	if err != nil {
		return err
	}
	if s.services != nil {
		delete(have, s.family.virtualService)
	}
	for cidr := range known {
		for gateway := range have {
			if cidr.Contains(gateway) {
				delete(have, gateway)
			}
		}
	}
	var errs []error
	for gateway := range have {
		errs = append(errs, s.deleteNeighbor(gateway, link))
	}
	return errors.Join(errs...)
}
