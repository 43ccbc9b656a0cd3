// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package wireguard

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/rtnl"
)

// planRoutes lists the operations that lead from the device's routes to the wanted ones.
func planRoutes(want, have []netip.Prefix) (ops []operation) {
	for _, network := range have {
		if !slices.Contains(want, network) {
			ops = append(ops, operation{kind: removeRoute, network: network})
		}
	}
	for _, network := range want {
		if !slices.Contains(have, network) {
			ops = append(ops, operation{kind: addRoute, network: network})
		}
	}
	return ops
}

// routes returns the IPv4 routes to the device, in order. Whoever has made them, they are the agent's, like the device.
func (d kernelDevice) routes() (networks []netip.Prefix, err error) {
	link, err := d.mustFind()
	if err != nil {
		return nil, err
	}
	filter := &netlink.Route{LinkIndex: link.Attrs().Index, Table: unix.RT_TABLE_MAIN}
	found, err := rtnl.Dump(func() ([]netlink.Route, error) {
		return netlink.RouteListFiltered(unix.AF_INET, filter, netlink.RT_FILTER_OIF|netlink.RT_FILTER_TABLE)
	})
	if err != nil {
		return nil, fmt.Errorf("list the routes to %s: %w", d.name, err)
	}
	for _, r := range found {
		if network, ok := rtnl.Prefix(r.Dst); ok {
			networks = append(networks, network)
		}
	}
	slices.SortFunc(networks, netip.Prefix.Compare)
	return networks, nil
}

// changeRoute adds or removes one route to the device. It replaces no route of another program to the same network.
func (d kernelDevice) changeRoute(op operation) error {
	link, err := d.mustFind()
	if err != nil {
		return err
	}
	network := toIPNet(op.network)
	route := &netlink.Route{Dst: &network, LinkIndex: link.Attrs().Index, Scope: netlink.SCOPE_LINK, Table: unix.RT_TABLE_MAIN}
	if op.kind == removeRoute {
		if err := netlink.RouteDel(route); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("delete the route to %s through %s: %w", op.network, d.name, err)
		}
		return nil
	}
	err = netlink.RouteAdd(route)
	if errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("add the route to %s through %s: the Node has a route of its own to it, which is not replaced", op.network, d.name)
	}
	if err != nil {
		return fmt.Errorf("add the route to %s through %s: %w", op.network, d.name, err)
	}
	return nil
}
