// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// podInterface is the interface of a local Pod.
type podInterface struct {
	pod    types.NamespacedName
	ofPort uint32
	addrs  []netip.Addr
}

// world has everything that the agent knows. Maps are by name.
type world struct {
	egresses   map[string]*v1beta1.Egress
	groups     map[string]sets.Set[types.NamespacedName]
	interfaces map[string]podInterface
	// local are the addresses of this Node's devices, links the devices' indices. That map is not changed.
	local sets.Set[netip.Addr]
	links map[netip.Addr]int
	// stored is set while Egresses or groups are a former agent's.
	stored bool
	// shaping is set if bandwidths have an effect.
	shaping bool
	// subnets are the subnets of pools, by name.
	subnets map[string]poolSubnet
}

// poolSubnet is the subnet of a pool; err says why its addresses cannot be used.
type poolSubnet struct {
	config.EgressSubnet
	err error
}

// subnetOf returns the subnet of a pool, which without a pool is the one of the Nodes, or why its addresses cannot be used.
func (w *world) subnetOf(pool string) (config.EgressSubnet, error) {
	subnet, known := w.subnets[pool]
	if pool != "" && !known {
		return config.EgressSubnet{}, fmt.Errorf("ExternalIPPool %s does not exist", pool)
	}
	return subnet.EgressSubnet, subnet.err
}

// of returns the part of the world that concerns one interface, in maps of its own: its Pod's Egresses, and all others with the same addresses, which may
// decide about these.
func (w *world) of(name string) *world {
	part := &world{
		egresses: map[string]*v1beta1.Egress{}, groups: map[string]sets.Set[types.NamespacedName]{}, interfaces: map[string]podInterface{},
		local: w.local.Clone(), links: w.links, stored: w.stored, shaping: w.shaping, subnets: w.subnets,
	}
	i, ok := w.interfaces[name]
	if !ok {
		return part
	}
	part.interfaces[name] = i
	addrs := sets.New[netip.Addr]()
	for egress, e := range w.egresses {
		if w.groups[egress].Has(i.pod) {
			part.egresses[egress], part.groups[egress] = e, sets.New(i.pod)
			addrs.Insert(addrOf(e))
		}
	}
	for egress, e := range w.egresses {
		if addrs.Has(addrOf(e)) {
			part.egresses[egress] = e
		}
	}
	return part
}

// podFlows is the Egress of an interface.
type podFlows struct {
	ofPort  uint32
	sources []openflow.EgressSource
}

func (f podFlows) equal(other podFlows) bool {
	return f.ofPort == other.ofPort && slices.Equal(f.sources, other.sources)
}

// plan has the flows and marks that the Node should have.
type plan struct {
	// marks are the marks of the Egress addresses that this Node has.
	marks map[netip.Addr]uint8
	// subnets are the subnets of addresses that have one of their own.
	subnets map[netip.Addr]config.EgressSubnet
	// refused says why packets of an Egress's Pods are dropped, by the address.
	refused map[netip.Addr]error
	// pods have the interfaces of Pods with an Egress.
	pods map[string]podFlows
	// limits are the bandwidths of addresses. unlimited says why the bandwidth of an Egress is not in force, by its name.
	limits    map[netip.Addr]bandwidth
	unlimited map[string]error
}

// meaning returns the meaning of the mark of an address.
func (p *plan) meaning(addr netip.Addr) config.EgressMark {
	return config.EgressMark{Addr: addr, Subnet: p.subnets[addr]}
}

