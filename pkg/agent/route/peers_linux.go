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

// routedCIDRs returns the local Pod CIDR, the CIDRs of the peers, and more. The caller holds mutex.
func (s *stack) routedCIDRs(more []netip.Prefix) map[netip.Prefix]bool {
	known := map[netip.Prefix]bool{s.podCIDR: true}
	for cidr := range s.peers {
		known[cidr] = true
	}
	for _, cidr := range more {
		known[cidr] = true
	}
	return known
}

// setCIDRs returns what belongs in the set: routedCIDRs and those that are guarded or closed. The caller holds mutex.
func (s *stack) setCIDRs(more []netip.Prefix) map[netip.Prefix]bool {
	known := s.routedCIDRs(more)
	maps.Copy(known, s.closed)
	for _, cidrs := range s.guarded {
		for _, cidr := range cidrs {
			known[cidr] = true
		}
	}
	return known
}

// guard replaces the networks of the Node from and to which nothing comes or leaves in clear.
func (s *stack) guard(node string, cidrs []netip.Prefix) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	former := s.guarded[node]
	s.guarded[node] = slices.Clone(cidrs)
	var errs []error
	for _, cidr := range former {
		if err := s.forget(cidr); err != nil {
			s.guarded[node] = append(s.guarded[node], cidr) // the next call tries again
			errs = append(errs, err)
		}
	}
	if len(s.guarded[node]) == 0 {
		delete(s.guarded, node)
	}
	for _, cidr := range cidrs {
		errs = append(errs, s.set.add(cidr))
	}
	return errors.Join(errs...)
}

// forget removes the CIDR from the set, unless there is a peer with it or it is guarded. With encryption it is closed instead. The caller holds mutex.
func (s *stack) forget(cidr netip.Prefix) error {
	_, isPeer := s.peers[cidr]
	for _, cidrs := range s.guarded {
		isPeer = isPeer || slices.Contains(cidrs, cidr)
	}
	if isPeer {
		return nil
	}
	if s.firewall.params.encrypts() {
		s.closed[cidr] = true
		return nil
	}
	return s.set.remove(cidr)
}

// closeFormer closes the networks that former agents have left in the set. The caller holds mutex.
func (s *stack) closeFormer() error {
	if !s.firewall.params.encrypts() {
		return nil
	}
	entries, err := s.set.entries()
	for _, cidr := range entries {
		s.closed[cidr] = true
	}
	return err
}

// reconcile removes routes, neighbors and, without encryption, set entries of CIDRs that are neither in podCIDRs nor added, and what the host knows about
// connections that it no longer routes.
func (s *stack) reconcile(podCIDRs []netip.Prefix) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	known := s.routedCIDRs(podCIDRs)
	link, have, err := s.gatewayRoutes()
	if err != nil {
		return err
	}
	errs := []error{s.closeFormer()}
	for _, r := range unknownRoutes(have, known) {
		if s.services.has(r) {
			continue
		}
		if err := deleteRoute(&r.raw); err != nil {
			errs = append(errs, err)
			continue
		}
		klog.InfoS("Deleted unknown route on gateway", "destination", r.cidr, "gateway", r.gateway)
	}
	errs = append(errs, s.removeUnknownPlainRoutes(known, link), s.removeUnknownNeighbors(known, link), s.set.removeOthers(s.setCIDRs(podCIDRs)),
		s.forgetTracked(s.tunnelled()...))
	return errors.Join(errs...)
}

// addRoutes makes the peer's CIDR reachable by the route, in place of another one that it may have had.
func (s *stack) addRoutes(r podRoute) error {
	cidr := r.cidr
	if err := s.checkPeer(r); err != nil {
		return err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	link, err := gatewayLink(s.gateway)
	if err != nil {
		return err
	}
	// The entry comes first: with only the route, packets that the host forwards to the peer's Pods would be masqueraded.
	if err := s.set.add(cidr); err != nil {
		return err
	}
	if r.source.IsValid() {
		// Rules drop packets in clear because of its entry, which stays even if the route is refused: syncRoutes tries that again.
		s.peers[cidr] = r
	}
	if r.plain {
		err = s.setPlainRoute(r, link)
	} else if err = s.addNeighbor(r.gateway, link); err == nil {
		err = setRoute(r, link)
	}
	if err != nil {
		return errors.Join(err, s.forget(cidr))
	}
	former := s.peers[cidr]
	if s.peers[cidr] = r; former.plain && !r.plain {
		if err := s.forgetTracked(cidr); err != nil {
			klog.ErrorS(err, "Connections may end at a later change", "peer", cidr)
		}
	}
	return nil
}

func (s *stack) checkPeer(r podRoute) error {
	cidr, gateway := r.cidr, r.gateway
	switch {
	case !s.family.has(cidr.Addr()) || cidr != cidr.Masked():
		return fmt.Errorf("the Pod CIDR %s is not an %s network address with prefix length", cidr, s.family.name)
	case cidr.Overlaps(s.podCIDR):
		return fmt.Errorf("the Pod CIDR %s overlaps this Node's own %s", cidr, s.podCIDR)
	case r.plain && gateway.IsValid() && !s.family.has(gateway):
		return fmt.Errorf("the next hop %s to Pod CIDR %s is not an %s address", gateway, cidr, s.family.name)
	case !r.plain && !cidr.Contains(gateway):
		return fmt.Errorf("gateway %s is not in Pod CIDR %s", gateway, cidr)
	}
	return nil
}

func (s *stack) deleteRoutes(cidr netip.Prefix) error {
	if cidr == s.podCIDR {
		return errors.New("it is this Node's own Pod CIDR")
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	r, added := s.peers[cidr]
	link, err := gatewayLink(s.gateway)
	var gone netlink.LinkNotFoundError
	switch {
	case added && r.plain:
		if err := deletePlainRoute(cidr); err != nil {
			return err
		}
	case errors.As(err, &gone): // its routes disappeared with it
	case err != nil:
		return err
	default:
		if err := deleteRoute(&netlink.Route{Dst: toIPNet(cidr), LinkIndex: link, Table: unix.RT_TABLE_MAIN}); err != nil {
			return err
		}
		if added {
			if err := s.deleteNeighbor(r.gateway, link); err != nil {
				return err
			}
		}
	}
	// From here on no look may restore the route, even if the set entry cannot be removed now.
	delete(s.peers, cidr)
	return s.forget(cidr)
}
