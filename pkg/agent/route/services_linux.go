// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/sysctl"
)

// hostServices is the state of Services on the host. The mutex of its stack guards it.
//
// A cluster IP gets a route of its own: a network around several of them would also lead to the bridge unused addresses, and addresses of others. An
// external address can also be one that the Node needs for something else. So only packets to the Service's port get there: an ipset has
// addresses with ports, iptables mark what is in it (serviceMarks in rules.go), and a routing rule follows the mark (servicerule_linux.go).
// The next hop does not exist: packets to it have the virtual MAC address, and the bridge drops those that are for no Service.
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
	// needed is Options.Needed.
	needed func(addr netip.Addr, port uint16) bool
}

// hostItem is a route to the address if it has no protocol, or an entry of the set of external addresses. Without an address it is a NodePort.
type hostItem struct {
	address  netip.Addr
	protocol uint8
	port     uint16
}

func newHostServices(f family, needed func(netip.Addr, uint16) bool) *hostServices {
	return &hostServices{family: f, needed: needed, ports: map[string][]hostItem{}, users: map[hostItem]int{}, health: map[uint16]bool{}}
}

func (p ServicePort) items() []hostItem {
	var items []hostItem
	for _, a := range p.ClusterIPs {
		items = append(items, hostItem{address: a})
	}
	f := familyIPv4
	if p.IPv6 {
		f = familyIPv6
	}
	for _, a := range p.External {
		items = append(items, hostItem{a, p.Protocol, p.Port})
		for _, e := range f.icmpErrors {
			items = append(items, hostItem{a, f.icmp, e})
		}
	}
	if p.NodePort != 0 {
		items = append(items, hostItem{protocol: p.Protocol, port: p.NodePort})
	}
	return items
}

func (i hostItem) isNodePort() bool { return !i.address.IsValid() }
func (i hostItem) isRoute() bool    { return i.address.IsValid() && i.protocol == 0 }

func (i hostItem) entry() portEntry { return portEntry(i) }

// routes returns the routes that there should be, routes to next hops first, none for nil.
func (h *hostServices) routes() []podRoute {
	if h == nil {
		return nil
	}
	nextHop := netip.PrefixFrom(h.family.virtualService, h.family.bits)
	routes := []podRoute{{cidr: nextHop}, h.routeTo(h.family.virtualNodePort)}
	for item := range h.users {
		if item.isRoute() {
			routes = append(routes, h.routeTo(item.address))
		}
	}
	slices.SortFunc(routes[2:], func(a, b podRoute) int { return comparePrefixes(a.cidr, b.cidr) })
	return routes
}

// needs reports whether the Node needs the address with this port; port 0: with any.
func (h *hostServices) needs(addr netip.Addr, port uint16) bool {
	return h.needed != nil && h.needed(addr, port)
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
		return errors.Join(s.syncPortSets(), s.syncHealthPorts())
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
		_, have, err := s.gatewayRoutes()
		return errors.Join(err, s.syncPortSets(), s.syncHealthPorts(), s.removeOtherServiceRoutes(have))
	})
}

// setServicePort first adds what is missing, then removes what is no longer needed.
func (s *stack) setServicePort(name string, want []hostItem) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	h := s.services
	for _, item := range want {
		if item.address == s.family.virtualService || item.address == s.family.virtualNodePort {
			return fmt.Errorf("%s is an address of the pipeline", item.address)
		}
	}
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
	if !item.isRoute() {
		return s.eachEntry(item, func(set ipset, e portEntry) error { return set.addPort(e) })
	}
	link, err := gatewayLink(s.gateway)
	if err != nil {
		return err
	}
	return setRoute(s.services.routeTo(item.address), link)
}

func (s *stack) removeItem(item hostItem) error {
	if !item.isRoute() {
		return s.eachEntry(item, func(set ipset, e portEntry) error { return set.removePort(e) })
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

// eachEntry calls do with the entries of sets that the item needs: a NodePort one for each address.
func (s *stack) eachEntry(item hostItem, do func(ipset, portEntry) error) error {
	if !item.isNodePort() {
		return do(s.family.serviceSet(), item.entry())
	}
	var errs []error
	for _, address := range s.services.addresses {
		errs = append(errs, do(s.family.nodePortSet(), portEntry{address, item.protocol, item.port}))
	}
	return errors.Join(errs...)
}

// syncPortSets makes the sets of NodePorts and of external addresses complete, and removes entries that are too many once all Services are
// known. Of those that only a former agent knows, it removes earlier what the Node needs. The caller holds mutex.
func (s *stack) syncPortSets() error {
	want := map[string]map[portEntry]bool{s.family.nodePortIPSet: {}, s.family.serviceIPSet: {}}
	for item := range s.services.users {
		if !item.isRoute() {
			_ = s.eachEntry(item, func(set ipset, e portEntry) error { want[set.name][e] = true; return nil })
		}
	}
	var errs []error
	for _, set := range []ipset{s.family.nodePortSet(), s.family.serviceSet()} {
		errs = append(errs, set.syncPorts(want[set.name], func(e portEntry) bool {
			return s.services.complete || set.name == s.family.serviceIPSet && s.services.needs(e.address, e.port)
		}))
	}
	return errors.Join(errs...)
}

// removeOtherServiceRoutes deletes routes of Services that have gone while no agent was running and, before all Services are known, routes to
// addresses that the Node needs. The caller holds mutex.
func (s *stack) removeOtherServiceRoutes(have []gatewayRoute) error {
	known := map[netip.Prefix]bool{}
	for _, r := range s.services.routes() {
		known[r.cidr] = true
	}
	var errs []error
	for _, r := range have {
		if !s.services.has(r) || known[r.cidr] || !s.services.complete && !s.services.needs(r.cidr.Addr(), 0) {
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

// syncServiceNeighbor gives the next hop of Services the virtual MAC address: nothing would answer for it.
func (s *stack) syncServiceNeighbor(link int) error {
	return s.setNeighbor(s.family.virtualService, link)
}

// removeServices removes what a former agent with proxyAll has made, after its rules. Reconcile deletes the routes of the main table.
func (s *stack) removeServices() error {
	if err := s.family.changeServiceRule(false); err != nil {
		return err
	}
	for _, former := range s.family.serviceSettings(s.gateway) {
		if filepath.Base(former.key) == acceptLocal {
			if err := sysctl.Apply(former.key, "0"); err != nil {
				return err
			}
		}
	}
	for _, name := range []string{s.family.nodePortIPSet, s.family.healthPortIPSet, s.family.serviceIPSet} {
		if err := destroySet(name); err != nil {
			return err
		}
	}
	link, err := gatewayLink(s.gateway)
	if err != nil {
		return err
	}
	if err := deleteRoute(s.serviceTableRoute(link)); err != nil {
		return err
	}
	err = netlink.NeighDel(s.neighbor(s.family.virtualService, link))
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("delete neighbor %s on link %d: %w", s.family.virtualService, link, err)
	}
	return nil
}
