// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow_test

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
)

// A Service whose address serves NodePorts, and whose port is the number of another Service's NodePort, does not take connections over
// from that NodePort, in either order of installation.
func TestNodePortIsNotShadowed(t *testing.T) {
	for _, otherFirst := range []bool{false, true} {
		t.Run(fmt.Sprint("the other Service is first: ", otherFirst), func(t *testing.T) {
			w := newWire(t, false)
			require.NoError(t, w.C.SetNodePortAddresses([]netip.Addr{oftest.NodeIP}))
			endpoint := func(addr netip.Addr) openflow.Endpoint {
				return openflow.Endpoint{Address: netip.AddrPortFrom(addr, 8080), OnThisNode: true, PodNetwork: true}
			}
			ports := []openflow.ServicePort{
				oftest.With(oftest.ClusterPort6(endpoint(oftest.PodB6IP)), oftest.Named("nodeport6"), oftest.At(openflow.Frontend{Address: netip.MustParseAddrPort("[::]:30080"), NodePort: true})),
				oftest.With(oftest.ClusterPort(endpoint(oftest.PodBIP)), oftest.Named("nodeport"), oftest.At(openflow.Frontend{Address: netip.MustParseAddrPort("0.0.0.0:30080"), NodePort: true})),
				oftest.With(oftest.ClusterPort6(endpoint(oftest.PodA6IP)), oftest.Named("other6"), oftest.At(openflow.Frontend{Address: netip.AddrPortFrom(config.VirtualNodePortIPv6, 30080), External: true})),
				oftest.With(oftest.ClusterPort(endpoint(oftest.PodAIP)), oftest.Named("other"), oftest.At(openflow.Frontend{Address: netip.AddrPortFrom(oftest.NodeIP, 30080), External: true})),
			}
			if otherFirst {
				ports[0], ports[1], ports[2], ports[3] = ports[2], ports[3], ports[0], ports[1]
			}
			for _, p := range ports {
				require.NoError(t, w.C.InstallService(p))
			}
			w.settle()
			for i := range 10 {
				for client, to := range map[string]netip.Addr{"2001:db8::7": config.VirtualNodePortIPv6, "198.51.100.7": oftest.NodeIP} {
					from := netip.AddrPortFrom(netip.MustParseAddr(client), uint16(3000+i)).String()
					endpoint := map[bool]string{true: netip.AddrPortFrom(oftest.PodB6IP, 8080).String(), false: netip.AddrPortFrom(oftest.PodBIP, 8080).String()}[to.Is6()]
					w.pass(oftest.GWPort, segment{from, netip.AddrPortFrom(to, 30080).String(), "S"}, oftest.PodBPort, segment{from, endpoint, "S"})
				}
			}
		})
	}
}
