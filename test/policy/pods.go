// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
)

const (
	// replaced is the percentage of Pods that end from one World to the next.
	replaced = 25
	// maxEnded is the maximum number of ended Pods that remain as objects.
	maxEnded = 10
)

var (
	protocols = []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP}
	// numbers are ports that policies and Pods name.
	numbers = []uint16{79, 80, 81, 443, 8080, 8083}
	names   = []string{"web", "api", "nothing"}
	// accounts are the names of ServiceAccounts.
	accounts = []string{"default", "sa1"}
)

func nodeName(i int) string { return fmt.Sprint("node-", 1+i%nodes) }

// pod makes the Pod in a place.
func (g *Generator) pod(i int) *Pod {
	return &Pod{
		Namespace: namespaceName(i / podsPerNamespace), Name: fmt.Sprint("pod", i%podsPerNamespace), Node: nodeName(i), Labels: g.podLabels(),
		IPv4: netip.AddrFrom4([4]byte{10, 10, byte(1 + i%nodes), byte(10 + i)}),
		IPv6: netip.MustParseAddr(fmt.Sprintf("fd00:10:10:%d::%x", 1+i%nodes, 10+i)),
		// Named ports do not change while a Pod lives; they differ between Pods, even on one Node.
		Ports: []corev1.ContainerPort{
			{Name: "web", Protocol: corev1.ProtocolTCP, ContainerPort: int32(80 + i/nodes%2)},
			{Name: "api", Protocol: protocols[i%3], ContainerPort: 8080},
		},
	}
}

func (g *Generator) podLabels() map[string]string {
	if g.chance(12) {
		return map[string]string{}
	}
	labels := g.labels("app", "a", "b", "c", "")
	for key, value := range g.labels("tier", "x", "y") {
		labels[key] = value
	}
	return labels
}

// turnPods replaces some of the Pods of the last World. The object of an ended Pod remains for some time under its name, or a new Pod
// with the same name takes its place.
func (g *Generator) turnPods(w *World) {
	w.Hosts = g.hosts()
	defer g.chooseAccounts(w)
	if g.last == nil {
		for _, pod := range w.Pods {
			g.choosePorts(pod)
		}
		return
	}
	for _, pod := range g.last.Ended {
		if g.chance(80) {
			ended := *pod
			ended.Labels = g.podLabels()
			w.Ended = append(w.Ended, &ended)
		}
	}
	for i, next := range w.Pods {
		last := g.last.Pods[i]
		next.Name, next.Life = last.Name, last.Life
		next.Ports, next.SidecarPorts, next.InitPorts = last.Ports, last.SidecarPorts, last.InitPorts
		if !g.chance(replaced) {
			continue
		}
		next.Life++
		if len(w.Ended) < maxEnded && g.chance(60) {
			next.Name = fmt.Sprintf("pod%d-%d", i%podsPerNamespace, next.Life)
			ended := *last
			ended.Phase, ended.Labels = pick(g.rng, []corev1.PodPhase{corev1.PodSucceeded, corev1.PodFailed}), g.podLabels()
			w.Ended = append(w.Ended, &ended)
		}
		g.choosePorts(next)
	}
}

// chooseAccounts gives Pods a ServiceAccount, which stays as long as they live.
func (g *Generator) chooseAccounts(w *World) {
	for i, pod := range w.Pods {
		if g.last != nil && g.last.Pods[i].Life == pod.Life {
			pod.ServiceAccount = g.last.Pods[i].ServiceAccount
		} else if g.antrea {
			pod.ServiceAccount = pick(g.rng, accounts)
		}
	}
}

// hosts returns the Pods in the network of their Node.
func (g *Generator) hosts() []*Pod {
	var hosts []*Pod
	for i := range nodes {
		hosts = append(hosts, &Pod{
			Namespace: namespaceName(i), Name: "host", Node: nodeName(i), Labels: g.podLabels(), HostNetwork: true,
			IPv4:  netip.AddrFrom4([4]byte{192, 168, 77, byte(1 + i)}),
			IPv6:  netip.MustParseAddr(fmt.Sprintf("fd00:192:168:77::%d", 1+i)),
			Ports: []corev1.ContainerPort{{Name: "web", Protocol: corev1.ProtocolTCP, ContainerPort: 80}},
		})
	}
	return hosts
}

// choosePorts gives the Pod named ports in its containers. Names are unique only within a container, so one may have several numbers.
func (g *Generator) choosePorts(pod *Pod) {
	pod.Ports, pod.SidecarPorts, pod.InitPorts = g.containerPorts(80), nil, nil
	if g.chance(40) {
		pod.SidecarPorts = g.containerPorts(70)
	}
	if g.chance(40) {
		pod.InitPorts = g.containerPorts(70)
	}
}

// containerPorts returns ports with the names that policies use, each with this probability in percent.
func (g *Generator) containerPorts(percent int) []corev1.ContainerPort {
	ports := []corev1.ContainerPort{}
	for _, name := range names[:2] {
		if g.chance(percent) {
			protocol := corev1.ProtocolTCP
			if g.chance(35) {
				protocol = pick(g.rng, protocols)
			}
			ports = append(ports, corev1.ContainerPort{Name: name, Protocol: protocol, ContainerPort: int32(pick(g.rng, numbers))})
		}
	}
	return ports
}
