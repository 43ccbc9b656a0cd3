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
	// podIPSet is the set of all Pod CIDRs of the cluster, nodeIPSet that of all addresses that its Nodes may send tunnel packets to.
	podIPSet, nodeIPSet string
	// nodePortIPSet is the set of addresses and ports of this Node that serve NodePorts.
	nodePortIPSet string
	// healthPortIPSet is the set of addresses and ports of this Node at which Services answer health checks.
	healthPortIPSet string
	// virtualService is the next hop of the routes to Services, virtualNodePort the destination that connections to NodePorts get.
	virtualService, virtualNodePort netip.Addr
	// staticNeighbors says that remote gateways need neighbor entries.
	staticNeighbors bool
	// nodeSetting is the kernel setting of the whole Node that Pods need, gatewaySettings those of the gateway port, which go with it.
	nodeSetting     setting
	gatewaySettings func(gateway string) []setting
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
	nodePortIPSet:   "ANTREA-NODEPORT-IP",
	healthPortIPSet: "ANTREA-HEALTH-IP",
	virtualService:  config.VirtualServiceIPv4,
	virtualNodePort: config.VirtualNodePortIPv4,
	nodeSetting:     setting{"net/ipv4/ip_forward", "1"},
	gatewaySettings: gatewayIPv4Settings,
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
	nodePortIPSet:   "ANTREA-NODEPORT-IP6",
	healthPortIPSet: "ANTREA-HEALTH-IP6",
	virtualService:  config.VirtualServiceIPv6,
	virtualNodePort: config.VirtualNodePortIPv6,
	staticNeighbors: true,
	nodeSetting:     setting{"net/ipv6/conf/all/forwarding", "1"},
	gatewaySettings: gatewayIPv6Settings,
}

// has says whether addr is an address of the family.
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
