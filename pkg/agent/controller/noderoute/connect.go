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
	"github.com/antrea-oncache/antrea/pkg/agent/dependency"
	"github.com/antrea-oncache/antrea/pkg/agent/reach"
)

// local is this Node, as the agent found it at its start. It is right regardless of Node objects.
type local struct {
	name string
	// networks are the Pod networks in use, addresses the addresses of the Node.
	networks  []netip.Prefix
	addresses []netip.Addr
	// needed returns what the Node depends on outside of Pod networks; nil for nothing.
	needed func() []dependency.Address
	// pods are the families in use between Pods, uplink the families of this Node's transport addresses.
	pods, uplink families
	// reach returns how the Pods of a network behind a transport address are reached. Nothing else chooses a kind of Reach.
	reach func(cidr netip.Prefix, address netip.Addr) reach.Reach
}

func newLocal(network *config.NetworkConfig, node *config.NodeConfig, transport *subnets) local {
	l := local{
		name:      node.Name,
		addresses: slices.Clone(node.Addresses),
		pods:      families{ipv4: network.IPv4Enabled, ipv6: network.IPv6Enabled},
		uplink:    families{ipv4: node.Uplink.IPv4.IsValid(), ipv6: node.Uplink.IPv6.IsValid()},
		reach:     reachIn(network, transport),
	}
	for _, cidr := range []netip.Prefix{node.PodIPv4CIDR, node.PodIPv6CIDR} {
		if cidr.IsValid() {
			l.networks = append(l.networks, cidr.Masked())
		}
	}
	for _, p := range []netip.Prefix{node.Uplink.IPv4, node.Uplink.IPv6} {
		if p.IsValid() {
			l.addresses = append(l.addresses, p.Addr())
		}
	}
	return l
}

// reachIn returns how peers are reached in the network's traffic mode by a Node with these subnets. As in
// Antrea, hosts of one subnet can reach each other without a router, and routes have the IP version of their next hop.
func reachIn(network *config.NetworkConfig, transport *subnets) func(netip.Prefix, netip.Addr) reach.Reach {
	mode := network.TrafficEncapMode
	return func(cidr netip.Prefix, address netip.Addr) reach.Reach {
		if network.WireGuardPort != 0 {
			return reach.Reach{Kind: reach.WireGuard, Address: address}
		}
		plain := mode == config.TrafficEncapModeNoEncap || mode == config.TrafficEncapModeHybrid
		near := cidr.Addr().Is4() == address.Is4() && slices.ContainsFunc(transport.list(), func(s netip.Prefix) bool { return s.Contains(address) })
		switch {
		case plain && near:
			return reach.Reach{Kind: reach.Direct, Address: address}
		case mode == config.TrafficEncapModeNoEncap:
			return reach.Reach{Kind: reach.Routed, Address: address}
		}
		return reach.ThroughTunnel(address)
	}
}

func (l *local) overlaps(cidr netip.Prefix) bool {
	return slices.ContainsFunc(l.networks, cidr.Overlaps)
}

// takes returns what the Node depends on in the network. A flow collector may be a Pod.
func (l *local) takes(cidr netip.Prefix) (dependency.Address, bool) {
	if l.needed == nil {
		return dependency.Address{}, false
	}
	for _, a := range l.needed() {
		outside := a.Kind == dependency.Host || a.Kind == dependency.Server && (a.Service != "" || a.What == dependency.NameServer)
		if outside && cidr.Contains(a.Addr) {
			return a, true
		}
	}
	return dependency.Address{}, false
}

// peer returns how this Node connects another one: nil if it does not. Each Pod network is decided separately, so that a
// Node with a wrong network of one IP version keeps the other. have are the addresses that the Node's networks lead to now.
// They are kept when the object has no usable address, because they are more likely right than none.
func (l *local) peer(o *object, all *claims, have map[netip.Prefix]netip.Addr) (*Peer, []finding) {
	cidrs, findings := l.podNetworks(o, all)
	peer := &Peer{Name: o.name}
	for _, cidr := range cidrs {
		ip, why := l.transportAddress(o, cidr, all, have[cidr])
		if why != "" {
			findings = append(findings, finding{ReasonNodeAddressInvalid, why})
		}
		if ip.IsValid() {
			peer.Networks = append(peer.Networks, Network{CIDR: cidr, Reach: l.reach(cidr, ip)})
		}
	}
	if len(peer.Networks) == 0 {
		return nil, findings
	}
	return peer, findings
}

