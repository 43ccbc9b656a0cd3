// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepair

import (
	"fmt"
	"strings"
)

// configureDirect makes a Node whose packets pass two routers, as without a tunnel: one in the place of Open vSwitch, between the Pod and
// the gateway's veth pair, and the host, between that pair and the wire. Both are in one namespace, because marks and skb->tc_index do not
// pass the border of a namespace. The first has a routing table of its own, and a conntrack zone. Like Open vSwitch, it counts no hop on
// the way to the Pod.
func (p *Pair) configureDirect(n, peer *Node) error {
	family, increment := "-4", "TTL --ttl-inc 1"
	if p.Inner6 {
		family, increment = "-6", "HL --hl-inc 1"
	}
	words := strings.NewReplacer(
		"GATEWAY_MAC", n.Gateway.String(), "POD_MAC", n.PodMAC.String(), "POD_NS", fmt.Sprint(n.Pod.ID()), "POD_IP", n.PodIP.String(),
		"PEER_NETWORK", peer.PodNetwork.String(), "PEER_IP", peer.Transport.String(), "HOST_MAC", n.TunnelMAC.String(), "HOST_IP", n.gateway(),
		"MTU", fmt.Sprint(p.PodMTU()), "FAMILY", family, "FIREWALL", Firewall(p.Inner6), "ZONE", fmt.Sprint(p.PodZone()), "INCREMENT", increment,
	)
	return Run(n.Host, words.Replace(`
		for device in all default up0; do
			echo 0 >/proc/sys/net/ipv4/conf/$device/rp_filter
		done`+forwarding+podDevice+`
		ip link add gw0 address HOST_MAC type veth peer name gw0p address POD_MAC
		ip link set gw0 up
		ip link set gw0p up
		ip FAMILY rule add iif h0 lookup 7
		ip FAMILY rule add iif gw0p lookup 7
		ip route add PEER_NETWORK via HOST_IP dev gw0p onlink table 7
		ip route add POD_IP dev h0 table 7
		ip neigh replace HOST_IP lladdr HOST_MAC dev gw0p nud permanent
		ip route add PEER_NETWORK via PEER_IP dev up0
		ip route add POD_IP dev gw0
		ip neigh replace POD_IP lladdr POD_MAC dev gw0 nud permanent
		FIREWALL -w -t raw -A PREROUTING -i h0 -j CT --zone ZONE
		FIREWALL -w -t raw -A PREROUTING -i gw0p -j CT --zone ZONE
		FIREWALL -w -t mangle -A PREROUTING -i gw0p -j INCREMENT`))
}
