// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/rtnl"
)

// podRoute is the route to one peer's Pods: "<cidr> via <gateway> dev <gateway port> onlink". It is onlink because the
// peer's gateway address is not in a network of this Node; the pipeline answers the ARP request for it. Routes to Services have
// the same form. The route to their next hop has no gateway.
type podRoute struct {
	cidr    netip.Prefix
	gateway netip.Addr
}

// gatewayRoute is a route found on the gateway port.
type gatewayRoute struct {
	podRoute
	onlink bool
	raw    netlink.Route
}

// missingRoutes returns the desired routes, in order, that the gateway port lacks or has with another next hop.
func missingRoutes(desired []podRoute, have []gatewayRoute) []podRoute {
	good := map[podRoute]bool{}
	for _, h := range have {
		good[h.podRoute] = good[h.podRoute] || h.onlink || !h.gateway.IsValid()
	}
	var missing []podRoute
	for _, d := range desired {
		if !good[d] {
			missing = append(missing, d)
		}
	}
	return missing
}

// unknownRoutes returns the routes to destinations that are not in known, except routes that the kernel made: these belong
// to an address of the port.
func unknownRoutes(have []gatewayRoute, known map[netip.Prefix]bool) []gatewayRoute {
	var unknown []gatewayRoute
	for _, h := range have {
		if h.raw.Protocol != unix.RTPROT_KERNEL && !known[h.cidr] {
			unknown = append(unknown, h)
		}
	}
	return unknown
}

// gatewayLink looks up the port by name each time: Open vSwitch may have recreated it with another index since the agent
// started.
func gatewayLink(name string) (int, error) {
	link, err := netlink.LinkByName(name)
	if err != nil {
		return 0, fmt.Errorf("find gateway port %s: %w", name, err)
	}
	return link.Attrs().Index, nil
}

// listGatewayRoutes returns the routes of the main table on the link.
func listGatewayRoutes(f family, link int) ([]gatewayRoute, error) {
	filter := &netlink.Route{LinkIndex: link, Table: unix.RT_TABLE_MAIN}
	routes, err := rtnl.Dump(func() ([]netlink.Route, error) {
		return netlink.RouteListFiltered(f.af, filter, netlink.RT_FILTER_OIF|netlink.RT_FILTER_TABLE)
	})
	if err != nil {
		return nil, fmt.Errorf("list %s routes on link %d: %w", f.name, link, err)
	}
	found := make([]gatewayRoute, 0, len(routes))
	for _, r := range routes {
		g := gatewayRoute{raw: r, onlink: r.Flags&int(netlink.FLAG_ONLINK) != 0}
		if r.Dst != nil {
			g.cidr = fromIPNet(r.Dst)
		}
		if gateway, ok := netip.AddrFromSlice(r.Gw); ok {
			g.gateway = gateway.Unmap()
		}
		found = append(found, g)
	}
	return found, nil
}

// gatewayRoutes returns the gateway port's index and the routes on it.
func (s *stack) gatewayRoutes() (link int, routes []gatewayRoute, err error) {
	if link, err = gatewayLink(s.gateway); err == nil {
		routes, err = listGatewayRoutes(s.family, link)
	}
	return link, routes, err
}

// replaceRoute adds the route or corrects its next hop.
func replaceRoute(r podRoute, link int) error {
	route := &netlink.Route{Dst: toIPNet(r.cidr), LinkIndex: link, Scope: netlink.SCOPE_LINK}
	if r.gateway.IsValid() {
		route.Gw, route.Scope, route.Flags = r.gateway.AsSlice(), netlink.SCOPE_UNIVERSE, int(netlink.FLAG_ONLINK)
	}
	if err := netlink.RouteReplace(route); err != nil {
		return fmt.Errorf("add route %s via %s on link %d: %w", r.cidr, r.gateway, link, err)
	}
	return nil
}

// deleteRoute succeeds when there is no such route.
func deleteRoute(r *netlink.Route) error {
	if err := netlink.RouteDel(r); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("delete route %s: %w", r, err)
	}
	return nil
}
