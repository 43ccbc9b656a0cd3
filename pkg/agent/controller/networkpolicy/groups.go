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

// member is a member of a group: a Pod, unless reference is set.
type member struct {
	ips   []netip.Addr
	ports []v1beta2.NamedPort
	// vague is set if there are other addresses or ports, which are unknown.
	vague bool
	// reference names a member that is not a Pod. It has no addresses and ports.
	reference *v1beta2.GroupMember
}

// unknownAddress stands in the API's form of a member for the addresses and ports that are unknown. The empty slice is not nil, so that it
// is the same after it was stored.
var unknownAddress = v1beta2.IPAddress{}

// group is an AddressGroup or an AppliedToGroup. It is immutable, so any holder may read it. A group made from another one
// shares all equal parts with it, so the cost of a change depends only on the change, however many members there are.
type group struct {
	// byKey has the members by memberKey: Pods after the others.
	byKey trie.Map[*member]
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

// understood returns the members without the addresses that cannot be understood, so that one of them does not stop the whole watch. A member
// with addresses that are not valid stays one, with unknownAddress.
func understood(groupName string, members []v1beta2.GroupMember) []v1beta2.GroupMember {
	isBad := func(ip v1beta2.IPAddress) bool { _, err := ip.Addr(); return err != nil }
	if !slices.ContainsFunc(members, func(m v1beta2.GroupMember) bool { return slices.ContainsFunc(m.IPs, isBad) }) {
		return members
	}
	kept := slices.Clone(members)
	for i := range kept {
		m := &kept[i]
		if valid := slices.DeleteFunc(slices.Clone(m.IPs), isBad); len(valid) < len(m.IPs) {
			klog.ErrorS(nil, "Ignoring addresses of a group member that are not valid: want 4 or 16 bytes", "group", groupName, "member", memberText(m))
			m.IPs = append(valid, unknownAddress)
		}
	}
	return kept
}

// removeInvalid removes from an object that antrea-controller has sent what understood removes, before it is stored and applied.
func removeInvalid(object any) {
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

// patched returns the group without removed and with added members. A member in both lists has changed.
func (g group) patched(added, removed []v1beta2.GroupMember) (group, error) {
	edit := g.edit()
	for i := range removed {
		edit.remove(memberKey(&removed[i]))
	}
	for i := range added {
		m, err := newMember(&added[i])
		if err != nil {
			return group{}, fmt.Errorf("group member %s: %w", memberText(&added[i]), err)
		}
		edit.set(memberKey(&added[i]), m)
	}
	return edit.group(), nil
}

// has reports whether the Pod is a member.
func (g group) has(name podName) bool {
	_, ok := g.byKey.Get(podKey(name))
	return ok
}

// all yields the members that are Pods, sorted.
func (g group) all() iter.Seq2[podName, *member] {
	return func(yield func(podName, *member) bool) {
		for key, m := range g.byKey.All() {
			if m.reference != nil {
				continue
			}
			if !yield(podOf(key), m) {
				return
			}
		}
	}
}

// others yields the references of the members that are not Pods. The cost depends on their number only.
func (g group) others() iter.Seq[*v1beta2.GroupMember] {
	return func(yield func(*v1beta2.GroupMember) bool) {
		for _, m := range g.byKey.All() {
			if m.reference == nil || !yield(m.reference) {
				return
			}
		}
	}
}

// members returns the group in the API's form, sorted.
func (g group) members() []v1beta2.GroupMember {
	members := make([]v1beta2.GroupMember, 0, g.byKey.Len())
	for key, converted := range g.byKey.All() {
		members = append(members, converted.member(key))
	}
	return members
}

// groupEdit makes a group from another one.
type groupEdit struct {
	byKey     *trie.Edit[*member]
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
	return &groupEdit{g.byKey.Edit(), g.addresses.Edit(), g.byPorts.Edit(), map[string]*classEdit{}, g.vague}
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
	old, ok := e.byKey.Get(key)
	if !ok {
		return
	}
	e.byKey.Delete(key)
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
	e.byKey.Put(key, m)
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
	return group{e.byKey.Map(), e.addresses.Set(), e.byPorts.Map(), e.vague}
}

// portsText is equal only for equal ports.
func portsText(ports []v1beta2.NamedPort) string {
	var b strings.Builder
	for _, port := range ports {
		fmt.Fprintf(&b, "%q %d %q,", port.Name, port.Port, port.Protocol)
	}
	return b.String()
}
