// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"fmt"
	"strings"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
)

// keySeparator is in no name and sorts before every character of one, so that keys sort like comparePods. Keys of members that are not Pods
// begin with it.
const keySeparator = "\x00"

func podKey(name podName) string { return name.Namespace + keySeparator + name.Name }

// podOf undoes podKey.
func podOf(key string) podName {
	namespace, name, _ := strings.Cut(key, keySeparator)
	return podName{Namespace: namespace, Name: name}
}

// memberKey identifies a member in its group.
func memberKey(m *v1beta2.GroupMember) string {
	switch {
	case m.Pod != nil:
		return podKey(podName{Namespace: m.Pod.Namespace, Name: m.Pod.Name})
	case m.Node != nil:
		return keySeparator + "Node" + keySeparator + m.Node.Name
	case m.Service != nil:
		return keySeparator + "Service" + keySeparator + podKey(podName{Namespace: m.Service.Namespace, Name: m.Service.Name})
	case m.ExternalEntity != nil:
		return keySeparator + "ExternalEntity" + keySeparator + m.ExternalEntity.Namespace + keySeparator + m.ExternalEntity.Name
	}
	return keySeparator + "unknown" + keySeparator + fmt.Sprint(m.IPs)
}

// memberText names a member in messages.
func memberText(m *v1beta2.GroupMember) string {
	switch {
	case m.Pod != nil:
		return m.Pod.Namespace + "/" + m.Pod.Name
	case m.Node != nil:
		return "Node " + m.Node.Name
	case m.Service != nil:
		return "Service " + m.Service.Namespace + "/" + m.Service.Name
	case m.ExternalEntity != nil:
		return "ExternalEntity " + m.ExternalEntity.Namespace + "/" + m.ExternalEntity.Name
	}
	return fmt.Sprintf("of an unknown kind with the addresses %v", m.IPs)
}

// isUnknownKind reports whether this version does not implement members of the kind. Not all addresses behind them are known.
func isUnknownKind(m *v1beta2.GroupMember) bool {
	return m.Pod == nil && m.Node == nil && m.Service == nil
}

func newMember(m *v1beta2.GroupMember) (*member, error) {
	converted := &member{ports: m.Ports, vague: isUnknownKind(m)}
	if m.Pod == nil {
		converted.reference = &v1beta2.GroupMember{Node: m.Node, Service: m.Service, ExternalEntity: m.ExternalEntity}
	}
	for _, ip := range m.IPs {
		if len(ip) == 0 {
			converted.vague = true
			continue
		}
		addr, err := ip.Addr()
		if err != nil {
			return nil, err
		}
		converted.ips = append(converted.ips, addr)
	}
	return converted, nil
}

// member returns the member with a key in the API's form.
func (m *member) member(key string) v1beta2.GroupMember {
	var result v1beta2.GroupMember
	if m.reference != nil {
		result = *m.reference
	} else {
		name := podOf(key)
		result.Pod = &v1beta2.PodReference{Namespace: name.Namespace, Name: name.Name}
	}
	result.Ports = m.ports
	for _, ip := range m.ips {
		result.IPs = append(result.IPs, v1beta2.IPAddress(ip.AsSlice()))
	}
	if m.vague && !isUnknownKind(&result) {
		result.IPs = append(result.IPs, unknownAddress)
	}
	return result
}
