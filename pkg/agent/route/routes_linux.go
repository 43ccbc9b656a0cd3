// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/rtnl"
)

// podRoute is the route to one peer's Pods: "<cidr> via <gateway> dev <gateway port> onlink". It is onlink because the
// peer's gateway address is not in a network of this Node; the pipeline answers the ARP request for it. Routes to Services have
// the same form. The route to their next hop has no gateway.
//
// A plain one does not lead to the bridge: "<cidr> via <gateway>", the peer's transport address; or, with a source, "<cidr> dev antrea-wg0 scope
// link src <source>". With neither, the agent has no route to the CIDR.
type podRoute struct {
	cidr    netip.Prefix
	gateway netip.Addr
	plain   bool
	source  netip.Addr
}

// isMade reports whether the agent makes the route.
func (r podRoute) isMade() bool { return r.gateway.IsValid() || r.source.IsValid() }

// gatewayRoute is a route found on the gateway port.
type gatewayRoute struct {
	podRoute
	onlink bool
	raw    netlink.Route
}

func newGatewayRoute(r netlink.Route) gatewayRoute {
	g := gatewayRoute{raw: r, onlink: r.Flags&int(netlink.FLAG_ONLINK) != 0}
	if r.Dst != nil {
		g.cidr = fromIPNet(r.Dst)
	}
	if gateway, ok := netip.AddrFromSlice(r.Gw); ok {
		g.gateway = gateway.Unmap()
	}
	return g
}

// isOurs reports whether the agent makes the route in just this way.
func (h gatewayRoute) isOurs() bool {
	return h.raw.Protocol == config.RouteProtocol && (h.onlink || !h.gateway.IsValid())
}

// missingRoutes returns the desired routes, in order, that the gateway port lacks, or has with another next hop or protocol number.
func missingRoutes(desired []podRoute, have []gatewayRoute) []podRoute {
	good := map[podRoute]bool{}
	for _, h := range have {
		good[h.podRoute] = good[h.podRoute] || h.isOurs()
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

// gatewayLink looks up the gateway port, or another device, by name each time: it may have been made again, with another index, since the agent
// started.
func gatewayLink(name string) (int, error) {
	link, err := netlink.LinkByName(name)
	if err != nil {
		return 0, fmt.Errorf("find device %s: %w", name, err)
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
		found = append(found, newGatewayRoute(r))
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

// foreignRouteError is a route of the Node's own to exactly the network that a route of the agent's is for. It stays as it is.
type foreignRouteError struct{ route netlink.Route }

func (e foreignRouteError) Error() string {
	return fmt.Sprintf("the Node has a route of its own to it, which is not replaced: %v", e.route)
}

// setRoute adds the route, or corrects the agent's route to the same network; link is the gateway port. A route of another device that is not the
// agent's is left alone, whatever its metric.
func setRoute(r podRoute, link int) error {
	route := &netlink.Route{Dst: toIPNet(r.cidr), LinkIndex: link, Scope: netlink.SCOPE_LINK, Protocol: config.RouteProtocol}
	if r.gateway.IsValid() {
		route.Gw, route.Scope, route.Flags = r.gateway.AsSlice(), netlink.SCOPE_UNIVERSE, int(netlink.FLAG_ONLINK)
	}
	if r.plain {
		route.LinkIndex, route.Flags = 0, 0 // the route to the gateway decides
	}
	if r.source.IsValid() {
		device, err := gatewayLink(config.WireGuardDevice)
		if err != nil {
			return fmt.Errorf("add route %s: %w", r.cidr, err)
		}
		route.LinkIndex, route.Src = device, r.source.AsSlice()
	}
	there, err := findRoute(r, route.LinkIndex, link)
	if err == nil && !there {
		// Without NLM_F_REPLACE: a route that has been made since is not lost.
		if err = netlink.RouteAdd(route); errors.Is(err, unix.EEXIST) {
			err = correctRoute(route, link)
		}
	}
	if err != nil {
		return fmt.Errorf("add route %s via %s on link %d: %w", r.cidr, r.gateway, link, err)
	}
	return nil
}

// findRoute reports whether the route is there; device is the one that it leads to, link the gateway port. A plain route that stands in its way goes. It asks the kernel which route packets to the network's first address take, which costs the same
// however many there are. One of another device to exactly this network is an error: it would be replaced or hidden by the agent's.
func findRoute(r podRoute, device, link int) (there bool, err error) {
	found, err := netlink.RouteGetWithOptions(r.cidr.Addr().AsSlice(), &netlink.RouteGetOptions{FIBMatch: true})
	if err != nil {
		return false, nil // there is none
	}
	for _, have := range found {
		g := newGatewayRoute(have)
		switch {
		case g.cidr != r.cidr || have.Table != unix.RT_TABLE_MAIN:
		case isForeign(have, device, link):
			return false, foreignRouteError{have}
		case have.LinkIndex != link && !r.plain && r.cidr.Addr().Is6():
			// Linux refuses an onlink gateway to which another device leads (ip6_route_check_nh_onlink), so the route cannot be replaced in one step.
			return false, deleteRoute(&have)
		case r.source.IsValid():
			there = there || leads(have, device, r.source)
		case r.plain:
			there = there || have.LinkIndex != link && g.gateway == r.gateway
		case have.LinkIndex == link && g.podRoute == r && g.isOurs():
			there = true
		}
	}
	return there, nil
}

// isForeign reports whether a route of the Node is another program's. On the agent's devices there are only its own routes: Antrea gives routes to device,
// which encrypts packets, another protocol number. A route with several next hops has no device.
func isForeign(have netlink.Route, device, link int) bool {
	return have.Protocol != config.RouteProtocol && have.LinkIndex != link && (have.LinkIndex == 0 || have.LinkIndex != device)
}

// leads reports whether the route leads to the device, and gives packets of the Node the source.
func leads(have netlink.Route, device int, source netip.Addr) bool {
	src, _ := netip.AddrFromSlice(have.Src)
	return have.LinkIndex == device && have.Protocol == config.RouteProtocol && src.Unmap() == source
}

// correctRoute replaces the agent's route to the same network.
func correctRoute(route *netlink.Route, link int) error {
	filter := &netlink.Route{Dst: route.Dst, Table: unix.RT_TABLE_MAIN}
	found, err := rtnl.Dump(func() ([]netlink.Route, error) {
		return netlink.RouteListFiltered(nl.GetIPFamily(route.Dst.IP), filter, netlink.RT_FILTER_DST|netlink.RT_FILTER_TABLE)
	})
	if err != nil {
		return err
	}
	for _, have := range found {
		if isForeign(have, route.LinkIndex, link) {
			return foreignRouteError{have}
		}
	}
	return netlink.RouteReplace(route)
}

// deleteRoute succeeds when there is no such route.
func deleteRoute(r *netlink.Route) error {
	if err := netlink.RouteDel(r); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("delete route %s: %w", r, err)
	}
	return nil
}
