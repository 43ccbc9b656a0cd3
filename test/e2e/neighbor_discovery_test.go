// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// testNeighborDiscovery checks that Pods find their gateway and each other, and that no Pod can impersonate another one.
// The tests of package cniserver check the effects of single messages.
func testNeighborDiscovery(t *testing.T, s *suite) {
	gateway := s.node1.PodCIDRs[len(s.node1.PodCIDRs)-1].Addr().Next().String()
	gatewayMAC := macOf(t, s.node1.Space, "antrea-gw0")
	forget := func() { succeeds(t, s.client.Space, "ip", "-6", "neigh", "flush", "dev", "eth0") }
	neighborMAC := func(address string) error {
		out := succeeds(t, s.client.Space, "ip", "-6", "neigh", "show", address, "dev", "eth0")
		if !strings.Contains(out, "lladdr "+gatewayMAC) {
			return fmt.Errorf("%s: %q, want %s", address, out, gatewayMAC)
		}
		return nil
	}
	t.Run("AddressesAreUsableAtOnce", func(t *testing.T) {
		require.NotContains(t, succeeds(t, s.client.Space, "ip", "-6", "addr", "show", "dev", "eth0"), "tentative")
	})
	t.Run("GatewayIsFound", func(t *testing.T) {
		forget()
		pingICMP(t, s.client.Space, s.server.IP)
		eventually(t, "the gateway to be a neighbor", func() error { return neighborMAC(gateway) })
	})
	t.Run("PodWithTheGatewaysAddressIsNotBelieved", func(t *testing.T) {
		succeeds(t, s.neighbor.Space, "ip", "addr", "add", gateway+"/128", "dev", "eth0", "nodad")
		defer succeeds(t, s.neighbor.Space, "ip", "addr", "del", gateway+"/128", "dev", "eth0")
		for range 3 {
			forget()
			pingICMP(t, s.client.Space, s.server.IP)
			eventually(t, "the gateway to be a neighbor", func() error { return neighborMAC(gateway) })
		}
	})
	t.Run("RouterAdvertisementsAreIgnored", func(t *testing.T) {
		value, err := s.client.ReadFile("/proc/sys/net/ipv6/conf/eth0/accept_ra")
		require.NoError(t, err)
		require.Equal(t, "0", strings.TrimSpace(string(value)))
	})
}
