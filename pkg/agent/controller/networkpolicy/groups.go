// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
	"github.com/antrea-oncache/antrea/pkg/trie"
)

// podName is a Pod's namespace and name.
type podName = types.NamespacedName

// member is a Pod in a group.
type member struct {
	ips   []netip.Addr
	ports []v1beta2.NamedPort
	// vague is set if there are other addresses or ports, which are unknown.
	vague bool
}

// unknownAddress stands in the API's form of a member for the addresses and ports that are unknown. The empty slice is not nil, so that it
// is the same after it was stored.
var unknownAddress = v1beta2.IPAddress{}

// group is an AddressGroup or an AppliedToGroup. It is immutable, so any holder may read it. A group made from another one
// shares all equal parts with it, so the cost of a change depends only on the change, however many members there are.
type group struct {
	pods trie.Map[*member]
	// addresses are the addresses of all members.
	addresses policy.AddressSet
	// byPorts has the addresses of members with equal named ports, by the text of the ports.
	byPorts trie.Map[portClass]
	// vague is the number of members of which some addresses or ports are unknown.
	vague int
}

// portClass is the set of members of a group for which every port name has the same meaning.
type portClass struct {
	ports     []v1beta2.NamedPort
	addresses policy.AddressSet
}

// understood returns the members without the parts that cannot be understood, so that one of them does not stop the whole watch. A Pod
// with addresses that are not valid stays a member, with unknownAddress. A member that is not a Pod is not one on this Node either.
func understood(groupName string, members []v1beta2.GroupMember) []v1beta2.GroupMember {
	isBad := func(ip v1beta2.IPAddress) bool { _, err := ip.Addr(); return err != nil }
	if !slices.ContainsFunc(members, func(m v1beta2.GroupMember) bool { return m.Pod == nil || slices.ContainsFunc(m.IPs, isBad) }) {
		return members
	}
	var kept []v1beta2.GroupMember
	for _, m := range members {
		if m.Pod == nil {
			klog.ErrorS(nil, "Ignoring a group member that is not a Pod", "group", groupName, "member", fmt.Sprintf("%.200v", m))
			continue
		}
		if valid := slices.DeleteFunc(slices.Clone(m.IPs), isBad); len(valid) < len(m.IPs) {
			klog.ErrorS(nil, "Ignoring addresses of a group member that are not valid: want 4 or 16 bytes", "group", groupName, "pod", klog.KRef(m.Pod.Namespace, m.Pod.Name))
			m.IPs = append(valid, unknownAddress)
		}
		kept = append(kept, m)
	}
	return kept
}

// withoutNonsense removes from an object that antrea-controller has sent what understood removes, before it is stored and applied.
func withoutNonsense(object any) {
	switch o := object.(type) {
	case *v1beta2.AddressGroup:
		o.GroupMembers = understood(o.Name, o.GroupMembers)
	case *v1beta2.AppliedToGroup:
		o.GroupMembers = understood(o.Name, o.GroupMembers)
	case *v1beta2.AddressGroupPatch:
		o.AddedGroupMembers = understood(o.Name, o.AddedGroupMembers)
	case *v1beta2.AppliedToGroupPatch:
		o.AddedGroupMembers = understood(o.Name, o.AddedGroupMembers)
	}
}

func newGroup(members []v1beta2.GroupMember) (group, error) {
	return group{}.patched(members, nil)
}

// patched returns the group without removed and with added members. A Pod in both lists has changed.
func (g group) patched(added, removed []v1beta2.GroupMember) (group, error) {
	edit := g.edit()
	for _, m := range removed {
		if m.Pod != nil {
			edit.remove(podKey(podName{Namespace: m.Pod.Namespace, Name: m.Pod.Name}))
		}
	}
	for _, m := range added {
		if m.Pod == nil {
			return group{}, fmt.Errorf("group member %+v is not a Pod", m)
		}
		name := podName{Namespace: m.Pod.Namespace, Name: m.Pod.Name}
		converted := &member{ports: m.Ports}
		for _, ip := range m.IPs {
			if len(ip) == 0 {
				converted.vague = true
				continue
			}
			addr, err := ip.Addr()
			if err != nil {
				return group{}, fmt.Errorf("group member %s: %w", name, err)
			}
			converted.ips = append(converted.ips, addr)
		}
		edit.set(podKey(name), converted)
	}
	return edit.group(), nil
}

