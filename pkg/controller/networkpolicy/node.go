// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
)

// transportAddresses is an annotation of a Node: the comma-separated addresses that other Nodes send tunnel packets to.
const transportAddresses = "node.antrea.io/transport-addresses"

// SetNode adds or changes a Node.
func (c *core) SetNode(source *corev1.Node) []change {
	t := newTransaction()
	if _, known := c.antrea.nodes[source.Name]; !known {
		c.antrea.nodes[source.Name] = struct{}{}
		for a := range c.antrea.services {
			a.span.add(source.Name)
			t.entered(a, source.Name)
			for p := range a.users {
				t.concerned(p, source.Name)
			}
		}
	}
	reference := &controlplane.NodeReference{Name: source.Name}
	next := &pod{
		key: types.NamespacedName{Namespace: nodes, Name: source.Name}, node: source.Name,
		applied: &controlplane.GroupMember{Node: reference},
	}
	if ips := nodeIPs(source); len(ips) > 0 {
		next.address = &controlplane.GroupMember{Node: reference, IPs: ips}
	}
	c.setPod(t, next, nodes, source.Labels)
	return c.finish(t)
}

// DeleteNode removes a Node.
func (c *core) DeleteNode(name string) []change {
	if _, known := c.antrea.nodes[name]; !known {
		return nil
	}
	t := newTransaction()
	delete(c.antrea.nodes, name)
	for a := range c.antrea.services {
		a.span.remove(name)
		t.left(a, name)
		for p := range a.users {
			t.unconcerned(p, name)
		}
	}
	c.deletePod(t, types.NamespacedName{Namespace: nodes, Name: name})
	return c.finish(t)
}

// nodeIPs returns the addresses from which a Node's own packets may come, sorted: its internal and external addresses, the
// addresses of its gateway interface, which are the first of its Pod networks, and all of the annotation.
func nodeIPs(source *corev1.Node) []controlplane.IPAddress {
	var found []netip.Addr
	add := func(addr netip.Addr, err error) {
		if err == nil {
			found = append(found, addr.Unmap())
		}
	}
	for _, address := range source.Status.Addresses {
		if address.Type == corev1.NodeInternalIP || address.Type == corev1.NodeExternalIP {
			add(netip.ParseAddr(address.Address))
		}
	}
	cidrs := source.Spec.PodCIDRs
	if len(cidrs) == 0 && source.Spec.PodCIDR != "" {
		cidrs = []string{source.Spec.PodCIDR}
	}
	for _, cidr := range cidrs {
		prefix, err := netip.ParsePrefix(cidr)
		add(prefix.Masked().Addr().Next(), err)
	}
	for text := range strings.SplitSeq(source.Annotations[transportAddresses], ",") {
		add(netip.ParseAddr(strings.TrimSpace(text)))
	}
	slices.SortFunc(found, netip.Addr.Compare)
	var ips []controlplane.IPAddress
	for _, addr := range slices.Compact(found) {
		ips = append(ips, addr.AsSlice())
	}
	return ips
}
