// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cniserver

import (
	"fmt"
	"runtime"

	"github.com/containernetworking/plugins/pkg/ns"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
)

// netkitPair describes a pair of netkit devices (Linux 6.7, drivers/net/netkit.c) in L2 mode, because Open vSwitch and the
// pipeline need Ethernet. The host side is the primary device: only from there can programs be attached to either side.
//
// Scrubbing clears skb->mark and priority of packets that cross, as veth does: without it a Pod could forge the Node's
// marks. It must be requested: the zero value turns it off.
func netkitPair(netns ns.NetNS, p *podInterface) netlink.Link {
	pair := &netlink.Netkit{
		LinkAttrs: netlink.NewLinkAttrs(),
		Mode:      netlink.NETKIT_MODE_L2,
		Policy:    netlink.NETKIT_POLICY_FORWARD, PeerPolicy: netlink.NETKIT_POLICY_FORWARD,
		Scrub: netlink.NETKIT_SCRUB_DEFAULT, PeerScrub: netlink.NETKIT_SCRUB_DEFAULT,
	}
	pair.Name, pair.MTU, pair.HardwareAddr = p.hostName, p.mtu, p.hostMAC
	peer := netlink.NewLinkAttrs()
	peer.Name, peer.MTU, peer.HardwareAddr = p.ifname, p.mtu, p.mac
	peer.Namespace = netlink.NsFd(netns.Fd())
	pair.SetPeerAttrs(&peer)
	return pair
}

// verifyNetkit checks the properties on which the rest of the Node relies.
func verifyNetkit(host *netlink.Netkit) error {
	switch {
	case !host.IsPrimary():
		return fmt.Errorf("host interface %s is the peer of its netkit pair, want the primary device", host.Name)
	case host.Mode != netlink.NETKIT_MODE_L2:
		return fmt.Errorf("host interface %s is a netkit device in L3 mode, want L2", host.Name)
	case host.Policy != netlink.NETKIT_POLICY_FORWARD || host.PeerPolicy != netlink.NETKIT_POLICY_FORWARD:
		return fmt.Errorf("netkit pair of host interface %s has policy %d, of its peer %d, want %d (forward)",
			host.Name, host.Policy, host.PeerPolicy, netlink.NETKIT_POLICY_FORWARD)
	// A kernel without the attribute always scrubs.
	case host.SupportsScrub() && (host.Scrub != netlink.NETKIT_SCRUB_DEFAULT || host.PeerScrub != netlink.NETKIT_SCRUB_DEFAULT):
		return fmt.Errorf("netkit pair of host interface %s passes marks on (scrub %d, of its peer %d), want %d (default)",
			host.Name, host.Scrub, host.PeerScrub, netlink.NETKIT_SCRUB_DEFAULT)
	}
	return nil
}

// probeNetkit makes a pair in a network namespace of its own.
func probeNetkit() error {
	result := make(chan error)
	go func() {
		// The thread stays locked and ends with the goroutine, and so does the namespace.
		runtime.LockOSThread()
		err := unix.Unshare(unix.CLONE_NEWNET)
		if err == nil {
			attrs := netlink.NewLinkAttrs()
			attrs.Name = "probe"
			err = netlink.LinkAdd(&netlink.Netkit{LinkAttrs: attrs, Mode: netlink.NETKIT_MODE_L2})
		}
		result <- err
	}()
	if err := <-result; err != nil {
		return fmt.Errorf("podInterfaceType: %q needs a kernel with netkit (Linux 6.7, CONFIG_NETKIT), and this is %s: use %q: %w",
			config.PodInterfaceNetkit, kernelRelease(), config.PodInterfaceVeth, err)
	}
	return nil
}

func kernelRelease() string {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return "an unknown version"
	}
	return unix.ByteSliceToString(name.Release[:])
}
