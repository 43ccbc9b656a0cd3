// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package noderoute

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
)

// TransportAddressesAnnotation is the comma-separated list of addresses that a Node wants its peers to send tunnel packets
// to. Without it, they use the Node's addresses.
const TransportAddressesAnnotation = "node.antrea.io/transport-addresses"

// maxAddresses limits the addresses of one Node that are used: its object must not fill the ipset for all Nodes.
const maxAddresses = 16

// families are the IP versions that this Node has: for its Pods, or as addresses of its uplink.
type families struct {
	ipv4, ipv6 bool
}

func (f families) has(addr netip.Addr) bool {
	return addr.Is4() && f.ipv4 || addr.Is6() && f.ipv6
}

// object is the content of a Node object. It depends on nothing else, so all agents read the same.
type object struct {
	name, uid string
	// created is in seconds since 1970, the precision of the API.
	created int64
	// cidrs are the Pod networks, without host bits, at most one of each IP version.
	cidrs []netip.Prefix
	// addresses are the addresses of the annotation, the internal and the external ones.
	addresses [3][]netip.Addr
	// unreadable is set when the annotation is not a list of addresses: it is unknown where packets to this Node may go.
	unreadable bool
	// findings are the parts that cannot be used, and why.
	findings []finding
}

func readNode(node *corev1.Node) *object {
	o := &object{name: node.Name, uid: string(node.UID), created: node.CreationTimestamp.Unix()}
	o.readPodCIDRs(node)
	o.readAddresses(node)
	return o
}

// readPodCIDRs takes the first possible network of each IP version, as the Node itself does. The Kubernetes API allows no
// more.
func (o *object) readPodCIDRs(node *corev1.Node) {
	texts := node.Spec.PodCIDRs
	if len(texts) == 0 && node.Spec.PodCIDR != "" {
		texts = []string{node.Spec.PodCIDR}
	}
	var seen families
	for _, text := range texts {
		cidr, err := netip.ParsePrefix(text)
		if err != nil {
			o.find(ReasonPodCIDRInvalid, "Pod CIDR %q is not an address with prefix length", shorten(text))
			continue
		}
		if seen.has(cidr.Addr()) {
			o.find(ReasonPodCIDRInvalid, "it has %d Pod CIDRs, want one of each IP version: only the first of each is looked at", len(texts))
			break
		}
		if err := config.CheckPodCIDR(cidr); err != nil {
			o.find(ReasonPodCIDRInvalid, "Pod CIDR %v", err)
			continue
		}
		seen.ipv4, seen.ipv6 = seen.ipv4 || cidr.Addr().Is4(), seen.ipv6 || cidr.Addr().Is6()
		o.cidrs = append(o.cidrs, cidr.Masked())
	}
}

func (o *object) readAddresses(node *corev1.Node) {
	annotation := node.Annotations[TransportAddressesAnnotation]
	annotated, err := parseAddresses(annotation)
	if err != nil {
		o.unreadable = true
		o.find(ReasonNodeAddressInvalid, "annotation %s is %q, want IP addresses separated by commas: %v", TransportAddressesAnnotation, shorten(annotation), err)
	}
	sources := [3][]netip.Addr{annotated, nodeAddresses(node, corev1.NodeInternalIP), nodeAddresses(node, corev1.NodeExternalIP)}
	count := 0
	var wrong []string
	for i, source := range sources {
		for _, addr := range source {
			err := config.CheckNodeAddress(addr)
			switch {
			case err != nil:
				// A zone can be as long as the annotation.
				wrong = append(wrong, strings.Replace(err.Error(), addr.String(), shorten(addr.String()), 1))
			case slices.Contains(o.addresses[i], addr):
			case count < maxAddresses:
				count++
				o.addresses[i] = append(o.addresses[i], addr)
			}
		}
		// Kubelets list addresses of every kind. An error matters if the wrong address is the chosen one, or if there is no
		// other.
		if len(wrong) > 0 && (i == 0 || i == 2 && count == 0) {
			o.find(ReasonNodeAddressInvalid, "address %s", wrong[0])
			wrong = nil
		}
	}
	if total := len(slices.Concat(sources[:]...)); count == maxAddresses && total > count {
		o.find(ReasonNodeAddressInvalid, "it has %d addresses: only the first %d usable ones are looked at", total, maxAddresses)
	}
}

// allAddresses returns the addresses that any Node may choose as transport address, in order.
func (o *object) allAddresses() []netip.Addr {
	all := slices.Concat(o.addresses[:]...)
	slices.SortFunc(all, netip.Addr.Compare)
	return slices.Compact(all)
}

func (o *object) find(reason reason, format string, args ...any) {
	o.findings = append(o.findings, finding{reason, fmt.Sprintf(format, args...)})
}

func parseAddresses(list string) ([]netip.Addr, error) {
	if strings.TrimSpace(list) == "" {
		return nil, nil
	}
	var addrs []netip.Addr
	for text := range strings.SplitSeq(list, ",") {
		addr, err := netip.ParseAddr(strings.TrimSpace(text))
		if err != nil {
			return addrs, fmt.Errorf("%q is none", shorten(text))
		}
		addrs = append(addrs, addr.Unmap())
	}
	return addrs, nil
}

// nodeAddresses skips entries that are not IP addresses: kubelet writes only addresses here, but cloud providers vary.
func nodeAddresses(node *corev1.Node, kind corev1.NodeAddressType) []netip.Addr {
	var addrs []netip.Addr
	for _, a := range node.Status.Addresses {
		if addr, err := netip.ParseAddr(a.Address); a.Type == kind && err == nil {
			addrs = append(addrs, addr.Unmap())
		}
	}
	return addrs
}

// shorten bounds the text of an object that a message repeats.
func shorten(text string) string {
	const most = 100
	if len(text) > most {
		return text[:most] + "..."
	}
	return text
}

// gatewayOf returns the address of a Node's gateway port: the first of its Pod CIDR.
func gatewayOf(cidr netip.Prefix) netip.Addr {
	return cidr.Addr().Next()
}
