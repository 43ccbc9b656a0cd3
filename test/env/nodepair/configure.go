// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepair

import (
	"fmt"
	"strings"
)

// configure gives a Node its devices and routes. Neighbor entries are permanent and there are no link-local addresses, so the
// only traffic is the user's.
func (p *Pair) configure(n, peer *Node) error {
	bits := "24"
	if p.Outer6 {
		bits = "64"
	}
	words := strings.NewReplacer("NODE_BITS", bits, "PEER_MAC", peer.UplinkMAC.String(), "PEER_IP", peer.Transport.String(), "NODE_IP", n.Transport.String())
	if err := Run(n.Host, words.Replace(`
		echo 1 >/proc/sys/net/ipv6/conf/default/addr_gen_mode
		echo 1 >/proc/sys/net/ipv6/conf/up0/addr_gen_mode
		ip link set up0 up
		ip addr add NODE_IP/NODE_BITS dev up0 nodad
		ip neigh replace PEER_IP lladdr PEER_MAC dev up0 nud permanent
		ip route add PEER_IP dev up0`)); err != nil || p.Bare {
		return err
	}
	configureRoutes := p.configureOverlay
	if p.Direct {
		configureRoutes = p.configureDirect
	}
	if err := configureRoutes(n, peer); err != nil {
		return err
	}
	return configurePod(n)
}

// forwarding makes a Node a router.
const forwarding = `
		echo 1 >/proc/sys/net/ipv4/ip_forward
		echo 1 >/proc/sys/net/ipv6/conf/all/forwarding
		echo 0 >/proc/sys/net/ipv4/conf/all/send_redirects`

// podDevice makes the Pod's veth pair.
const podDevice = `
		ip link add h0 address GATEWAY_MAC mtu MTU type veth peer name eth0 address POD_MAC mtu MTU netns POD_NS
		ip link set h0 up
		ip neigh replace POD_IP lladdr POD_MAC dev h0 nud permanent`

func (p *Pair) configureOverlay(n, peer *Node) error {
	options := "noudpcsum df set"
	if p.Outer6 {
		options = "udp6zerocsumtx udp6zerocsumrx"
	}
	words := strings.NewReplacer(
		"GATEWAY_MAC", n.Gateway.String(), "POD_MAC", n.PodMAC.String(), "POD_NS", fmt.Sprint(n.Pod.ID()), "POD_IP", n.PodIP.String(),
		"PEER_NETWORK", peer.PodNetwork.String(), "PEER_GATEWAY", peer.PodNetwork.Addr().Next().String(), "PEER_IP", peer.Transport.String(),
		"NODE_IP", n.Transport.String(), "OPTIONS", options, "PEER_TUNNEL_MAC", peer.TunnelMAC.String(), "TUNNEL_MAC", n.TunnelMAC.String(),
		"PORT", fmt.Sprint(TunnelPort), "MTU", fmt.Sprint(p.PodMTU()),
	)
	return Run(n.Host, words.Replace(forwarding+podDevice+`
		ip link add vx0 address TUNNEL_MAC mtu MTU type vxlan id 0 local NODE_IP remote PEER_IP dstport PORT nolearning OPTIONS
		ip link set vx0 up
		ip route add POD_IP dev h0
		ip route add PEER_NETWORK via PEER_GATEWAY dev vx0 onlink
		ip neigh replace PEER_GATEWAY lladdr PEER_TUNNEL_MAC dev vx0 nud permanent`))
}

// gateway is the address that a Pod sends to.
func (n *Node) gateway() string { return n.PodNetwork.Addr().Next().String() }

func configurePod(n *Node) error {
	words := strings.NewReplacer("GATEWAY_MAC", n.Gateway.String(), "POD_IP", n.PodIP.String(), "ONLINK_GATEWAY", n.gateway())
	return Run(n.Pod, words.Replace(`
		echo 1 >/proc/sys/net/ipv6/conf/default/addr_gen_mode
		echo 1 >/proc/sys/net/ipv6/conf/eth0/addr_gen_mode
		ip link set eth0 up
		ip addr add POD_IP dev eth0 nodad
		ip neigh replace ONLINK_GATEWAY lladdr GATEWAY_MAC dev eth0 nud permanent
		ip route add default via ONLINK_GATEWAY dev eth0 onlink`))
}
