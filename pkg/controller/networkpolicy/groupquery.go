// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
)

// ErrNoGroup and ErrNested say why a group has no members to show.
var (
	ErrNoGroup = errors.New("no such group")
	ErrNested  = errors.New("the group has children with children, so it has no members")
)

// GroupMembers returns the members of a Group, or of a ClusterGroup if namespace is empty, sorted by name, and the CIDRs of
// its ipBlocks. The error is ErrNoGroup or ErrNested, with the name.
func (s *Store) GroupMembers(namespace, name string) ([]controlplane.GroupMember, []controlplane.IPNet, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := groupKey(namespace, name)
	source := s.core.antrea.sources[key]
	switch {
	case source == nil:
		return nil, nil, fmt.Errorf("group %s: %w", key, ErrNoGroup)
	case source.nested:
		return nil, nil, fmt.Errorf("group %s: %w", key, ErrNested)
	}
	var members []controlplane.GroupMember
	source.group.eachPod(func(p *pod) {
		if p.address != nil {
			members = append(members, *p.address)
		}
	})
	slices.SortFunc(members, func(a, b controlplane.GroupMember) int {
		nameA, namespaceA := nameOfMember(&a)
		nameB, namespaceB := nameOfMember(&b)
		return cmp.Or(cmp.Compare(nameA, nameB), cmp.Compare(namespaceA, namespaceB))
	})
	var blocks []controlplane.IPNet
	for i := range source.blocks {
		blocks = append(blocks, source.blocks[i].CIDR)
	}
	return members, blocks, nil
}

func nameOfMember(m *controlplane.GroupMember) (name, namespace string) {
	if m.Pod != nil {
		return m.Pod.Name, m.Pod.Namespace
	}
	return m.Node.Name, ""
}

// GroupsOfPod returns the ClusterGroups and Groups with a Pod as a member, sorted. A Pod without addresses, in its Node's
// network, or ended is a member of none.
func (s *Store) GroupsOfPod(pod types.NamespacedName) []controlplane.GroupReference {
	s.mu.Lock()
	defer s.mu.Unlock()
	sources := map[*groupSource]struct{}{}
	s.core.addGroupsOf(sources, s.core.pods[pod])
	return sortedGroups(sources)
}

// GroupsOfIP returns the ClusterGroups and Groups that have a Pod or a Node with an address, or an ipBlock with it, sorted.
func (s *Store) GroupsOfIP(ip netip.Addr) []controlplane.GroupReference {
	s.mu.Lock()
	defer s.mu.Unlock()
	ip = ip.Unmap()
	sources := map[*groupSource]struct{}{}
	for _, p := range s.core.pods {
		if p.address != nil && slices.ContainsFunc(p.address.IPs, func(has controlplane.IPAddress) bool { return slices.Equal(has, ip.AsSlice()) }) {
			s.core.addGroupsOf(sources, p)
		}
	}
	for _, source := range s.core.antrea.sources {
		if slices.ContainsFunc(source.blocks, func(block controlplane.IPBlock) bool { return blockContains(&block, ip) }) {
			sources[source] = struct{}{}
		}
	}
	return sortedGroups(sources)
}

// addGroupsOf adds the groups of a Pod, which may be nil.
func (c *core) addGroupsOf(sources map[*groupSource]struct{}, p *pod) {
	if p == nil || p.address == nil {
		return
	}
	for g := range p.class.groups() {
		if g.source != nil {
			sources[g.source] = struct{}{}
		}
	}
}

func blockContains(block *controlplane.IPBlock, ip netip.Addr) bool {
	contains := func(cidr controlplane.IPNet) bool {
		addr, ok := netip.AddrFromSlice(cidr.IP)
		return ok && netip.PrefixFrom(addr, int(cidr.PrefixLength)).Contains(ip)
	}
	return contains(block.CIDR) && !slices.ContainsFunc(block.Except, contains)
}

func sortedGroups(sources map[*groupSource]struct{}) []controlplane.GroupReference {
	var out []controlplane.GroupReference
	for source := range sources {
		out = append(out, controlplane.GroupReference{Namespace: source.namespace, Name: source.name, UID: source.uid})
	}
	slices.SortFunc(out, func(a, b controlplane.GroupReference) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return out
}
