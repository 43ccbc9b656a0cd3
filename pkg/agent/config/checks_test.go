// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCheckPodCIDR(t *testing.T) {
	for _, good := range []string{"10.10.1.0/24", "10.10.1.7/24", "10.0.0.0/8", "240.0.1.0/24", "100.64.0.0/16", "10.1.1.0/31", "fd00:10::/64", "2001:db8::/32"} {
		require.NoError(t, CheckPodCIDR(netip.MustParsePrefix(good)), good)
	}
	for bad, want := range map[string]string{
		"0.0.0.0/0": "0 bits", "128.0.0.0/1": "1 bits", "0.0.0.0/8": "no host", "127.0.0.0/24": "loopback", "126.0.0.0/7": "7 bits",
		"169.254.169.0/24": "link-local", "224.0.0.0/24": "multicast", "239.1.0.0/16": "multicast", "255.255.255.0/24": "broadcast",
		"10.10.1.0/32": "32 bits", "::ffff:10.0.0.0/120": "written as", "::/0": "0 bits", "::/96": "unspecified", "fe80:1::/64": "link-local",
		"ff02::/64": "multicast", "fd00::/31": "31 bits", "fd00::1/128": "128 bits",
	} {
		require.ErrorContains(t, CheckPodCIDR(netip.MustParsePrefix(bad)), want, bad)
	}
}

func TestCheckNodeAddress(t *testing.T) {
	for _, good := range []string{"192.168.0.1", "8.8.8.8", "240.0.0.1", "fd00::1", "::ffff:192.168.0.1"} {
		require.NoError(t, CheckNodeAddress(netip.MustParseAddr(good)), good)
	}
	for bad, want := range map[string]string{
		"0.0.0.0": "no host", "0.1.2.3": "no host", "::": "no host", "127.0.0.1": "loopback", "::1": "loopback", "224.0.0.1": "multicast",
		"ff02::1": "multicast", "169.254.0.1": "link-local", "fe80::1%eth0": "link-local", "255.255.255.255": "broadcast",
		"fd00::1%eth0": "zone", "::ffff:0.0.0.0": "no host", "::ffff:127.0.0.1": "loopback",
	} {
		require.ErrorContains(t, CheckNodeAddress(netip.MustParseAddr(bad)), want, bad)
	}
	require.Error(t, CheckNodeAddress(netip.Addr{}))
}
