// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package nodeportlocal

import (
	"maps"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/antrea-oncache/antrea/pkg/agent/route"
)

// world contains the known facts. Pods and Services are in order.
type world struct {
	pods     []*corev1.Pod
	services []*corev1.Service
	// nodeIPs are the addresses of the Node that load balancers use, by IP version.
	nodeIPs map[string]netip.Addr
	// holders are the Pods whose interfaces have the addresses.
	holders map[netip.Addr]types.NamespacedName
}

// plan contains the rules and annotations that the Node should have.
type plan struct {
	rules []route.PodPort
	// owners have the ports of the rules.
	owners map[owner]bool
	// entries are in order.
	entries map[types.NamespacedName][]entry
	// refused are the reasons why Pods lack a port.
	refused map[types.NamespacedName]error
}

// target is a port of a Pod's address that Services ask for.
type target struct {
	owner
	address, nodeIP netip.Addr
	// hostPort is the port by which it can be reached anyway; 0 if it needs one.
	hostPort uint16
}

// targets lists what Services ask for, as far as it can be given.
func (w *world) targets() (all []target) {
	seen, requests := map[owner]bool{}, requests(w.services)
	for _, pod := range w.pods {
		name := nameOf(pod)
		ports := wanted(pod, requests[pod.Namespace])
		for _, status := range pod.Status.PodIPs {
			addr, err := netip.ParseAddr(status.IP)
			if err != nil {
				continue
			}
			nodeIP := w.nodeIPs[familyOf(addr)]
			if !nodeIP.IsValid() {
				continue
			}
			for _, port := range ports {
				t := target{owner{name, familyOf(addr), port}, addr, nodeIP, hostPort(pod, port, nodeIP)}
				if !seen[t.owner] && (t.hostPort != 0 || w.holders[addr] == name) {
					seen[t.owner] = true
					all = append(all, t)
				}
			}
		}
	}
	return all
}

func nameOf(pod *corev1.Pod) types.NamespacedName {
	return types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
}

// decide returns the plan for what is known. Targets without a port get one, which stays in ports.
func decide(w *world, from *ports) *plan {
	clear(from.full)
	p := &plan{owners: map[owner]bool{}, entries: map[types.NamespacedName][]entry{}, refused: map[types.NamespacedName]error{}}
	for _, t := range w.targets() {
		number := t.hostPort
		if number == 0 {
			var err error
			if number, err = from.take(t.owner); err != nil {
				p.refused[t.pod] = err
				continue
			}
			p.owners[t.owner] = true
			p.rules = append(p.rules, route.PodPort{Protocol: t.protocol, NodePort: number, Pod: netip.AddrPortFrom(t.address, t.number)})
		}
		p.entries[t.pod] = append(p.entries[t.pod], entry{t.number, t.nodeIP.String(), number, t.protocol, t.family})
	}
	for _, entries := range p.entries {
		slices.SortFunc(entries, entry.compare)
	}
	return p
}

// restore gives targets the ports that they had under a former agent: ports in rules first, because anyone who may change a Pod may write
// annotations.
func restore(w *world, from *ports, former []route.PodPort) {
	targets := slices.DeleteFunc(w.targets(), func(t target) bool { return t.hostPort != 0 })
	for _, t := range targets {
		for _, rule := range former {
			if rule.Protocol == t.protocol && rule.Pod == netip.AddrPortFrom(t.address, t.number) && from.adopt(t.owner, rule.NodePort) {
				break
			}
		}
	}
	annotations := map[types.NamespacedName][]entry{}
	for _, pod := range w.pods {
		annotations[nameOf(pod)] = parse(pod.Annotations[PodAnnotation])
	}
	for _, t := range targets {
		for _, e := range annotations[t.pod] {
			if e.PodPort == t.number && e.Protocol == t.protocol && e.IPFamily == t.family && from.adopt(t.owner, e.NodePort) {
				break
			}
		}
	}
}

// nodeAddresses returns the addresses of a Node that load balancers use: its external ones, or else its internal ones.
func nodeAddresses(node *corev1.Node) map[string]netip.Addr {
	byType := map[corev1.NodeAddressType]map[string]netip.Addr{corev1.NodeExternalIP: {}, corev1.NodeInternalIP: {}}
	for _, a := range node.Status.Addresses {
		addr, err := netip.ParseAddr(a.Address)
		if err != nil || byType[a.Type] == nil || byType[a.Type][familyOf(addr)].IsValid() {
			continue
		}
		byType[a.Type][familyOf(addr)] = addr
	}
	addresses := byType[corev1.NodeInternalIP]
	maps.Copy(addresses, byType[corev1.NodeExternalIP])
	return addresses
}