// keySeparator is in no name and sorts before every character of one, so that keys sort like comparePods.
const keySeparator = "\x00"

func podKey(name podName) string { return name.Namespace + keySeparator + name.Name }

// has reports whether the Pod is a member.
func (g group) has(name podName) bool {
	_, ok := g.pods.Get(podKey(name))
	return ok
}

// all yields the members, sorted.
func (g group) all() iter.Seq2[podName, *member] {
	return func(yield func(podName, *member) bool) {
		for key, m := range g.pods.All() {
			namespace, name, _ := strings.Cut(key, keySeparator)
			if !yield(podName{Namespace: namespace, Name: name}, m) {
				return
			}
		}
	}
}

// members returns the group in the API's form, sorted.
func (g group) members() []v1beta2.GroupMember {
	members := make([]v1beta2.GroupMember, 0, g.pods.Len())
	for name, converted := range g.all() {
		m := v1beta2.GroupMember{Pod: &v1beta2.PodReference{Namespace: name.Namespace, Name: name.Name}, Ports: converted.ports}
		for _, ip := range converted.ips {
			m.IPs = append(m.IPs, v1beta2.IPAddress(ip.AsSlice()))
		}
		if converted.vague {
			m.IPs = append(m.IPs, unknownAddress)
		}
		members = append(members, m)
	}
	return members
}

// groupEdit makes a group from another one.
type groupEdit struct {
	pods      *trie.Edit[*member]
	addresses *policy.AddressEdit
	byPorts   *trie.Edit[portClass]
	// classes are the changed classes.
	classes map[string]*classEdit
	vague   int
}

type classEdit struct {
	ports     []v1beta2.NamedPort
	addresses *policy.AddressEdit
}

func (g group) edit() *groupEdit {
	return &groupEdit{g.pods.Edit(), g.addresses.Edit(), g.byPorts.Edit(), map[string]*classEdit{}, g.vague}
}

// class returns the addresses of members with these ports, for changing.
func (e *groupEdit) class(ports []v1beta2.NamedPort) *policy.AddressEdit {
	key := portsText(ports)
	class := e.classes[key]
	if class == nil {
		known, _ := e.byPorts.Get(key)
		class = &classEdit{ports, known.addresses.Edit()}
		e.classes[key] = class
	}
	return class.addresses
}

func (e *groupEdit) remove(key string) {
	old, ok := e.pods.Get(key)
	if !ok {
		return
	}
	e.pods.Delete(key)
	if old.vague {
		e.vague--
	}
	for _, ip := range old.ips {
		e.addresses.Remove(ip)
		e.class(old.ports).Remove(ip)
	}
}

func (e *groupEdit) set(key string, m *member) {
	e.remove(key)
	e.pods.Put(key, m)
	if m.vague {
		e.vague++
	}
	for _, ip := range m.ips {
		e.addresses.Add(ip)
		e.class(m.ports).Add(ip)
	}
}

func (e *groupEdit) group() group {
	for key, class := range e.classes {
		if addresses := class.addresses.Set(); addresses.Len() == 0 {
			e.byPorts.Delete(key)
		} else {
			e.byPorts.Put(key, portClass{class.ports, addresses})
		}
	}
	return group{e.pods.Map(), e.addresses.Set(), e.byPorts.Map(), e.vague}
}

// portsText is equal only for equal ports.
func portsText(ports []v1beta2.NamedPort) string {
	var b strings.Builder
	for _, port := range ports {
		fmt.Fprintf(&b, "%q %d %q,", port.Name, port.Port, port.Protocol)
	}
	return b.String()
}
