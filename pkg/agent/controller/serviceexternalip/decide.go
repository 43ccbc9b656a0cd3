// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package serviceexternalip

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/antrea-oncache/antrea/pkg/agent/memberlist"
	"github.com/antrea-oncache/antrea/pkg/apis/externalip"
)

// input is all that a decision depends on.
type input struct {
	node     string
	services []*corev1.Service
	slices   []*discoveryv1.EndpointSlice
	// pools have the addresses of pools by name.
	pools   map[string]externalip.Addresses
	members *memberlist.Snapshot
	// refuse returns why no Node may answer for an address, nil if one may.
	refuse func(netip.Addr) error
	// present are the addresses for which this Node answers.
	present sets.Set[netip.Addr]
}

// decision says which Node answers for which address.
type decision struct {
	// mine are the addresses for which this Node answers.
	mine sets.Set[netip.Addr]
	// owners have the Nodes by address. Those that have none are in failures.
	owners   map[netip.Addr]string
	failures map[netip.Addr]error
}

// decide returns for which addresses this Node answers: at most those that a Service has from the pool that it names. While the members are
// unknown, it takes none, and gives up only those that no Service has.
func decide(in input) *decision {
	d := &decision{mine: sets.New[netip.Addr](), owners: map[netip.Addr]string{}, failures: map[netip.Addr]error{}}
	byAddr := map[netip.Addr][]*corev1.Service{}
	for _, s := range in.services {
		addr, pool := externalip.Address(s), externalip.Pool(s)
		switch {
		case pool == "" || !addr.IsValid():
		case !in.pools[pool].Contains(addr):
			// Whoever may write the status could have any address otherwise.
			d.failures[addr] = fmt.Errorf("Service %s/%s shows it, and ExternalIPPool %s does not contain it, or does not exist", s.Namespace, s.Name, pool)
		default:
			byAddr[addr] = append(byAddr[addr], s)
		}
	}
	for addr, services := range byAddr {
		delete(d.failures, addr) // of another Service
		if err := in.refuse(addr); err != nil {
			d.failures[addr] = err
			continue
		}
		node, err := in.owner(addr, services)
		if err != nil {
			d.failures[addr] = err
		} else {
			d.owners[addr] = node
		}
		if node == in.node || in.members.Unknown != nil && in.present.Has(addr) {
			d.mine.Insert(addr)
		}
	}
	return d
}

// owner returns the Node of the Services that have an address. If no Node is right for all of them, the oldest counts.
func (in input) owner(addr netip.Addr, services []*corev1.Service) (string, error) {
	services = slices.SortedFunc(slices.Values(services), func(a, b *corev1.Service) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	pool := externalip.Pool(services[0])
	var wanted []sets.Set[string]
	anywhere := false
	for _, s := range services {
		if s.Spec.ExternalTrafficPolicy != corev1.ServiceExternalTrafficPolicyLocal {
			anywhere = true
		} else if nodes := in.serving(s, addr); len(nodes) > 0 {
			wanted = append(wanted, nodes)
		}
	}
	if len(wanted) == 0 && !anywhere && in.members.Unknown == nil {
		return "", memberlist.ErrNoNode
	}
	node, err := in.members.Owner(pool, addr, func(node string) bool {
		return !slices.ContainsFunc(wanted, func(nodes sets.Set[string]) bool { return !nodes.Has(node) })
	})
	if err == nil || len(wanted) == 0 {
		return node, err
	}
	return in.members.Owner(pool, addr, wanted[0].Has)
}

// serving returns the Nodes with Endpoints of a Service that are ready, or still serve, in the address' IP version.
func (in input) serving(s *corev1.Service, addr netip.Addr) sets.Set[string] {
	nodes, version := sets.New[string](), discoveryv1.AddressTypeIPv4
	if addr.Is6() {
		version = discoveryv1.AddressTypeIPv6
	}
	for _, slice := range in.slices {
		if slice.AddressType != version || serviceOf(slice) != (types.NamespacedName{Namespace: s.Namespace, Name: s.Name}) {
			continue
		}
		for _, endpoint := range slice.Endpoints {
			c := endpoint.Conditions
			if endpoint.NodeName != nil && (c.Ready == nil || *c.Ready || c.Serving != nil && *c.Serving) {
				nodes.Insert(*endpoint.NodeName)
			}
		}
	}
	return nodes
}

// serviceOf returns the Service of a slice.
func serviceOf(slice *discoveryv1.EndpointSlice) types.NamespacedName {
	return types.NamespacedName{Namespace: slice.Namespace, Name: slice.Labels[discoveryv1.LabelServiceName]}
}
