// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package multicluster

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
)

// place is a network or an address, and whose it is.
type place struct {
	network netip.Prefix
	owner   string
}

// connectPods adds the Pod networks of the clusters that are connected, in the order of imports. It follows the decision about all Service
// networks and gateways, so that no Pod network takes one of these away. A cluster whose Pod networks cannot be used keeps its Services.
func (d *decision) connectPods(in input, imports []*v1alpha1.ClusterInfoImport, own *gateway) {
	taken := in.places(own, d.clusters)
	for _, i := range imports {
		o := object{v1alpha1.ClusterInfoImportKind, i.Name}
		if d.refused[o] != nil {
			continue
		}
		networks, err := podNetworks(i.Spec.PodCIDRs, taken)
		if err != nil {
			d.refused[o] = fmt.Errorf("its Pod networks have no effect: %w", err)
			continue
		}
		c := &d.clusters[slices.IndexFunc(d.clusters, func(c openflow.Cluster) bool { return c.Name == i.Spec.ClusterID })]
		c.Networks = append(c.Networks, networks...)
		for _, n := range networks {
			taken = append(taken, place{n, "a Pod network of cluster " + c.Name})
		}
	}
}

// places returns everything that the Pod network of another cluster must not overlap.
func (in *input) places(own *gateway, clusters []openflow.Cluster) (taken []place) {
	host := func(addr netip.Addr, owner string) {
		taken = append(taken, place{netip.PrefixFrom(addr, addr.BitLen()), owner})
	}
	if own.node != "" {
		taken = append(taken, place{own.services, "the Service network of this cluster"})
		host(own.external, "the gateway of this cluster")
		host(own.internal, "the gateway of this cluster")
	}
	for _, node := range in.nodes {
		for _, n := range node.Networks {
			taken = append(taken, place{n, "a Pod network of this cluster"})
		}
		for _, addr := range node.Addresses {
			host(addr, "an address of a Node of this cluster")
		}
	}
	for _, a := range in.needed {
		host(a.Addr, a.What+" of this cluster")
	}
	for _, c := range clusters {
		for _, n := range c.Networks {
			taken = append(taken, place{n, "the Service network of cluster " + c.Name})
		}
		host(c.Gateway, "the gateway of cluster "+c.Name)
	}
	return taken
}

// podNetworks returns the Pod networks of one cluster: all of them, or why none can be used. Empty texts are none.
func podNetworks(texts []string, taken []place) (networks []netip.Prefix, err error) {
	if len(texts) > v1alpha1.MaxPodCIDRs {
		return nil, fmt.Errorf("spec.podCIDRs has %d items, allowed: %d", len(texts), v1alpha1.MaxPodCIDRs)
	}
	var errs []error
	for i, text := range texts {
		if text == "" {
			continue
		}
		n, err := podNetwork(fmt.Sprintf("spec.podCIDRs[%d]", i), text)
		if err != nil {
			return nil, err
		}
		for _, other := range networks {
			if n.Overlaps(other) {
				return nil, fmt.Errorf("%v overlaps %v, another one of them", n, other)
			}
		}
		for _, p := range taken {
			if n.Overlaps(p.network) {
				errs = append(errs, fmt.Errorf("%v overlaps %v, %s", n, p, p.owner))
			}
		}
		networks = append(networks, n)
	}
	if err := first(errs); err != nil {
		return nil, err
	}
	return networks, nil
}

// String is the network, or the address if it is one.
func (p place) String() string {
	if p.network.IsSingleIP() {
		return p.network.Addr().String()
	}
	return p.network.String()
}

func podNetwork(field, text string) (netip.Prefix, error) {
	n, err := netip.ParsePrefix(text)
	if err != nil || !n.Addr().Is4() || n != n.Masked() {
		return n, fmt.Errorf("%s is %q, want an IPv4 network without host bits, such as 10.244.0.0/16", field, shorten(text))
	}
	if err := config.CheckPodCIDR(n); err != nil {
		return n, fmt.Errorf("%s: %w", field, err)
	}
	return n, nil
}
