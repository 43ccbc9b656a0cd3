// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"fmt"
	"net/netip"

	"k8s.io/apimachinery/pkg/types"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
)

// podName is a Pod's namespace and name.
type podName = types.NamespacedName

// member is a Pod in a group.
type member struct {
	ips   []netip.Addr
	ports []v1beta2.NamedPort
}

// group is an AddressGroup or an AppliedToGroup. It is replaced, not changed: whoever holds one may read it.
type group map[podName]member

func newGroup(members []v1beta2.GroupMember) (group, error) {
	return group{}.patched(members, nil)
}

// patched returns the group without removed and with added members. A Pod that is in both lists has changed.
func (g group) patched(added, removed []v1beta2.GroupMember) (group, error) {
	result := make(group, len(g)+len(added))
	for name, m := range g {
		result[name] = m
	}
	for _, m := range removed {
		if m.Pod != nil {
			delete(result, podName{Namespace: m.Pod.Namespace, Name: m.Pod.Name})
		}
	}
	for _, m := range added {
		if m.Pod == nil {
			return nil, fmt.Errorf("a group member is no Pod: %+v", m)
		}
		name := podName{Namespace: m.Pod.Namespace, Name: m.Pod.Name}
		converted := member{ports: m.Ports}
		for _, ip := range m.IPs {
			addr, err := ip.Addr()
			if err != nil {
				return nil, fmt.Errorf("group member %s: %w", name, err)
			}
			converted.ips = append(converted.ips, addr)
		}
		result[name] = converted
	}
	return result, nil
}

// members returns the group as the API has it, sorted.
func (g group) members() []v1beta2.GroupMember {
	members := make([]v1beta2.GroupMember, 0, len(g))
	for _, name := range sortedPods(g) {
		m := v1beta2.GroupMember{Pod: &v1beta2.PodReference{Namespace: name.Namespace, Name: name.Name}, Ports: g[name].ports}
		for _, ip := range g[name].ips {
			m.IPs = append(m.IPs, v1beta2.IPAddress(ip.AsSlice()))
		}
		members = append(members, m)
	}
	return members
}
