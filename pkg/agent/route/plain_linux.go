// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/rtnl"
)

// Plain routes lead packets to a peer's Pods through the network as they are, or to the device that encrypts them. Other programs have routes on the same devices, so the agent finds its
// own by their protocol number, also those that were made before it started.

// setPlainRoute makes the CIDR reachable by a plain route, or by no route of the agent's. Its neighbor for the tunnel goes.
func (s *stack) setPlainRoute(r podRoute, link int) error {
	var err error
	if r.isMade() {
		err = setRoute(r, link)
	} else {
		// A former agent's on the gateway port may have another protocol number.
		err = errors.Join(deletePlainRoute(r.cidr), deleteRoute(&netlink.Route{Dst: toIPNet(r.cidr), LinkIndex: link, Table: unix.RT_TABLE_MAIN}))
	}
	if err != nil {
		return err
	}
	return s.deleteNeighbor(r.cidr.Addr().Next(), link)
}

// deletePlainRoute deletes the agent's route to the CIDR, whatever its device and scope. It succeeds when there is none.
func deletePlainRoute(cidr netip.Prefix) error {
	return deleteRoute(&netlink.Route{Dst: toIPNet(cidr), Table: unix.RT_TABLE_MAIN, Protocol: config.RouteProtocol, Scope: netlink.SCOPE_NOWHERE})
}

// plainRoutes returns the agent's routes of the main table on other devices than the gateway port.
func (s *stack) plainRoutes(link int) ([]gatewayRoute, error) {
	filter := &netlink.Route{Protocol: config.RouteProtocol, Table: unix.RT_TABLE_MAIN}
	routes, err := rtnl.Dump(func() ([]netlink.Route, error) {
		return netlink.RouteListFiltered(s.family.af, filter, netlink.RT_FILTER_PROTOCOL|netlink.RT_FILTER_TABLE)
	})
	if err != nil {
		return nil, fmt.Errorf("list the agent's %s routes: %w", s.family.name, err)
	}
	var found []gatewayRoute
	for _, r := range routes {
		if r.LinkIndex != link {
			found = append(found, newGatewayRoute(r))
		}
	}
	return found, nil
}

// antreaRoutes returns the routes to the device that encrypts packets which Antrea has made: they have another protocol number.
func (s *stack) antreaRoutes() (found []gatewayRoute, err error) {
	device, err := gatewayLink(config.WireGuardDevice)
	if gone := (netlink.LinkNotFoundError{}); errors.As(err, &gone) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	all, err := listGatewayRoutes(s.family, device)
	for _, r := range all {
		if r.raw.Protocol == unix.RTPROT_BOOT {
			found = append(found, r)
		}
	}
	return found, err
}

// removeUnknownPlainRoutes removes the routes to CIDRs that are not in known, and to peers that are now reached in another way.
func (s *stack) removeUnknownPlainRoutes(known map[netip.Prefix]bool, link int) error {
	have, err := s.plainRoutes(link)
	antreas, err2 := s.antreaRoutes()
	have, errs := append(have, antreas...), []error{err, err2}
	for _, h := range have {
		if peer, added := s.peers[h.cidr]; known[h.cidr] && (!added || peer.plain && peer.isMade()) {
			continue
		}
		if err := deleteRoute(&h.raw); err != nil {
			errs = append(errs, err)
			continue
		}
		klog.InfoS("Deleted unknown route to a Node", "destination", h.cidr, "gateway", h.gateway)
	}
	return errors.Join(errs...)
}

// isPlainly reports whether a route of the agent's is this plain one; device is the one that encrypts packets.
func (r podRoute) isPlainly(have netlink.Route, device int) bool {
	if r.source.IsValid() {
		return leads(have, device, r.source)
	}
	return newGatewayRoute(have).gateway == r.gateway
}

// restoreEncrypted adds the routes to the device that encrypts packets.
func (s *stack) restoreEncrypted() error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var desired []podRoute
	for _, r := range s.peers {
		if r.source.IsValid() {
			desired = append(desired, r)
		}
	}
	if len(desired) == 0 {
		return nil
	}
	link, err := gatewayLink(s.gateway)
	if err != nil {
		return err
	}
	return s.syncPlainRoutes(desired, link)
}

// syncPlainRoutes adds the desired routes that are missing, or lead to another next hop.
func (s *stack) syncPlainRoutes(desired []podRoute, link int) error {
	if len(desired) == 0 {
		return nil
	}
	device := 0
	if slices.ContainsFunc(desired, func(r podRoute) bool { return r.source.IsValid() }) {
		var err error
		if device, err = gatewayLink(config.WireGuardDevice); err != nil {
			return err
		}
	}
	have, err := s.plainRoutes(link)
	if err != nil {
		return err
	}
	there := make(map[netip.Prefix]netlink.Route, len(have))
	for _, h := range have {
		there[h.cidr] = h.raw
	}
	var errs []error
	for _, r := range desired {
		if now, found := there[r.cidr]; !r.isMade() || found && r.isPlainly(now, device) {
			continue
		}
		if err := setRoute(r, link); err != nil {
			errs = append(errs, err)
			continue
		}
		klog.InfoS("Added a route that was missing", "destination", r.cidr, "gateway", r.gateway)
	}
	return errors.Join(errs...)
}
