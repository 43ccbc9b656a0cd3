// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package wireguard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
	"golang.zx2c4.com/wireguard/wgctrl"
	"golang.zx2c4.com/wireguard/wgctrl/wgtypes"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/leftover"
	"github.com/antrea-oncache/antrea/pkg/agent/rtnl"
)

const linkKind = "wireguard"

// kernelDevice is a device of the current network namespace.
type kernelDevice struct {
	name string
	// setting is the setting that needs the device, for messages.
	setting string
}

// The devices that the agent makes.
var (
	betweenNodes    = kernelDevice{config.WireGuardDevice, "trafficEncryptionMode wireGuard"}
	betweenClusters = kernelDevice{config.ClusterWireGuardDevice, "multicluster.trafficEncryptionMode wireGuard"}
)

// find returns nil if there is no device.
func (d kernelDevice) find() (netlink.Link, error) {
	link, err := netlink.LinkByName(d.name)
	if gone := (netlink.LinkNotFoundError{}); errors.As(err, &gone) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for device %s: %w", d.name, err)
	}
	if kind := link.Type(); kind != linkKind {
		return nil, fmt.Errorf("the Node has a device %s of kind %s, which the agent has not made: remove or rename it", d.name, kind)
	}
	return link, nil
}

func (d kernelDevice) read() (state, error) {
	link, err := d.find()
	if link == nil {
		return state{}, err
	}
	addresses, err := rtnl.Addresses(link)
	if err != nil {
		return state{}, fmt.Errorf("list the addresses of %s: %w", d.name, err)
	}
	s := state{exists: true, up: link.Attrs().Flags&net.FlagUp != 0, peers: map[wgtypes.Key]peer{}}
	s.mtu = link.Attrs().MTU
	for _, a := range addresses {
		if p, ok := rtnl.Prefix(a.IPNet); ok && !p.Addr().IsLinkLocalUnicast() {
			s.addresses = append(s.addresses, p)
		}
	}
	slices.SortFunc(s.addresses, netip.Prefix.Compare)
	client, err := wgctrl.New()
	if err != nil {
		return state{}, fmt.Errorf("open WireGuard's netlink: %w", err)
	}
	defer client.Close()
	found, err := client.Device(d.name)
	if err != nil {
		return state{}, fmt.Errorf("read device %s: %w", d.name, err)
	}
	s.private, s.port, s.mark = found.PrivateKey, uint16(found.ListenPort), found.FirewallMark
	for _, p := range found.Peers {
		s.peers[p.PublicKey] = readPeer(p)
	}
	return s, nil
}

func readPeer(from wgtypes.Peer) (p peer) {
	p.preshared = from.PresharedKey
	if from.Endpoint != nil {
		if addr, ok := netip.AddrFromSlice(from.Endpoint.IP); ok {
			p.endpoint = netip.AddrPortFrom(addr.Unmap(), uint16(from.Endpoint.Port))
		}
	}
	for _, n := range from.AllowedIPs {
		if network, ok := rtnl.Prefix(&n); ok {
			p.allowed = append(p.allowed, network)
		}
	}
	slices.SortFunc(p.allowed, netip.Prefix.Compare)
	return p
}

// apply runs the operations. Those about keys and peers, which follow each other in a plan, are one request.
func (d kernelDevice) apply(ops []operation, want settings) error {
	var request wgtypes.Config
	var up bool
	for _, op := range ops {
		switch op.kind {
		case createDevice, setMTU, setAddresses:
			if err := d.applyLink(op.kind, want); err != nil {
				return err
			}
		case makeKey:
			key, err := wgtypes.GeneratePrivateKey()
			if err != nil {
				return fmt.Errorf("make a key for %s: %w", d.name, err)
			}
			request.PrivateKey = &key
		case setPort:
			port := int(want.port)
			request.ListenPort = &port
		case clearMark:
			request.FirewallMark = new(int)
		case setUp:
			up = true
		case removeRoute, addRoute:
			if err := d.changeRoute(op); err != nil {
				return err
			}
		case removePeer:
			request.Peers = append(request.Peers, wgtypes.PeerConfig{PublicKey: op.key, Remove: true})
		case setPeer:
			request.Peers = append(request.Peers, peerConfig(op.key, op.peer))
		}
	}
	if err := d.configure(request); err != nil || !up {
		return err
	}
	link, err := d.mustFind()
	if err != nil {
		return err
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return fmt.Errorf("set %s up: %w (does another program use UDP port %d?)", d.name, err, want.port)
	}
	return nil
}

