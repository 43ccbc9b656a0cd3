// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package endpoints

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
)

// Group is a list of ports and the addresses that have it.
type Group struct {
	Ports     []v1alpha1.EndpointPort
	Addresses []string
}

// ByPorts returns the subsets with equal lists of ports as one, without duplicates, in the order of the ports.
func ByPorts(subsets []v1alpha1.EndpointSubset) []Group {
	groups := map[string]*Group{}
	for _, subset := range subsets {
		if len(subset.Addresses) == 0 {
			continue
		}
		ports := slices.SortedFunc(slices.Values(subset.Ports), func(a, b v1alpha1.EndpointPort) int {
			return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(string(a.Protocol), string(b.Protocol)), cmp.Compare(a.Port, b.Port))
		})
		id := fmt.Sprint(ports)
		if groups[id] == nil {
			groups[id] = &Group{Ports: ports}
		}
		for _, a := range subset.Addresses {
			groups[id].Addresses = append(groups[id].Addresses, a.IP)
		}
	}
	var out []Group
	for _, id := range slices.Sorted(maps.Keys(groups)) {
		g := groups[id]
		slices.Sort(g.Addresses)
		out = append(out, Group{g.Ports, slices.Compact(g.Addresses)})
	}
	return out
}
