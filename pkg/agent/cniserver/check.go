// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cniserver

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"

	current "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/plugins/pkg/ns"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/agent/rtnl"
	cnipb "github.com/antrea-oncache/antrea/pkg/apis/cni/v1beta1"
)

// check compares a container's interface with the store, the bridge, the kernel and the result of ADD. Differences are
// errors with code 103.
func (s *Server) check(ctx context.Context, req *request) error {
	unlock, err := s.lockContainer(ctx, req.containerID)
	if err != nil {
		return err
	}
	defer unlock()
	pod, err := openNetNS(netnsPath(s.cfg.HostProcPathPrefix, req.netns))
	if err != nil {
		return err
	}
	defer pod.Close()
	ipam, err := s.ipam.prepare(req)
	if err != nil {
		return err
	}
	if err := ipam.check(ctx, pod.Path()); err != nil {
		return err
	}
	iface, found := s.findInterface(req)
	if !found {
		return errorf(cnipb.ErrorCode_CHECK_INTERFACE_FAILURE, "container %q has no interface %s on the bridge", req.containerID, req.ifname)
	}
	err = s.verifyInterface(pod, req, iface)
	if err == nil {
		err = verifyPrevResult(req, iface)
	}
	if err != nil {
		return errorf(cnipb.ErrorCode_CHECK_INTERFACE_FAILURE, "%w", err)
	}
	return nil
}

// verifyInterface returns nil when everything that ADD made for the store's entry is in place in the namespace of the
// request.
func (s *Server) verifyInterface(pod ns.NetNS, req *request, iface *interfacestore.InterfaceConfig) error {
	if iface.OVSPortConfig == nil || iface.OFPort == 0 {
		return fmt.Errorf("host interface %s has no OpenFlow port", iface.InterfaceName)
	}
	port, ok, err := s.ports.GetPort(iface.InterfaceName)
	switch {
	case err != nil:
		return fmt.Errorf("look up OVS port %s: %w", iface.InterfaceName, err)
	case !ok:
		return fmt.Errorf("OVS port %s does not exist", iface.InterfaceName)
	case port.OFPort != iface.OFPort:
		return fmt.Errorf("OVS port %s has OpenFlow port %d, want %d", iface.InterfaceName, port.OFPort, iface.OFPort)
	case port.ExternalIDs[externalIDContainerID] != iface.ContainerID:
		return fmt.Errorf("OVS port %s is of container %q, want %q", iface.InterfaceName, port.ExternalIDs[externalIDContainerID], iface.ContainerID)
	}
	host, err := netlink.LinkByName(iface.InterfaceName)
	if err != nil {
		return fmt.Errorf("find host interface %s: %w", iface.InterfaceName, err)
	}
	if host.Attrs().Flags&net.FlagUp == 0 {
		return fmt.Errorf("host interface %s is down", iface.InterfaceName)
	}
	if err := verifyHostSide(host); err != nil {
		return err
	}
	return s.verifyContainerSide(pod, req.ifname, iface, host)
}

// verifyHostSide accepts both kinds of interface, whatever the present configuration says: a Pod keeps the kind it was
// given.
func verifyHostSide(host netlink.Link) error {
	switch host := host.(type) {
	case *netlink.Veth:
		return nil
	case *netlink.Netkit:
		return verifyNetkit(host)
	}
	return fmt.Errorf("host interface %s is of type %s, want veth or netkit", host.Attrs().Name, host.Type())
}

func (s *Server) verifyContainerSide(pod ns.NetNS, ifname string, iface *interfacestore.InterfaceConfig, host netlink.Link) error {
	handle, err := netlink.NewHandleAt(nsHandle(pod), unix.NETLINK_ROUTE)
	if err != nil {
		return fmt.Errorf("netlink socket in network namespace %s: %w", pod.Path(), err)
	}
	defer handle.Close()
	link, err := handle.LinkByName(ifname)
	if err != nil {
		return fmt.Errorf("find container interface %s: %w", ifname, err)
	}
	attrs := link.Attrs()
	switch {
	case link.Type() != host.Type() || attrs.ParentIndex != host.Attrs().Index:
		return fmt.Errorf("container interface %s (%s) is not the other side of host interface %s", ifname, link.Type(), iface.InterfaceName)
	case !bytes.Equal(attrs.HardwareAddr, iface.MAC):
		return fmt.Errorf("container interface %s has MAC address %s, want %s", ifname, attrs.HardwareAddr, iface.MAC)
	case attrs.Flags&net.FlagUp == 0:
		return fmt.Errorf("container interface %s is down", ifname)
	}
	addrs, err := rtnl.Dump(func() ([]netlink.Addr, error) { return handle.AddrList(link, netlink.FAMILY_ALL) })
	if err != nil {
		return fmt.Errorf("addresses of container interface %s: %w", ifname, err)
	}
	routes, err := rtnl.Dump(func() ([]netlink.Route, error) { return handle.RouteList(link, netlink.FAMILY_ALL) })
	if err != nil {
		return fmt.Errorf("routes of container interface %s: %w", ifname, err)
	}
	for _, ip := range iface.IPs {
		if !slices.ContainsFunc(addrs, func(a netlink.Addr) bool { return a.IP.Equal(ip.AsSlice()) }) {
			return fmt.Errorf("container interface %s does not have the address %s", ifname, ip)
		}
		cidr, ok := s.podCIDROf(ip)
		if !ok {
			return fmt.Errorf("address %s of container interface %s is in none of the Pod CIDRs %v", ip, ifname, s.ipam.podCIDRs)
		}
		if !slices.ContainsFunc(routes, isDefaultVia(gatewayOf(cidr))) {
			return fmt.Errorf("container interface %s has no default route via %s", ifname, gatewayOf(cidr))
		}
	}
	return nil
}

func isDefaultVia(gateway netip.Addr) func(netlink.Route) bool {
	return func(r netlink.Route) bool {
		if r.Dst != nil {
			if ones, _ := r.Dst.Mask.Size(); ones != 0 {
				return false
			}
		}
		return r.Gw.Equal(gateway.AsSlice())
	}
}

// verifyPrevResult compares the result that the runtime remembers with the entry of the store.
func verifyPrevResult(req *request, iface *interfacestore.InterfaceConfig) error {
	prev := req.conf.prevResult
	index := slices.IndexFunc(prev.Interfaces, func(i *current.Interface) bool { return i.Name == req.ifname && i.Sandbox == req.netns })
	if index < 0 {
		return fmt.Errorf("prevResult has no interface %s in sandbox %s", req.ifname, req.netns)
	}
	if mac := prev.Interfaces[index].Mac; mac != iface.MAC.String() {
		return fmt.Errorf("prevResult has MAC address %s for interface %s, want %s", mac, req.ifname, iface.MAC)
	}
	if !slices.ContainsFunc(prev.Interfaces, func(i *current.Interface) bool { return i.Name == iface.InterfaceName && i.Sandbox == "" }) {
		return fmt.Errorf("prevResult does not have the host interface %s", iface.InterfaceName)
	}
	for _, ip := range iface.IPs {
		if !slices.ContainsFunc(prev.IPs, func(c *current.IPConfig) bool {
			return c.Interface != nil && *c.Interface == index && c.Address.IP.Equal(ip.AsSlice())
		}) {
			return fmt.Errorf("prevResult does not have the address %s of interface %s", ip, req.ifname)
		}
	}
	return nil
}
