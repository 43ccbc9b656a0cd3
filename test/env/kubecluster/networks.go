// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package kubecluster

import (
	"fmt"
	"net/netip"
)

// nodeBits is the length of the network of all Nodes of all clusters.
const nodeBits = 16

// maxIndex is the last cluster whose networks do not overlap.
const maxIndex = 8

// Networks are the networks and addresses of a cluster.
type Networks struct {
	// Gateway is this host's address on the Nodes' network, which also serves the API. The Nodes have the addresses behind it.
	Gateway netip.Addr
	Pods    netip.Prefix
	// Services is the network of Services, with DNS, the ClusterIP of CoreDNS, and API, the ClusterIP of the API.
	Services netip.Prefix
	DNS, API netip.Addr
}

// NetworksOf returns the networks of the cluster with this index: 172.18.0.1, 10.244.0.0/16 and 10.96.0.0/12 for 0.
func NetworksOf(index int) (n Networks, err error) {
	if index < 0 || index > maxIndex {
		return n, fmt.Errorf("cluster number %d: must be 0 to %d", index, maxIndex)
	}
	i := byte(index)
	services := netip.AddrFrom4([4]byte{10, 96 + 16*i, 0, 0})
	return Networks{
		Gateway: netip.AddrFrom4([4]byte{172, 18, i, 1}), Pods: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 244 + i, 0, 0}), 16),
		Services: netip.PrefixFrom(services, 12), API: services.Next(), DNS: netip.AddrFrom4([4]byte{10, 96 + 16*i, 0, 10}),
	}, nil
}
