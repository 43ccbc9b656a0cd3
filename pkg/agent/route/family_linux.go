// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"net"
	"net/netip"

	"github.com/coreos/go-iptables/iptables"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
)

// family is everything in this package that differs between IP versions. All other code takes it as a parameter.
type family struct {
	// name is used in errors and logs.
	name string
	// af is the address family number of netlink and ipset (AF_INET, AF_INET6).
	af int
	// bits is the length of an address.
	bits int
	// protocol selects iptables or ip6tables, restoreProgram and saveProgram its tools for many rules at once.
	protocol                    iptables.Protocol
	restoreProgram, saveProgram string
	// podIPSet is the set of all Pod CIDRs of the cluster, nodeIPSet the set of all addresses that its Nodes may send tunnel packets to.
	podIPSet, nodeIPSet string
	// clusterIPSet is the set of addresses of gateway Nodes of other clusters.
	clusterIPSet string
	// nodePortIPSet is the set of addresses and ports of this Node that serve NodePorts.
	nodePortIPSet string
	// healthPortIPSet is the set of addresses and ports of this Node at which Services answer health checks.
	healthPortIPSet string
	// serviceIPSet is the set of external addresses of Services, with their protocols and ports.
	serviceIPSet string
	// policySetSuffix ends the names of sets of Node policies.
	policySetSuffix string
	// icmp and icmpName are the protocol number of ICMP and its name for iptables, icmpErrors the types and codes of its errors that matter to connections, each as type<<8 | code.
	icmp     uint8
	icmpName string
	// icmpMatch is the name of the match for ICMP types.
	icmpMatch  string
	icmpErrors []uint16
	// virtualService is the next hop of the routes to Services, virtualNodePort the destination that connections to NodePorts get.
	virtualService, virtualNodePort netip.Addr
	// staticNeighbors says that remote gateways need neighbor entries.
	staticNeighbors bool
	// nodeSetting is the kernel setting of the whole Node that Pods need, gatewaySettings the settings of the gateway port, which go with it.
	nodeSetting     setting
	gatewaySettings func(gateway string) []setting
	// serviceSettings are the settings of the gateway port with proxyAll.
	serviceSettings func(gateway string) []setting
}

var familyIPv4 = family{
	name:            "IPv4",
	af:              unix.AF_INET,
	bits:            32,
	protocol:        iptables.ProtocolIPv4,
	restoreProgram:  "iptables-restore",
	saveProgram:     "iptables-save",
	podIPSet:        "ANTREA-POD-IP",
	nodeIPSet:       "ANTREA-NODE-IP",
	clusterIPSet:    "ANTREA-CLUSTER-IP",
	nodePortIPSet:   "ANTREA-NODEPORT-IP",
	healthPortIPSet: "ANTREA-HEALTH-IP",
	serviceIPSet:    "ANTREA-SERVICE-IP",
	policySetSuffix: "-4",
	icmp:            unix.IPPROTO_ICMP,
	icmpName:        "icmp",
	icmpMatch:       "icmp",
	icmpErrors:      []uint16{3 << 8, 3<<8 | 1, 3<<8 | 2, 3<<8 | 3, 3<<8 | 4, 3<<8 | 13, 11 << 8}, // RFC 792, RFC 1812
	virtualService:  config.VirtualServiceIPv4,
	virtualNodePort: config.VirtualNodePortIPv4,
	nodeSetting:     setting{"net/ipv4/ip_forward", "1"},
	gatewaySettings: gatewayIPv4Settings,
	serviceSettings: serviceIPv4Settings,
}

var familyIPv6 = family{
	name:            "IPv6",
	af:              unix.AF_INET6,
	bits:            128,
	protocol:        iptables.ProtocolIPv6,
	restoreProgram:  "ip6tables-restore",
	saveProgram:     "ip6tables-save",
	podIPSet:        "ANTREA-POD-IP6",
	nodeIPSet:       "ANTREA-NODE-IP6",
	clusterIPSet:    "ANTREA-CLUSTER-IP6",
	nodePortIPSet:   "ANTREA-NODEPORT-IP6",
	healthPortIPSet: "ANTREA-HEALTH-IP6",
	serviceIPSet:    "ANTREA-SERVICE-IP6",
	policySetSuffix: "-6",
	icmp:            unix.IPPROTO_ICMPV6,
	icmpName:        "icmpv6",
	icmpMatch:       "icmp6",
	icmpErrors:      []uint16{1 << 8, 1<<8 | 1, 1<<8 | 3, 1<<8 | 4, 2 << 8, 3 << 8}, // RFC 4443
	virtualService:  config.VirtualServiceIPv6,
	virtualNodePort: config.VirtualNodePortIPv6,
	staticNeighbors: true,
	nodeSetting:     setting{"net/ipv6/conf/all/forwarding", "1"},
	gatewaySettings: gatewayIPv6Settings,
	serviceSettings: func(string) []setting { return nil },
}

// has reports whether addr is an address of the family.
func (f family) has(addr netip.Addr) bool {
	return addr.IsValid() && addr.BitLen() == f.bits
}

func toIPNet(prefix netip.Prefix) *net.IPNet {
	addr := prefix.Addr()
	return &net.IPNet{IP: addr.AsSlice(), Mask: net.CIDRMask(prefix.Bits(), addr.BitLen())}
}

// fromIPNet returns the zero Prefix for a network that is not an ordinary prefix.
func fromIPNet(network *net.IPNet) netip.Prefix {
	addr, ok := netip.AddrFromSlice(network.IP)
	if !ok {
		return netip.Prefix{}
	}
	ones, bits := network.Mask.Size()
	addr = addr.Unmap()
	if bits != addr.BitLen() {
		return netip.Prefix{}
	}
	return netip.PrefixFrom(addr, ones)
}
