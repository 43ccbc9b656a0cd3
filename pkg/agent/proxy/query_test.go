// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"net/netip"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
)

// Frontends are found by address and by Service, with the Endpoints that Pods get.
func TestFrontends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := netip.MustParseAddr("192.168.0.1")
		service := testService("web", "10.96.0.1", "a:80 b:81", externalLocal, nodePorts("30080 30081"))
		service.Spec.ExternalIPs = []string{"1.2.3.4"}
		c := startProxyAll(t, &fakeHost{addresses: []netip.Addr{node}}, &lockedSwitch{fakeSwitch: newFakeSwitch(t)}, service,
			testSlice("web-1", "web", "a:8080 b:8081", there, here), testNode(otherNode, "", "10.0.2.0/24"))
		remote := []openflow.Endpoint{{Address: netip.MustParseAddrPort("10.0.2.1:8080"), PodNetwork: true}}
		for address, nodePort := range map[string]bool{"10.96.0.1:80": false, "1.2.3.4:80": false, "192.168.0.1:30080": true} {
			f, ok := c.FrontendAt(corev1.ProtocolTCP, netip.MustParseAddrPort(address))
			require.True(t, ok, address)
			require.Equal(t, "ns/web", f.Service, address)
			require.Equal(t, address, f.Address.String())
			require.Equal(t, nodePort, f.NodePort, address)
			require.Contains(t, f.Endpoints, remote[0], address)
		}
		for _, address := range []string{"10.96.0.1:82", "10.96.0.2:80", "192.168.0.2:30080", "192.168.0.1:80"} {
			_, ok := c.FrontendAt(corev1.ProtocolTCP, netip.MustParseAddrPort(address))
			require.False(t, ok, address)
		}
		_, ok := c.FrontendAt(corev1.ProtocolUDP, netip.MustParseAddrPort("10.96.0.1:80"))
		require.False(t, ok)

		var addresses []string
		for _, f := range c.FrontendsOf("ns", "web") {
			addresses = append(addresses, f.Address.String())
		}
		require.Equal(t, []string{"10.96.0.1:80", "1.2.3.4:80", "10.96.0.1:81", "1.2.3.4:81"}, addresses, "no NodePorts")
		require.Empty(t, c.FrontendsOf("ns", "absent"))
	})
}

// TestFrontendWithoutLocalEndpoint: whoever asks learns whether connections are dropped or rejected.
func TestFrontendWithoutLocalEndpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startProxyAll(t, &fakeHost{}, &lockedSwitch{fakeSwitch: newFakeSwitch(t)}, testService("web", "10.96.0.1", "a:80", internalLocal),
			testService("none", "10.96.0.2", "a:80", internalLocal), testSlice("web-1", "web", "a:8080", there), testNode(otherNode, "", "10.0.2.0/24"))
		for address, elsewhere := range map[string]bool{"10.96.0.1:80": true, "10.96.0.2:80": false} {
			f, ok := c.FrontendAt(corev1.ProtocolTCP, netip.MustParseAddrPort(address))
			require.True(t, ok, address)
			require.Empty(t, f.Endpoints, address)
			require.Equal(t, elsewhere, f.Elsewhere, address)
		}
	})
}