// podNetworks returns the Pod networks of another Node that are its own, whether it can be connected or not, and what is wrong with its object.
func (l *local) podNetworks(o *object, all *claims) (cidrs []netip.Prefix, findings []finding) {
	findings = slices.Clone(o.findings)
	for _, cidr := range o.cidrs {
		if lost := lostClaim(cidr, all.verdict(o.name, cidr)); lost != nil {
			findings = append(findings, *lost)
			continue
		}
		if !l.pods.has(cidr.Addr()) || l.overlaps(cidr) {
			continue // an overlap is reported for this Node
		}
		if i := slices.IndexFunc(l.addresses, cidr.Contains); i >= 0 {
			findings = append(findings, finding{ReasonPodCIDRInvalid,
				fmt.Sprintf("Pod CIDR %s contains address %s of Node %s; it must not contain Node addresses", cidr, l.addresses[i], l.name)})
			continue
		}
		if a, found := l.takes(cidr); found {
			findings = append(findings, finding{ReasonPodCIDRInvalid,
				fmt.Sprintf("Pod CIDR %s contains %s, %s, which Node %s depends on; it must not contain it", cidr, a.Addr, a.What, l.name)})
			continue
		}
		cidrs = append(cidrs, cidr)
	}
	return cidrs, findings
}

// lostClaim says why a Pod network does not belong to the Node, nil if it does.
func lostClaim(cidr netip.Prefix, v verdict) *finding {
	switch {
	case v.won:
		return nil
	case len(v.crowd) > 0:
		return &finding{ReasonPodCIDRInvalid, fmt.Sprintf("Pod CIDR %s contains addresses of the Nodes %s; it must not contain Node addresses",
			cidr, strings.Join(v.crowd, " and "))}
	}
	return &finding{ReasonPodCIDROverlaps, fmt.Sprintf("Pod CIDR %s overlaps %s of the older Node %s, want a network of its own",
		cidr, v.byCIDR, v.by)}
}

// transportAddress returns the address to which tunnel packets for a Pod CIDR of the Node are sent. It is an address of the
// CIDR's family, as in Antrea, or else one of the other family if this Node has that as well. The first one in the annotation
// takes precedence, then an internal, then an external address of the Node. why is set when that differs from what the
// object asks for.
func (l *local) transportAddress(o *object, cidr netip.Prefix, all *claims, have netip.Addr) (addr netip.Addr, why string) {
	order := []families{{ipv4: l.uplink.ipv4}, {ipv6: l.uplink.ipv6}}
	if cidr.Addr().Is6() {
		order[0], order[1] = order[1], order[0]
	}
	for _, source := range o.addresses {
		for _, family := range order {
			for _, addr := range source {
				if o.unreadable || !family.has(addr) {
					continue
				}
				wrong := l.unusable(addr, all)
				if wrong == "" {
					return addr, why
				}
				why = wrong
			}
		}
	}
	if why == "" && !o.unreadable {
		why = fmt.Sprintf("no address, neither in annotation %s nor in %s and %s addresses, is one that tunnel packets can be sent to and of a family "+
			"that the transport interface of Node %s has (IPv4: %t, IPv6: %t)",
			TransportAddressesAnnotation, corev1.NodeInternalIP, corev1.NodeExternalIP, l.name, l.uplink.ipv4, l.uplink.ipv6)
	}
	if have.IsValid() && l.unusable(have, all) == "" {
		return have, why
	}
	return netip.Addr{}, why
}

// unusable says why this Node cannot send tunnel packets to an address. Several Nodes with one address are not a reason:
// that happens when a Node is renamed or an address passes to a new Node, and only the wrong one loses packets.
func (l *local) unusable(addr netip.Addr, all *claims) string {
	if slices.Contains(l.addresses, addr) {
		return fmt.Sprintf("address %s belongs to Node %s, want the Node's own", addr, l.name)
	}
	const inside = "address %s is in the Pod network %s of Node %s, want one outside of all Pod networks"
	for _, n := range l.networks {
		if n.Contains(addr) {
			return fmt.Sprintf(inside, addr, n, l.name)
		}
	}
	if networks, names := all.winnersOver(host(addr), ""); len(names) > 0 {
		return fmt.Sprintf(inside, addr, networks[0].CIDR, names[0])
	}
	return ""
}

// own returns what is wrong with this Node. The Node continues in any case: its Pods reach all correct Nodes.
func (l *local) own(o *object, all *claims) []finding {
	var findings []finding
	if o != nil {
		findings = slices.Clone(o.findings)
		for _, cidr := range o.cidrs {
			if lost := lostClaim(cidr, all.verdict(o.name, cidr)); lost != nil {
				lost.text += "; other Nodes send its traffic elsewhere"
				findings = append(findings, *lost)
			}
		}
	}
	for _, n := range l.networks {
		if o != nil && len(o.cidrs) > 0 && !slices.Contains(o.cidrs, n) {
			findings = append(findings, finding{ReasonPodCIDRChanged,
				fmt.Sprintf("its agent uses the Pod CIDR %s, its object has %v: restart the agent", n, o.cidrs)})
		}
		networks, names := all.winnersOver(n, l.name)
		for i, name := range names {
			if i == maxAddresses {
				break
			}
			findings = append(findings, finding{ReasonPodCIDROverlaps,
				fmt.Sprintf("its Pod CIDR %s overlaps %s of Node %s, whose Pods it does not reach, want a network of its own", n, networks[i].CIDR, name)})
		}
	}
	return findings
}
