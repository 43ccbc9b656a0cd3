// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package serviceexternalip

import (
	"cmp"
	"errors"
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
	// pools have the names of their pools by address.
	pools map[netip.Addr]string
	// owners have the Nodes by address. Those that have none are in failures.
	owners   map[netip.Addr]string
	failures map[netip.Addr]error
}

// decide returns for which addresses this Node answers: at most those that a Service has from the pool that it names. While the members are
// unknown, it takes none, and gives up only those that no Service has, or for whose Services another Node is right whoever is alive.
func decide(in input) *decision {
	d := &decision{mine: sets.New[netip.Addr](), pools: map[netip.Addr]string{}, owners: map[netip.Addr]string{}, failures: map[netip.Addr]error{}}
	byAddr := map[netip.Addr][]*corev1.Service{}
	for _, s := range in.services {
		addr, pool := externalip.Address(s), externalip.Pool(s)
		switch {
		case pool == "" || !addr.IsValid():
		case !in.pools[pool].Contains(addr):
			// Whoever may write the status could have any address otherwise.
			d.failures[addr] = fmt.Errorf("shown by Service %s/%s, but ExternalIPPool %s does not contain it, or does not exist", s.Namespace, s.Name, pool)
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
		slices.SortFunc(services, func(a, b *corev1.Service) int {
			return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
		})
		pool := externalip.Pool(services[0])
		d.pools[addr] = pool
		wanted, err := in.wanted(addr, services)
		var node string
		if err == nil {
			node, err = in.owner(pool, addr, wanted)
		}
		if err != nil {
			d.failures[addr] = err
		} else {
			d.owners[addr] = node
		}
		if node == in.node || in.keeps(addr, wanted, err) {
			d.mine.Insert(addr)
		}
	}
	return d
}

// keeps reports whether this Node continues to answer for an address whose owner is not known because of failed.
func (in input) keeps(addr netip.Addr, wanted []sets.Set[string], failed error) bool {
	if in.members.Unknown == nil || !errors.Is(failed, in.members.Unknown) || !in.present.Has(addr) {
		return false
	}
	return len(wanted) == 0 || acceptable(wanted).Has(in.node)
}

// wanted returns, for each Service whose Endpoints say so, the Nodes that may answer for its address; none if all may.
func (in input) wanted(addr netip.Addr, services []*corev1.Service) (wanted []sets.Set[string], err error) {
	anywhere := false
	for _, s := range services {
		if s.Spec.ExternalTrafficPolicy != corev1.ServiceExternalTrafficPolicyLocal {
			anywhere = true
		} else if nodes := in.serving(s, addr); len(nodes) > 0 {
			wanted = append(wanted, nodes)
		}
	}
	if len(wanted) == 0 && !anywhere {
		return nil, memberlist.ErrNoNode
	}
	return wanted, nil
}

// acceptable returns the Nodes that are right for all Services. If there is none, the oldest Service counts.
func acceptable(wanted []sets.Set[string]) sets.Set[string] {
	all := wanted[0]
	for _, nodes := range wanted[1:] {
		all = all.Intersection(nodes)
	}
	if len(all) == 0 {
		return wanted[0]
	}
	return all
}

// owner returns the Node of an address. If no Node that is alive is right for all Services, the oldest counts.
func (in input) owner(pool string, addr netip.Addr, wanted []sets.Set[string]) (string, error) {
	if len(wanted) == 0 {
		return in.members.Owner(pool, addr, nil)
	}
	if node, err := in.members.Owner(pool, addr, acceptable(wanted).Has); err == nil {
		return node, nil
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
