// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
)

// acceptPods leaves out Pod networks that are not free; their clusters keep their Services. As in agents, the Service networks and Gateways of all clusters
// come first. Of two clusters with Pod networks that overlap, the one that the leader has had for longer keeps them, whichever this member knew first.
// Agents cannot decide that: all ClusterInfoImports of a member that has just joined are of one second.
func (s *snapshot) acceptPods(a *accepted, imports []*v1alpha1.ResourceImport, own, others *territory) {
	slices.SortFunc(imports, byAge)
	names := slices.Clone(s.leader.unreadable) // They have no age, and keep what they have.
	for _, r := range imports {
		names = append(names, r.Name)
	}
	taken := slices.Concat(own.networks, others.networks)
	for _, addr := range slices.SortedFunc(maps.Keys(others.gateways), netip.Addr.Compare) {
		taken = append(taken, place{netip.PrefixFrom(addr, addr.BitLen()), "the Gateway of " + others.gateways[addr]})
	}
	for _, name := range names {
		if a.infos[name] == nil {
			continue
		}
		info := *a.infos[name]
		networks, err := podNetworks(info.PodCIDRs, taken)
		if err != nil {
			a.refusals = append(a.refusals, refusal{object: "ResourceImport " + name, err: fmt.Errorf("its Pod networks have no effect: %w", err)})
		}
		info.PodCIDRs = nil
		for _, n := range networks {
			info.PodCIDRs = append(info.PodCIDRs, n.String())
			taken = append(taken, place{n, "a Pod network of cluster " + info.ClusterID})
		}
		a.infos[name] = &info
	}
}

// podNetworks returns the Pod networks of one cluster, or why they have no effect. Host bits do not count: agents would refuse them. Empty texts are none.
func podNetworks(texts []string, taken []place) (networks []netip.Prefix, err error) {
	if len(texts) > v1alpha1.MaxPodCIDRs {
		return nil, fmt.Errorf("it has %d podCIDRs, allowed: %d", len(texts), v1alpha1.MaxPodCIDRs)
	}
	for _, text := range texts {
		if text == "" {
			continue
		}
		if n, err := netip.ParsePrefix(text); err == nil {
			text = n.Masked().String()
		}
		n, err := network(text)
		if err != nil {
			return nil, fmt.Errorf("podCIDRs: %w", err)
		}
		for _, p := range taken {
			if p.network.Overlaps(n) {
				return nil, fmt.Errorf("%s overlaps with %s, %s", n, p.network, p.owner)
			}
		}
		networks = append(networks, n)
	}
	return networks, nil
}