func peerConfig(key wgtypes.Key, p peer) wgtypes.PeerConfig {
	c := wgtypes.PeerConfig{PublicKey: key, PresharedKey: &p.preshared, Endpoint: net.UDPAddrFromAddrPort(p.endpoint), ReplaceAllowedIPs: true}
	for _, network := range p.allowed {
		c.AllowedIPs = append(c.AllowedIPs, toIPNet(network))
	}
	return c
}

func toIPNet(p netip.Prefix) net.IPNet {
	return net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

func (d kernelDevice) configure(request wgtypes.Config) error {
	if request.PrivateKey == nil && request.ListenPort == nil && request.FirewallMark == nil && len(request.Peers) == 0 {
		return nil
	}
	client, err := wgctrl.New()
	if err != nil {
		return fmt.Errorf("open WireGuard's netlink: %w", err)
	}
	defer client.Close()
	if err := client.ConfigureDevice(d.name, request); err != nil {
		return fmt.Errorf("configure %s: %w", d.name, err)
	}
	return nil
}

func (d kernelDevice) mustFind() (netlink.Link, error) {
	link, err := d.find()
	if err == nil && link == nil {
		err = fmt.Errorf("device %s is gone", d.name)
	}
	return link, err
}

// applyLink runs an operation that concerns the device as a network device.
func (d kernelDevice) applyLink(kind operationKind, want settings) error {
	if kind == createDevice {
		attrs := netlink.NewLinkAttrs()
		attrs.Name, attrs.MTU = d.name, want.mtu
		err := netlink.LinkAdd(&netlink.Wireguard{LinkAttrs: attrs})
		if errors.Is(err, unix.EOPNOTSUPP) {
			return fmt.Errorf("make device %s: the kernel has no WireGuard, which %s needs: load the module wireguard (Linux 5.6 or later)",
				d.name, d.setting)
		}
		if err != nil {
			return fmt.Errorf("make device %s: %w", d.name, err)
		}
		return nil
	}
	link, err := d.mustFind()
	if err != nil {
		return err
	}
	if kind == setAddresses {
		return d.setLinkAddresses(link, want.addresses)
	}
	if err := netlink.LinkSetMTU(link, want.mtu); err != nil {
		return fmt.Errorf("set the MTU of %s to %d: %w", d.name, want.mtu, err)
	}
	return nil
}

// setLinkAddresses also allows IPv6 on the device where new ones have none.
func (d kernelDevice) setLinkAddresses(link netlink.Link, addresses []netip.Prefix) error {
	if slices.ContainsFunc(addresses, func(p netip.Prefix) bool { return p.Addr().Is6() }) {
		path := "/proc/sys/net/ipv6/conf/" + d.name + "/disable_ipv6"
		if err := os.WriteFile(path, []byte("0"), 0); err != nil {
			return fmt.Errorf("allow IPv6 on %s: %w", d.name, err)
		}
	}
	return rtnl.SetAddresses(link, addresses)
}

// RemoveDevice removes the device between Nodes, with its key and peers, if there is one.
func RemoveDevice() error { return betweenNodes.remove() }

// remove removes the device, with its key, peers and routes, if there is one.
func (d kernelDevice) remove() error {
	link, err := d.find()
	if link == nil {
		return err
	}
	if err := netlink.LinkDel(link); err != nil {
		return fmt.Errorf("delete device %s: %w", d.name, err)
	}
	return nil
}

// Leftovers finds the devices of a former agent. One with such a name that is of another kind is not the agent's.
func Leftovers(context.Context) (found []leftover.Item, err error) {
	for _, d := range []kernelDevice{betweenNodes, betweenClusters} {
		link, err := netlink.LinkByName(d.name)
		if gone := (netlink.LinkNotFoundError{}); errors.As(err, &gone) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if link.Type() == linkKind {
			found = append(found, leftover.Item{Name: "device " + d.name + ", with the Node's WireGuard key", Remove: d.remove})
		}
	}
	return found, nil
}
