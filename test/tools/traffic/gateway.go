// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/vishvananda/netlink"
)

// gatewayTimeout limits the time for the default gateway's answer.
const gatewayTimeout = 5 * time.Second

// gatewayMAC resolves the default gateway behind a device.
func gatewayMAC(ctx context.Context, index int, ipv4 bool) (net.HardwareAddr, error) {
	family := netlink.FAMILY_V6
	if ipv4 {
		family = netlink.FAMILY_V4
	}
	gateway, err := defaultGateway(index, family)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, gatewayTimeout)
	defer cancel()
	for {
		neighbors, err := netlink.NeighList(index, family)
		if err != nil {
			return nil, fmt.Errorf("reading the neighbor table: %w", err)
		}
		for _, n := range neighbors {
			if n.IP.Equal(gateway) && len(n.HardwareAddr) == 6 {
				return n.HardwareAddr, nil
			}
		}
		askFor(gateway)
		if !waitUntil(ctx, time.Now().Add(50*time.Millisecond)) {
			return nil, fmt.Errorf("the default gateway %s does not answer: give --destination-mac", gateway)
		}
	}
}

func defaultGateway(index, family int) (net.IP, error) {
	routes, err := netlink.RouteList(nil, family)
	if err != nil {
		return nil, fmt.Errorf("reading routes: %w", err)
	}
	for _, r := range routes {
		isDefault := r.Dst == nil
		if r.Dst != nil {
			ones, _ := r.Dst.Mask.Size()
			isDefault = ones == 0
		}
		if isDefault && r.LinkIndex == index && r.Gw != nil {
			return r.Gw, nil
		}
	}
	return nil, errors.New("there is no default gateway: give --destination-mac")
}

// askFor makes the kernel resolve an address, by sending a datagram to the discard port.
func askFor(ip net.IP) {
	conn, err := net.DialUDP("udp", nil, &net.UDPAddr{IP: ip, Port: 9})
	if err != nil {
		return // no route at present; the caller tries again
	}
	defer conn.Close()
	_, _ = conn.Write([]byte{0})
}
