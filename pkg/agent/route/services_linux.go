// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
	"k8s.io/klog/v2"
)

// hostServices is what the host does for Services. The mutex of its stack guards it.
//
// An address of a Service gets a route of its own: a network around several of them would also lead to the bridge what belongs to nobody, or
// to others. The next hop does not exist: packets to it have the virtual MAC address, and the bridge drops those that are for no Service.
type hostServices struct {
	family family
	// ports has what each port needs, users how many ports need it.
	ports map[string][]hostItem
	users map[hostItem]int
	// addresses serve NodePorts.
	addresses []netip.Addr
	// health are the health check ports.
	health map[uint16]bool
	// complete says that all Services of the start have been set.
	complete bool
}

// hostItem is a route to the address or, if that is not valid, a NodePort.
type hostItem struct {
	address  netip.Addr
	protocol uint8
	port     uint16
}

func newHostServices(f family) *hostServices {
	return &hostServices{family: f, ports: map[string][]hostItem{}, users: map[hostItem]int{}, health: map[uint16]bool{}}
}

func (p ServicePort) items() []hostItem {
	var items []hostItem
	for _, a := range p.Addresses {
		items = append(items, hostItem{address: a})
	}
	if p.NodePort != 0 {
		items = append(items, hostItem{protocol: p.Protocol, port: p.NodePort})
	}
	return items
}

// routes returns the routes that there should be, those to next hops first, none for nil.
func (h *hostServices) routes() []podRoute {
	if h == nil {
		return nil
	}
	nextHop := netip.PrefixFrom(h.family.virtualService, h.family.bits)
	routes := []podRoute{{cidr: nextHop}, h.routeTo(h.family.virtualNodePort)}
	for item := range h.users {
		if item.address.IsValid() {
			routes = append(routes, h.routeTo(item.address))
		}
	}
	slices.SortFunc(routes[2:], func(a, b podRoute) int { return comparePrefixes(a.cidr, b.cidr) })
	return routes
}

func (h *hostServices) routeTo(addr netip.Addr) podRoute {
	return podRoute{cidr: netip.PrefixFrom(addr, h.family.bits), gateway: h.family.virtualService}
}

// has reports whether the route is one of Services, perhaps of one that no longer exists.
func (h *hostServices) has(r gatewayRoute) bool {
	return h != nil && (r.gateway == h.family.virtualService || r.cidr == netip.PrefixFrom(h.family.virtualService, h.family.bits))
}

// SetServicePort implements Services.
func (c *Client) SetServicePort(name string, port ServicePort) error {
	for _, s := range c.stacks {
		if s.services == nil || (s.family.bits == 128) != port.IPv6 {
			continue
		}
		if err := s.setServicePort(name, port.items()); err != nil {
			return fmt.Errorf("lead connections to the Service port %s to the bridge: %w", name, err)
		}
		return nil
	}
	return fmt.Errorf("lead connections to the Service port %s to the bridge: it needs proxyAll, and Pods of its IP version (IPv6 %t)", name, port.IPv6)
}

// DeleteServicePort implements Services.
func (c *Client) DeleteServicePort(name string) error {
	return c.each(func(s *stack) error {
		if s.services == nil {
			return nil
		}
		if err := s.setServicePort(name, nil); err != nil {
			return fmt.Errorf("no longer lead connections to the Service port %s to the bridge: %w", name, err)
		}
		return nil
	})
}

// SetNodePortAddresses implements Services.
func (c *Client) SetNodePortAddresses(addresses []netip.Addr) error {
	return c.each(func(s *stack) error {
		if s.services == nil {
			return nil
		}
		s.mutex.Lock()
		defer s.mutex.Unlock()
		s.services.addresses = slices.DeleteFunc(slices.Clone(addresses), func(a netip.Addr) bool { return !s.family.has(a) })
		return errors.Join(s.syncNodePorts(), s.syncHealthPorts())
	})
}

// ReconcileServices implements Services.
func (c *Client) ReconcileServices() error {
	return c.each(func(s *stack) error {
		if s.services == nil {
			return nil
		}
		s.mutex.Lock()
		defer s.mutex.Unlock()
		s.services.complete = true
		return errors.Join(s.syncNodePorts(), s.syncHealthPorts(), s.removeOtherServiceRoutes())
	})
}

