// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

const fabricBridge = "fabric0"

// Uplink is a Node's physical interface, the one between it and the others.
const Uplink = "eth0"

// The addresses of the physical network.
var (
	// FabricGateway is the Nodes' default gateway, at which they also reach the Kubernetes API (port APIPort).
	FabricGateway = netip.MustParseAddr("192.168.77.1")
	// InternetAddress is the host behind the gateway. It knows no route to Pods, only to Nodes.
	InternetAddress = netip.MustParseAddr("203.0.113.10")

	// FabricGateway6 and InternetAddress6 are the same for IPv6.
	FabricGateway6   = netip.MustParseAddr("fd00:77::1")
	InternetAddress6 = netip.MustParseAddr("2001:db8:113::10")

	internetGateway  = netip.MustParseAddr("203.0.113.1")
	internetGateway6 = netip.MustParseAddr("2001:db8:113::1")
)

// APIPort is the port of the Kubernetes API on FabricGateway.
const APIPort = 6443

// newFabric makes the physical network: a bridge, and a router behind it that leads to the internet space.
func newFabric(env []string) (fabric, internet *Space, err error) {
	make := func(name string) (*Space, error) {
		thread, err := newNamespaces(unix.CLONE_NEWNET|unix.CLONE_NEWNS, privateMounts)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return newSpace(name, thread, nil, env), nil
	}
	if fabric, err = make("fabric"); err != nil {
		return nil, nil, err
	}
	if internet, err = make("internet"); err != nil {
		fabric.thread.Close()
		return nil, nil, err
	}
	err = connectFabric(fabric, internet)
	if err != nil {
		fabric.thread.Close()
		internet.thread.Close()
		return nil, nil, fmt.Errorf("making the physical network: %w", err)
	}
	return fabric, internet, nil
}

func connectFabric(fabric, internet *Space) error {
	internetNS, err := internet.netnsFile()
	if err != nil {
		return err
	}
	defer internetNS.Close()
	err = fabric.Do(func() error {
		bridge := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: fabricBridge}}
		if err := netlink.LinkAdd(bridge); err != nil {
			return err
		}
		if err := addVeth("internet", Uplink, int(internetNS.Fd())); err != nil {
			return err
		}
		for name, addrs := range map[string][]netip.Addr{
			fabricBridge: {FabricGateway, FabricGateway6}, "internet": {internetGateway, internetGateway6}, "lo": nil,
		} {
			if err := configureLink(name, addrs...); err != nil {
				return err
			}
		}
		return errors.Join(
			os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o644),
			os.WriteFile("/proc/sys/net/ipv6/conf/all/forwarding", []byte("1"), 0o644))
	})
	if err != nil {
		return err
	}
	return internet.Do(func() error {
		return configureHost([]netip.Addr{InternetAddress, InternetAddress6}, internetGateway, internetGateway6)
	})
}

// netnsFile opens the network namespace of the space's thread.
func (s *Space) netnsFile() (f *os.File, err error) {
	err = s.thread.Do(func() error {
		f, err = os.Open("/proc/thread-self/ns/net")
		return err
	})
	return f, err
}

// addVeth adds a veth pair: name here, peer in the network namespace peerNS.
func addVeth(name, peer string, peerNS int) error {
	veth := &netlink.Veth{
		LinkAttrs:     netlink.LinkAttrs{Name: name, MTU: uplinkMTU},
		PeerName:      peer,
		PeerNamespace: netlink.NsFd(peerNS),
		PeerMTU:       uplinkMTU,
	}
	if err := netlink.LinkAdd(veth); err != nil {
		return fmt.Errorf("adding veth pair %s, %s: %w", name, peer, err)
	}
	return nil
}

// plugNode connects a Node's network namespace to the bridge: eth0 there, a port with the Node's name here.
func plugNode(fabric *Space, name string, nodeNS int) error {
	return fabric.Do(func() error {
		if err := addVeth(name, Uplink, nodeNS); err != nil {
			return err
		}
		bridge, err := netlink.LinkByName(fabricBridge)
		if err != nil {
			return err
		}
		port, err := netlink.LinkByName(name)
		if err != nil {
			return err
		}
		if err := netlink.LinkSetMaster(port, bridge); err != nil {
			return err
		}
		return netlink.LinkSetUp(port)
	})
}

// configureHost sets up the loopback device and eth0 with addresses and default routes.
func configureHost(addrs []netip.Addr, gateways ...netip.Addr) error {
	if err := configureLink("lo"); err != nil {
		return err
	}
	if err := configureLink(Uplink, addrs...); err != nil {
		return err
	}
	for _, gateway := range gateways {
		if err := netlink.RouteAdd(&netlink.Route{Gw: gateway.AsSlice()}); err != nil {
			return fmt.Errorf("adding the default route via %s: %w", gateway, err)
		}
	}
	return nil
}

// configureLink adds addresses of networks with prefix length 24 (IPv4) or 64 (IPv6), and sets the link up.
func configureLink(name string, addrs ...netip.Addr) error {
	link, err := netlink.LinkByName(name)
	if err != nil {
		return fmt.Errorf("finding %s: %w", name, err)
	}
	for _, addr := range addrs {
		address := &netlink.Addr{IPNet: &net.IPNet{IP: addr.AsSlice(), Mask: net.CIDRMask(24, 32)}}
		if addr.Is6() {
			// Addresses here are unique; duplicate address detection would only delay the start.
			address.Mask, address.Flags = net.CIDRMask(64, 128), unix.IFA_F_NODAD
		}
		if err := netlink.AddrAdd(link, address); err != nil {
			return fmt.Errorf("adding %s to %s: %w", addr, name, err)
		}
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return fmt.Errorf("setting %s up: %w", name, err)
	}
	return nil
}