// oldestFirst returns the Egresses in the order in which they are considered: the oldest first, and of equal age the first by name.
func oldestFirst(egresses map[string]*v1beta1.Egress) []*v1beta1.Egress {
	return slices.SortedFunc(maps.Values(egresses), func(a, b *v1beta1.Egress) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
}

// addrOf returns the address of an Egress in the form in which devices have it; invalid if it has none.
func addrOf(e *v1beta1.Egress) netip.Addr {
	addr, err := netip.ParseAddr(e.Spec.EgressIP)
	if err != nil || addr.Zone() != "" {
		return netip.Addr{}
	}
	return addr.Unmap()
}

// unusable says why no packet can have the address as its source on its way out of the cluster.
func unusable(addr netip.Addr, podNetworks []netip.Prefix) error {
	if !addr.IsGlobalUnicast() && !(addr.Is4() && addr.IsLinkLocalUnicast()) {
		return fmt.Errorf("%s is not the address of one machine in a network", addr)
	}
	if slices.ContainsFunc(podNetworks, func(network netip.Prefix) bool { return network.Contains(addr) }) {
		return fmt.Errorf("%s is in the network of this Node's Pods", addr)
	}
	if !slices.ContainsFunc(podNetworks, func(network netip.Prefix) bool { return network.Addr().Is4() == addr.Is4() }) {
		return errors.New("no Pod has an address of its IP version")
	}
	return nil
}

// decide returns the plan. mark returns the mark of a local address, or why there is none. Of several Egresses of a Pod, the oldest one with an
// address of an IP version decides for that version.
func decide(w *world, podNetworks []netip.Prefix, mark func(netip.Addr) (uint8, error)) *plan {
	p := &plan{
		marks: map[netip.Addr]uint8{}, refused: map[netip.Addr]error{}, pods: map[string]podFlows{},
		limits: map[netip.Addr]bandwidth{}, unlimited: map[string]error{}, subnets: map[netip.Addr]config.EgressSubnet{},
	}
	blocked := map[netip.Addr]error{}
	for _, e := range w.egresses {
		if _, err := w.subnetOf(e.Spec.ExternalIPPool); err != nil {
			blocked[addrOf(e)] = err
		}
	}
	sources := map[string]openflow.EgressSource{}
	for _, e := range oldestFirst(w.egresses) {
		addr := addrOf(e)
		if !addr.IsValid() {
			continue
		}
		sources[e.Name] = p.source(w, addr, blocked[addr], podNetworks, mark)
		p.limit(e, addr, w.shaping)
		if subnet, err := w.subnetOf(e.Spec.ExternalIPPool); err == nil && subnet.IsSeparate() {
			p.subnets[addr] = subnet
		}
	}
	byPod := w.deciding()
	for name, i := range w.interfaces {
		var own []openflow.EgressSource
		for _, e := range byPod[i.pod] {
			own = append(own, sources[e.Name])
		}
		if len(own) > 0 {
			slices.SortFunc(own, func(a, b openflow.EgressSource) int { return a.Addr.Compare(b.Addr) })
			p.pods[name] = podFlows{i.ofPort, own}
		}
	}
	return p
}

// deciding returns the Egresses that decide for Pods, at most one of each IP version.
func (w *world) deciding() map[types.NamespacedName][]*v1beta1.Egress {
	byPod := map[types.NamespacedName][]*v1beta1.Egress{}
	for _, e := range oldestFirst(w.egresses) {
		addr := addrOf(e)
		if !addr.IsValid() {
			continue
		}
		for pod := range w.groups[e.Name] {
			if !slices.ContainsFunc(byPod[pod], func(older *v1beta1.Egress) bool { return addrOf(older).Is4() == addr.Is4() }) {
				byPod[pod] = append(byPod[pod], e)
			}
		}
	}
	return byPod
}

// source records an address of an Egress, and returns how its Pods get it. blocked says why its pool cannot be used.
func (p *plan) source(w *world, addr netip.Addr, blocked error, podNetworks []netip.Prefix, mark func(netip.Addr) (uint8, error)) openflow.EgressSource {
	source := openflow.EgressSource{Addr: addr}
	err := unusable(addr, podNetworks)
	if err == nil && w.local.Has(addr) {
		err = blocked
	}
	if err == nil && w.local.Has(addr) {
		source.Mark, err = mark(addr)
	}
	if err != nil {
		p.refused[addr] = err
		return openflow.EgressSource{Addr: addr, Refused: true}
	}
	if source.Mark != 0 {
		p.marks[addr] = source.Mark
	}
	return source
}
