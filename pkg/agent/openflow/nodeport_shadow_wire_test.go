// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
)

// A Service that has an address which serves NodePorts, and the number of another Service's NodePort as its port, takes no connection to that
// over, whichever is installed first.
func TestNodePortIsNotShadowed(t *testing.T) {
	for _, otherFirst := range []bool{false, true} {
		t.Run(fmt.Sprint("the other Service is first: ", otherFirst), func(t *testing.T) {
			w := newWire(t, false)
			require.NoError(t, w.c.SetNodePortAddresses([]netip.Addr{nodeIP}))
			endpoint := func(addr netip.Addr) Endpoint {
				return Endpoint{Address: netip.AddrPortFrom(addr, 8080), OnThisNode: true, PodNetwork: true}
			}
			ports := []ServicePort{
				with(clusterPort6(endpoint(podB6IP)), named("nodeport6"), at(Frontend{Address: netip.MustParseAddrPort("[::]:30080"), NodePort: true})),
				with(clusterPort(endpoint(podBIP)), named("nodeport"), at(Frontend{Address: netip.MustParseAddrPort("0.0.0.0:30080"), NodePort: true})),
				with(clusterPort6(endpoint(podA6IP)), named("other6"), at(Frontend{Address: netip.AddrPortFrom(config.VirtualNodePortIPv6, 30080), External: true})),
				with(clusterPort(endpoint(podAIP)), named("other"), at(Frontend{Address: netip.AddrPortFrom(nodeIP, 30080), External: true})),
			}
			if otherFirst {
				ports[0], ports[1], ports[2], ports[3] = ports[2], ports[3], ports[0], ports[1]
			}
			for _, p := range ports {
				require.NoError(t, w.c.InstallService(p))
			}
			w.settle()
			for i := range 10 {
				for client, to := range map[string]netip.Addr{"2001:db8::7": config.VirtualNodePortIPv6, "198.51.100.7": nodeIP} {
					from := netip.AddrPortFrom(netip.MustParseAddr(client), uint16(3000+i)).String()
					endpoint := map[bool]string{true: netip.AddrPortFrom(podB6IP, 8080).String(), false: netip.AddrPortFrom(podBIP, 8080).String()}[to.Is6()]
					w.pass(gwPort, segment{from, netip.AddrPortFrom(to, 30080).String(), "S"}, podBPort, segment{from, endpoint, "S"})
				}
			}
		})
	}
}
