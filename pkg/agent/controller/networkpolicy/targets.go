// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
)

// appliedPod is a local Pod that a policy is applied to.
type appliedPod struct {
	interfaces []policy.Pod
	ports      []v1beta2.NamedPort
}

// target are the Pods and Services of this Node that a rule applies to.
type target struct {
	pods map[podName]appliedPod
	// services are groups of Open vSwitch: connections to the NodePorts of Services.
	services []uint32
}

// target returns what the AppliedToGroups contain.
func (s *state) target(names []string) target {
	return target{s.podsOf(names), s.servicesOf(names)}
}

// appliedPods returns the local Pods that the rules of a policy apply to.
func (s *state) appliedPods(np *v1beta2.NetworkPolicy) map[podName]appliedPod {
	return s.podsOf(appliedToGroupsOf(np))
}

// podsOf returns the local Pods in AppliedToGroups.
func (s *state) podsOf(names []string) map[podName]appliedPod {
	pods := map[podName]appliedPod{}
	for _, name := range names {
		for pod, m := range s.appliedToGroups[name].all() {
			interfaces := s.interfaces[pod]
			if len(interfaces) == 0 {
				continue // Its ADD has not come yet, or its DEL has.
			}
			a := appliedPod{ports: m.ports}
			for _, i := range slices.Sorted(maps.Keys(interfaces)) {
				a.interfaces = append(a.interfaces, interfaces[i])
			}
			pods[pod] = a
		}
	}
	return pods
}

// servicesOf returns the groups of the Services in AppliedToGroups, sorted. Without NodePorts on the bridge there are none.
func (s *state) servicesOf(names []string) []uint32 {
	if !s.built.nodePorts {
		return nil
	}
	var services []v1beta2.ServiceReference
	for _, name := range names {
		for m := range s.appliedToGroups[name].others() {
			if m.Service != nil {
				services = append(services, *m.Service)
			}
		}
	}
	return s.groupsOf(services)
}

// serviceKey returns the form in which ServiceGroups names a Service.
func serviceKey(ref v1beta2.ServiceReference) string { return ref.Namespace + "/" + ref.Name }

// groupsOf returns the groups of Services in Open vSwitch, sorted. A Service that is unknown or headless has none.
func (s *state) groupsOf(services []v1beta2.ServiceReference) []uint32 {
	var groups []uint32
	for _, ref := range services {
		groups = append(groups, s.services[serviceKey(ref)]...)
	}
	slices.Sort(groups)
	return slices.Compact(groups)
}

// setServiceGroups records the groups of a Service.
func (s *state) setServiceGroups(name string, groups []uint32) {
	if slices.Equal(s.services[name], groups) {
		return
	}
	if len(groups) == 0 {
		delete(s.services, name)
	} else {
		s.services[name] = slices.Clone(groups)
	}
	s.dirty = s.dirty.Union(s.naming(name))
}

// naming returns the names of the policies whose rules match connections to a Service, or may.
func (s *state) naming(service string) sets.Set[string] {
	names := s.byService[service].Clone()
	for group, g := range s.appliedToGroups {
		for m := range g.others() {
			if m.Service != nil && serviceKey(*m.Service) == service {
				names = names.Union(s.byAppliedToGroup[group])
			}
		}
	}
	return names
}

// namedAddressesOf returns the addresses behind each of a peer's names at present.
func (s *state) namedAddressesOf(peer v1beta2.NetworkPolicyPeer) []policy.AddressSet {
	if s.fqdns == nil {
		return nil
	}
	var addresses []policy.AddressSet
	for _, name := range peer.FQDNs {
		if set := s.fqdns.Addresses(name); set.Len() > 0 {
			addresses = append(addresses, set)
		}
	}
	return addresses
}
