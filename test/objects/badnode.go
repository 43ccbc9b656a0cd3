// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/antrea-oncache/antrea/pkg/agent/controller/noderoute"
	"github.com/antrea-oncache/antrea/test/policy"
)

// badNode is a Node whose Pod networks or addresses are invalid, or another Node's.
func badNode(rng *rand.Rand, i int, _ *policy.World) *bad {
	node := &corev1.Node{ObjectMeta: badMeta("node", i)}
	free := fmt.Sprintf("10.10.%d.0/24", 200+i)
	b := &bad{Kind: "Node"}
	what, cidrs, address := badNetworks(rng, i, free, node)
	b.What = what
	node.Spec.PodCIDRs = cidrs
	if len(cidrs) > 0 {
		node.Spec.PodCIDR = cidrs[0]
	}
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address}}
	switch rng.IntN(30) {
	case 0:
		node.Name = ""
		b.What += ", without a name"
	case 1:
		node.Name = strings.Repeat("n", 5000)
		b.What += ", with a name of 5000 characters"
	}
	for _, text := range cidrs {
		if prefix, err := netip.ParsePrefix(text); err == nil {
			b.prefixes = append(b.prefixes, prefix.Masked())
		}
	}
	b.addresses = claimed(fmt.Sprintf("192.168.77.%d", 200+i), address, node.Annotations[noderoute.TransportAddressesAnnotation])
	b.versions = []runtime.Object{node}
	if rng.IntN(2) == 0 {
		// It becomes a good Node for a time.
		good := node.DeepCopy()
		good.Annotations, good.Spec.PodCIDR, good.Spec.PodCIDRs = nil, free, []string{free}
		good.Status.Addresses[0].Address = fmt.Sprintf("192.168.77.%d", 200+i)
		b.versions = append(b.versions, good)
		b.prefixes = append(b.prefixes, netip.MustParsePrefix(free))
	}
	return b
}

// claimed returns the different addresses in texts with commas.
func claimed(texts ...string) (addrs []netip.Addr) {
	for _, text := range strings.Split(strings.Join(texts, ","), ",") {
		if addr, err := netip.ParseAddr(text); err == nil && !slices.Contains(addrs, addr) {
			addrs = append(addrs, addr)
		}
	}
	return addrs
}

// badNetworks returns a Node's Pod networks and address, and describes what is bad about them. It may set the Node's annotations.
func badNetworks(rng *rand.Rand, i int, free string, node *corev1.Node) (what string, cidrs []string, address string) {
	cidrs, address = []string{free}, fmt.Sprintf("192.168.77.%d", 200+i)
	switch rng.IntN(8) {
	case 0:
		cidrs = []string{pick(rng, "10.10.1.0/24", "10.10.2.0/24", "10.10.0.0/16", "10.10.1.128/25", "10.10.2.0/25", "10.10.0.0/22")}
		what = "with the Pod network of a Node with an agent: " + cidrs[0]
	case 1:
		cidrs = []string{pick(rng, "10.10.3.0/24", "10.10.4.0/25", "10.10.3.128/25", "10.10.2.0/23", "10.10.3.0/30")}
		what = "with the Pod network of another Node: " + cidrs[0]
	case 2:
		cidrs = []string{pick(rng, "0.0.0.0/0", "10.0.0.0/8", "0.0.0.0/1")}
		what = "with a huge Pod network: " + cidrs[0]
	case 3:
		cidrs = []string{pick(rng, "192.168.77.0/24", "192.168.0.0/16", "192.168.77.2/31")}
		what = "with the network of the Nodes as Pod network: " + cidrs[0]
	case 4:
		cidrs = pick(rng, []string{""}, []string{"garbage"}, []string{"10.10.7.0/33"}, []string{"10.10.7.0"}, []string{"::ffff:10.10.3.0/120"}, []string{"fe80::%eth0/64"},
			[]string{"10.10.7.0/32"}, []string{free, free}, []string{"2001:db8::/64"}, []string{free, "x"}, []string{"10.10.99.0/24", "10.10.98.0/24", "10.10.3.0/24"})
		what = fmt.Sprintf("with the Pod networks %q", cidrs)
	case 5:
		cidrs = nil
		for n := range 300 {
			cidrs = append(cidrs, fmt.Sprintf("10.%d.%d.0/24", 100+i, n%256))
		}
		what = "with 300 Pod networks"
	case 6:
		address = pick(rng, "0.0.0.0", "127.0.0.1", "224.0.0.1", "255.255.255.255", "192.168.77.1", "192.168.77.2", "fe80::1%eth0", "::ffff:0.0.0.0", "garbage", "")
		what = fmt.Sprintf("with the address %q", address)
	default:
		value := pick(rng, "garbage", ",,,", "192.168.77.2", "0.0.0.0", strings.Repeat("1.1.1.1,", 10000), "127.0.0.1,224.0.0.1", " ", "\x00")
		node.Annotations = map[string]string{noderoute.TransportAddressesAnnotation: value}
		what = fmt.Sprintf("with the transport addresses %.40q", value)
	}
	return what, cidrs, address
}
