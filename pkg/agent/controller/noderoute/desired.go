// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package noderoute

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// TransportAddressesAnnotation is the comma-separated list of addresses that a Node wants its peers to send tunnel packets
// to. Without it, they use the Node's addresses.
const TransportAddressesAnnotation = "node.antrea.io/transport-addresses"

// inputError says that a Node object cannot be used as it is. Trying again is of no use before it changes.
type inputError struct{ error }

func (e inputError) Unwrap() error { return e.error }

func inputErrorf(format string, args ...any) error {
	return inputError{fmt.Errorf(format, args...)}
}

// families are the IP versions that this Node has: for its Pods, or as addresses of its uplink.
type families struct {
	ipv4, ipv6 bool
}

func (f families) has(addr netip.Addr) bool {
	return addr.Is4() && f.ipv4 || addr.Is6() && f.ipv6
}

// peerOf reads what a Node object asks for: nil for a Node that has no Pod CIDR (yet). pods are the families in use between
// Pods, uplink those of the transport addresses of this Node. It returns an inputError for a Node whose addresses or CIDRs
// are unusable.
func peerOf(node *corev1.Node, pods, uplink families) (*Peer, error) {
	cidrs, err := podCIDRs(node, pods)
	if err != nil || len(cidrs) == 0 {
		return nil, err
	}
	peer := &Peer{Name: node.Name}
	for _, cidr := range cidrs {
		ip, err := transportAddress(node, cidr, uplink)
		if err != nil {
			return nil, err
		}
		peer.Networks = append(peer.Networks, Network{CIDR: cidr, IP: ip})
	}
	return peer, nil
}

// podCIDRs returns the Pod CIDRs of the families in use.
func podCIDRs(node *corev1.Node, f families) ([]netip.Prefix, error) {
	texts := node.Spec.PodCIDRs
	if len(texts) == 0 && node.Spec.PodCIDR != "" {
		texts = []string{node.Spec.PodCIDR}
	}
	var cidrs []netip.Prefix
	for _, text := range texts {
		cidr, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, inputErrorf("the Pod CIDR %q of Node %s is not an address with prefix length: %w", text, node.Name, err)
		}
		cidr = cidr.Masked()
		if !cidr.Contains(gatewayOf(cidr)) {
			return nil, inputErrorf("the Pod CIDR %s of Node %s has no room for a gateway address", cidr, node.Name)
		}
		if f.has(cidr.Addr()) {
			cidrs = append(cidrs, cidr)
		}
	}
	return cidrs, nil
}

// gatewayOf is the address of a Node's gateway port: the first of its Pod CIDR.
func gatewayOf(cidr netip.Prefix) netip.Addr {
	return cidr.Addr().Next()
}

// transportAddress returns where tunnel packets for a Pod CIDR of the Node go: an address of the CIDR's family, as Antrea
// does it, else one of the other family that this Node has too. Of several it is the first in the annotation, else an
// internal, else an external address of the Node.
func transportAddress(node *corev1.Node, cidr netip.Prefix, uplink families) (netip.Addr, error) {
	annotated, err := annotatedAddresses(node)
	if err != nil {
		return netip.Addr{}, err
	}
	order := []families{{ipv4: uplink.ipv4}, {ipv6: uplink.ipv6}}
	if cidr.Addr().Is6() {
		order[0], order[1] = order[1], order[0]
	}
	for _, candidates := range [][]netip.Addr{
		annotated, nodeAddresses(node, corev1.NodeInternalIP), nodeAddresses(node, corev1.NodeExternalIP),
	} {
		for _, family := range order {
			for _, addr := range candidates {
				if family.has(addr) {
					return addr, nil
				}
			}
		}
	}
	return netip.Addr{}, inputErrorf("no address of Node %s, neither in annotation %s nor in InternalIP and ExternalIP addresses, is of a family "+
		"that this Node's transport interface has (IPv4: %t, IPv6: %t)", node.Name, TransportAddressesAnnotation, uplink.ipv4, uplink.ipv6)
}

// tunnelAddresses returns all addresses of the Node that some Node may choose as its transport address.
func tunnelAddresses(node *corev1.Node) []netip.Addr {
	annotated, _ := annotatedAddresses(node) // who reads an unusable annotation does not connect the Node
	return slices.Concat(annotated, nodeAddresses(node, corev1.NodeInternalIP), nodeAddresses(node, corev1.NodeExternalIP))
}

func annotatedAddresses(node *corev1.Node) ([]netip.Addr, error) {
	value := node.Annotations[TransportAddressesAnnotation]
	if strings.TrimSpace(value) == "" {
		return nil, nil
	}
	var addrs []netip.Addr
	for text := range strings.SplitSeq(value, ",") {
		addr, err := netip.ParseAddr(strings.TrimSpace(text))
		if err != nil {
			return nil, inputErrorf("annotation %s of Node %s is %q, want IP addresses separated by commas: %w", TransportAddressesAnnotation, node.Name, value, err)
		}
		addrs = append(addrs, addr.Unmap())
	}
	return addrs, nil
}

// nodeAddresses skips what is no IP address: kubelet writes only addresses here, but cloud providers vary.
func nodeAddresses(node *corev1.Node, kind corev1.NodeAddressType) []netip.Addr {
	var addrs []netip.Addr
	for _, a := range node.Status.Addresses {
		if addr, err := netip.ParseAddr(a.Address); a.Type == kind && err == nil {
			addrs = append(addrs, addr.Unmap())
		}
	}
	return addrs
}
