// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/antrea-oncache/antrea/test/policy"
)

// badPod is a Pod without an interface that policies may select, because it has the labels of a good one.
func badPod(rng *rand.Rand, i int, world *policy.World) *bad {
	like := world.Pods[rng.IntN(len(world.Pods))]
	pod := &corev1.Pod{ObjectMeta: badMeta("pod", i)}
	pod.Namespace, pod.Labels = like.Namespace, maps.Clone(like.Labels)
	pod.Spec.NodeName = pick(rng, "node-1", "node-2", "node-3", "node-77", "", "../..", strings.Repeat("n", 300))
	pod.Status.Phase = pick(rng, corev1.PodRunning, corev1.PodRunning, corev1.PodRunning, corev1.PodPending, "Odd", "")
	b := &bad{Kind: "Pod"}
	texts := []string{fmt.Sprintf("10.10.3.%d", 100+i)}
	switch rng.IntN(7) {
	case 0:
		texts = []string{pick(rng, "garbage", "", "10.10.1", "999.1.1.1", "10.10.1.0/24", "fe80::1%eth0", "\x00"), "x"}
		b.What = fmt.Sprintf("with the addresses %q", texts)
	case 1:
		for n := range 200 {
			texts = append(texts, fmt.Sprintf("198.18.%d.%d", i, n))
		}
		b.What = "with 200 addresses"
	case 2:
		other := world.Pods[rng.IntN(len(world.Pods))]
		texts = []string{pick(rng, other.IPv4.String(), "::ffff:"+other.IPv4.String())}
		b.What = fmt.Sprintf("with the address of %s/%s, %s", other.Namespace, other.Name, texts[0])
		b.alias = &policy.Pod{Namespace: pod.Namespace, Name: pod.Name, Labels: pod.Labels, IPv4: other.IPv4, Node: other.Node}
	case 3:
		texts = []string{pick(rng, "10.10.1.1", "192.168.77.1", "0.0.0.0", "255.255.255.255", "127.0.0.1", "224.0.0.1", "::", "10.10.1.255")}
		b.What = "with the address " + texts[0]
	case 4:
		b.What = "with 5000 ports"
		container := corev1.Container{Name: "main"}
		for n := range 5000 {
			container.Ports = append(container.Ports, corev1.ContainerPort{
				Name:     pick(rng, "web", "api", "", strings.Repeat("p", 300), fmt.Sprint("port", n)),
				Protocol: pick(rng, corev1.ProtocolTCP, corev1.ProtocolUDP, "", "ICMP"), ContainerPort: pick(rng, 0, -1, 80, 65536+80, 1<<30, int32(n)),
			})
		}
		pod.Spec.Containers = []corev1.Container{container}
	case 5:
		b.What = "in the network of its Node"
		pod.Spec.HostNetwork = true
		texts = []string{pick(rng, "192.168.77.1", "10.10.1.1")}
	default:
		b.What = "with odd names and labels"
		pod.Name = pick(rng, "", "..", "a/b", strings.Repeat("p", 5000))
		pod.Labels[""], pod.Labels["\n"] = "", strings.Repeat("l", 5000)
	}
	for _, text := range texts {
		pod.Status.PodIPs = append(pod.Status.PodIPs, corev1.PodIP{IP: text})
		if addr, err := netip.ParseAddr(text); err == nil && b.alias == nil {
			b.prefixes = append(b.prefixes, netip.PrefixFrom(addr.Unmap(), addr.Unmap().BitLen()))
		}
	}
	pod.Status.PodIP = texts[0]
	b.versions = []runtime.Object{pod}
	return b
}
