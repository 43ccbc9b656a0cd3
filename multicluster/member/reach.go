// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
)

// leaveOutUnreachable leaves out addresses of Endpoints that are in no Service network of the ClusterSet with a way to it: packets to them would
// leave by the Nodes' ordinary routes, to whoever has the address there.
func (s *snapshot) leaveOutUnreachable(a *accepted) {
	networks := s.networks(a)
	for _, k := range sortedByName(a.endpoints) {
		name := v1alpha1.ImportName(k.Namespace, k.Name, v1alpha1.EndpointsKind)
		if !s.serviceCIDR.IsValid() {
			delete(a.endpoints, k)
			a.refuse(name, errNetworkUnknown)
			continue
		}
		subsets, lost := within(networks, a.endpoints[k])
		if lost != "" {
			a.refusals = append(a.refusals, refusal{object: "ResourceImport " + name, err: fmt.Errorf("%s is left out: no cluster with a Gateway has it in its Service network", lost)})
		}
		if a.endpoints[k] = subsets; len(subsets) == 0 {
			delete(a.endpoints, k)
		}
	}
}

// networks returns the Service networks of this cluster and of all clusters with a ClusterInfoImport, as it will be.
func (s *snapshot) networks(a *accepted) []netip.Prefix {
	out := []netip.Prefix{s.serviceCIDR}
	add := func(text string) {
		if prefix, err := netip.ParsePrefix(text); err == nil {
			out = append(out, prefix)
		}
	}
	for _, info := range a.infos {
		add(info.ServiceCIDR)
	}
	for _, i := range s.imported.infos {
		if a.kept[i.Name] {
			add(i.Spec.ServiceCIDR)
		}
	}
	return out
}

// within returns the subsets with the addresses in the networks, and the first one that is in none.
func within(networks []netip.Prefix, subsets []v1alpha1.EndpointSubset) (out []v1alpha1.EndpointSubset, lost string) {
	for _, subset := range subsets {
		subset.Addresses = slices.DeleteFunc(slices.Clone(subset.Addresses), func(e v1alpha1.EndpointAddress) bool {
			addr, err := netip.ParseAddr(e.IP)
			if err == nil && slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Contains(addr) }) {
				return false
			}
			if lost == "" {
				lost = e.IP
			}
			return true
		})
		if len(subset.Addresses) > 0 {
			out = append(out, subset)
		}
	}
	return out, lost
}
