// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
	"k8s.io/klog/v2"
)

// knownCIDRs are the local Pod CIDR, those of the peers, and more. The caller holds mutex.
func (c *Client) knownCIDRs(more []netip.Prefix) map[netip.Prefix]bool {
	known := map[netip.Prefix]bool{c.podCIDR: true}
	for cidr := range c.peers {
		known[cidr] = true
	}
	for _, cidr := range more {
		known[cidr] = true
	}
	return known
}

// Reconcile implements Interface. It also removes the set entries of unknown CIDRs. What AddRoutes has added stays even if
// it is not in podCIDRs: the caller may have listed the Nodes just before.
func (c *Client) Reconcile(podCIDRs []netip.Prefix) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	known := c.knownCIDRs(podCIDRs)
	link, err := gatewayLink(c.node.Gateway.Name)
	if err != nil {
		return err
	}
	have, err := listGatewayRoutes(c.family, link)
	if err != nil {
		return err
	}
	var errs []error
	for _, r := range unknownRoutes(have, known) {
		if err := deleteRoute(&r.raw); err != nil {
			errs = append(errs, err)
			continue
		}
		klog.InfoS("Deleted unknown route on gateway", "destination", r.cidr, "gateway", r.gateway)
	}
	entries, err := c.set.entries()
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	for _, cidr := range entries {
		if known[cidr] {
			continue
		}
		if err := c.set.remove(cidr); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// AddRoutes implements Interface. The CIDR must be IPv4, without host bits, apart from the local one, and contain the
// gateway address. peerNodeIP does not appear in encap mode's routes.
func (c *Client) AddRoutes(peerPodCIDR netip.Prefix, nodeName string, peerNodeIP, peerGatewayIP netip.Addr) error {
	if err := c.checkPeer(peerPodCIDR, peerGatewayIP); err != nil {
		return fmt.Errorf("add routes to Node %s: %w", nodeName, err)
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	link, err := gatewayLink(c.node.Gateway.Name)
	if err != nil {
		return fmt.Errorf("add routes to Node %s: %w", nodeName, err)
	}
	// The entry comes first: with only the route, packets that the host forwards to the peer's Pods would be masqueraded.
	if err := c.set.add(peerPodCIDR); err != nil {
		return fmt.Errorf("add routes to Node %s: %w", nodeName, err)
	}
	r := podRoute{cidr: peerPodCIDR, gateway: peerGatewayIP}
	if err := replaceRoute(r, link); err != nil {
		err = fmt.Errorf("add routes to Node %s: %w", nodeName, err)
		if _, before := c.peers[peerPodCIDR]; !before {
			err = errors.Join(err, c.set.remove(peerPodCIDR))
		}
		return err
	}
	c.peers[peerPodCIDR] = r
	klog.V(2).InfoS("Added route to peer", "node", nodeName, "nodeIP", peerNodeIP, "podCIDR", peerPodCIDR, "gateway", peerGatewayIP)
	return nil
}

func (c *Client) checkPeer(cidr netip.Prefix, gateway netip.Addr) error {
	switch {
	case !c.family.has(cidr.Addr()) || cidr != cidr.Masked():
		return fmt.Errorf("the Pod CIDR %s is not an %s network address with prefix length", cidr, c.family.name)
	case cidr.Overlaps(c.podCIDR):
		return fmt.Errorf("the Pod CIDR %s overlaps this Node's own %s", cidr, c.podCIDR)
	case !cidr.Contains(gateway):
		return fmt.Errorf("gateway %s is not in Pod CIDR %s", gateway, cidr)
	}
	return nil
}

// DeleteRoutes implements Interface.
func (c *Client) DeleteRoutes(peerPodCIDR netip.Prefix) error {
	if !c.family.has(peerPodCIDR.Addr()) || peerPodCIDR == c.podCIDR {
		return fmt.Errorf("delete routes: %s is not the %s Pod CIDR of a peer", peerPodCIDR, c.family.name)
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	link, err := gatewayLink(c.node.Gateway.Name)
	var gone netlink.LinkNotFoundError
	switch {
	case errors.As(err, &gone): // its routes went with it
	case err != nil:
		return fmt.Errorf("delete routes to %s: %w", peerPodCIDR, err)
	default:
		err := deleteRoute(&netlink.Route{Dst: toIPNet(peerPodCIDR), LinkIndex: link, Table: unix.RT_TABLE_MAIN})
		if err != nil {
			return err
		}
	}
	// From here on the 60 s sync must not bring the route back, even if the set entry cannot be removed now.
	delete(c.peers, peerPodCIDR)
	return c.set.remove(peerPodCIDR)
}