// setServicePort first adds what is missing, then removes what is no longer needed.
func (s *stack) setServicePort(name string, want []hostItem) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	h := s.services
	before := h.ports[name]
	have := slices.Clone(before)
	var errs []error
	for _, item := range want {
		if slices.Contains(have, item) {
			continue
		}
		if h.users[item] == 0 {
			if err := s.addItem(item); err != nil {
				errs = append(errs, err)
				continue
			}
		}
		h.users[item]++
		have = append(have, item)
	}
	for _, item := range before {
		if len(errs) > 0 || slices.Contains(want, item) {
			continue
		}
		if h.users[item] == 1 {
			if err := s.removeItem(item); err != nil {
				errs = append(errs, err)
				continue
			}
			delete(h.users, item)
		} else {
			h.users[item]--
		}
		have = slices.DeleteFunc(have, func(i hostItem) bool { return i == item })
	}
	if h.ports[name] = have; len(have) == 0 {
		delete(h.ports, name)
	}
	return errors.Join(errs...)
}

func (s *stack) addItem(item hostItem) error {
	if !item.address.IsValid() {
		return s.eachNodePort(item, func(e nodePortEntry) error { return s.family.nodePortSet().addNodePort(e) })
	}
	link, err := gatewayLink(s.gateway)
	if err != nil {
		return err
	}
	return replaceRoute(s.services.routeTo(item.address), link)
}

func (s *stack) removeItem(item hostItem) error {
	if !item.address.IsValid() {
		return s.eachNodePort(item, func(e nodePortEntry) error { return s.family.nodePortSet().removeNodePort(e) })
	}
	link, err := gatewayLink(s.gateway)
	var gone netlink.LinkNotFoundError
	if errors.As(err, &gone) {
		return nil
	}
	if err != nil {
		return err
	}
	return deleteRoute(&netlink.Route{Dst: toIPNet(netip.PrefixFrom(item.address, s.family.bits)), LinkIndex: link, Table: unix.RT_TABLE_MAIN})
}

func (s *stack) eachNodePort(item hostItem, do func(nodePortEntry) error) error {
	var errs []error
	for _, address := range s.services.addresses {
		errs = append(errs, do(nodePortEntry{address, item.protocol, item.port}))
	}
	return errors.Join(errs...)
}

// syncNodePorts makes the set of NodePorts complete, and removes entries that are too many once all Services are known. The caller holds
// mutex.
func (s *stack) syncNodePorts() error {
	set := s.family.nodePortSet()
	if err := set.ensure(); err != nil {
		return err
	}
	have, err := set.nodePorts()
	if err != nil {
		return err
	}
	var errs []error
	for item := range s.services.users {
		if item.address.IsValid() {
			continue
		}
		for _, address := range s.services.addresses {
			e := nodePortEntry{address, item.protocol, item.port}
			if !have[e] {
				errs = append(errs, set.addNodePort(e))
			}
			delete(have, e)
		}
	}
	if !s.services.complete {
		return errors.Join(errs...)
	}
	for _, e := range slices.SortedFunc(maps.Keys(have), nodePortEntry.compare) {
		errs = append(errs, set.removeNodePort(e))
	}
	return errors.Join(errs...)
}

// removeOtherServiceRoutes deletes routes of Services that have gone while no agent was running. The caller holds mutex.
func (s *stack) removeOtherServiceRoutes() error {
	_, have, err := s.gatewayRoutes()
	if err != nil {
		return err
	}
	known := map[netip.Prefix]bool{}
	for _, r := range s.services.routes() {
		known[r.cidr] = true
	}
	var errs []error
	for _, r := range have {
		if !s.services.has(r) || known[r.cidr] {
			continue
		}
		if err := deleteRoute(&r.raw); err != nil {
			errs = append(errs, err)
			continue
		}
		klog.InfoS("Deleted the route of a Service that has gone", "destination", r.cidr)
	}
	return errors.Join(errs...)
}

// syncServiceNeighbor gives the next hop of Services the virtual MAC address: nobody would answer for it.
func (s *stack) syncServiceNeighbor(link int) error {
	if err := netlink.NeighSet(s.neighbor(s.family.virtualService, link)); err != nil {
		return fmt.Errorf("add neighbor %s on link %d: %w", s.family.virtualService, link, err)
	}
	return nil
}

// removeServices removes what a former agent with proxyAll has made, after its rules. Reconcile deletes the routes.
func (s *stack) removeServices() error {
	if err := errors.Join(destroySet(s.family.nodePortIPSet), destroySet(s.family.healthPortIPSet)); err != nil {
		return err
	}
	link, err := gatewayLink(s.gateway)
	if err != nil {
		return err
	}
	err = netlink.NeighDel(s.neighbor(s.family.virtualService, link))
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("delete neighbor %s on link %d: %w", s.family.virtualService, link, err)
	}
	return nil
}
