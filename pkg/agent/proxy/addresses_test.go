// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"net/netip"
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
)

// TestNodePortAddresses: neither the gateway's addresses, which the device that encrypts packets also has, nor the Services' of IPVS serve NodePorts.
func TestNodePortAddresses(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root for network namespaces")
	}
	runtime.LockOSThread() // the runtime discards the thread when the test ends
	ns, err := netns.New()
	require.NoError(t, err)
	defer ns.Close()
	for i, device := range []struct{ name, address string }{
		{"uplink", "192.0.2.1/24"}, {"antrea-gw0", "10.10.0.1/24"}, {"antrea-wg0", "10.10.0.1/32"}, {"kube-ipvs0", "10.96.0.1/32"},
	} {
		peer := string(rune('a' + i))
		link := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: device.name}, PeerName: peer}
		require.NoError(t, netlink.LinkAdd(link))
		address, err := netlink.ParseAddr(device.address)
		require.NoError(t, err)
		require.NoError(t, netlink.AddrAdd(link, address))
	}
	found, err := NodePortAddresses{Gateway: "antrea-gw0"}.List()
	require.NoError(t, err)
	require.Equal(t, []netip.Addr{netip.MustParseAddr("192.0.2.1")}, found)
}
