// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/rtnl"
	"github.com/antrea-oncache/antrea/pkg/agent/sysctl"
)

// linkPollInterval is the time between two looks at a device that vswitchd is about to make.
const linkPollInterval = 20 * time.Millisecond

// gatewayAddress is the first address of a Pod network, with the network's prefix length; zero for the zero Prefix.
func gatewayAddress(cidr netip.Prefix) netip.Prefix {
	if !cidr.IsValid() {
		return netip.Prefix{}
	}
	return netip.PrefixFrom(cidr.Masked().Addr().Next(), cidr.Bits())
}

// configureGatewayLink waits for vswitchd to make the gateway's device and give it its MAC address, then sets it up with
// exactly the given addresses. It returns the device's index. It works in the network namespace of the calling thread and
// changes only what differs.
func configureGatewayLink(ctx context.Context, gateway *config.GatewayConfig, addresses []netip.Prefix) (int, error) {
	link, err := waitForLink(ctx, gateway.Name, gateway.MAC)
	if err != nil {
		return 0, err
	}
	if err := setGatewaySysctls(gateway.Name, slices.ContainsFunc(addresses, func(p netip.Prefix) bool { return p.Addr().Is6() })); err != nil {
		return 0, err
	}
	if link.Attrs().Flags&net.FlagUp == 0 {
		if err := netlink.LinkSetUp(link); err != nil {
			return 0, fmt.Errorf("set gateway %q up: %w", gateway.Name, err)
		}
	}
	return link.Attrs().Index, rtnl.SetAddresses(link, addresses)
}

func waitForLink(ctx context.Context, name string, mac net.HardwareAddr) (netlink.Link, error) {
	ctx, cancel := context.WithTimeout(ctx, portTimeout)
	defer cancel()
	for {
		link, err := netlink.LinkByName(name)
		if err == nil && bytes.Equal(link.Attrs().HardwareAddr, mac) {
			return link, nil
		}
		if notFound := (netlink.LinkNotFoundError{}); err != nil && !errors.As(err, &notFound) {
			return nil, fmt.Errorf("read gateway device %q: %w", name, err)
		}
		reason := "it does not exist; do ovs-vswitchd and the agent run in the same network namespace?"
		if err == nil {
			reason = fmt.Sprintf("its MAC address is %s", link.Attrs().HardwareAddr)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for ovs-vswitchd to make gateway device %q with MAC address %s: %s: %w", name, mac, reason, ctx.Err())
		case <-time.After(linkPollInterval):
		}
	}
}

// setGatewaySysctls makes ARP requests from the gateway carry the gateway's own address, the only address of this Node
// that Pods and the pipeline know. With ipv6 it makes sure that the device can have IPv6 addresses and ignores router
// advertisements: this Node is the router of its Pods.
func setGatewaySysctls(name string, ipv6 bool) error {
	err := sysctl.Apply("net/ipv4/conf/"+name+"/arp_announce", "1")
	if ipv6 {
		err = errors.Join(err, sysctl.Apply("net/ipv6/conf/"+name+"/disable_ipv6", "0"), sysctl.Apply("net/ipv6/conf/"+name+"/accept_ra", "0"))
	}
	return err
}
