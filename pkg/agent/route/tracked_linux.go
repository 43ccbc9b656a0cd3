// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"fmt"
	"net/netip"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
	"github.com/antrea-oncache/antrea/pkg/agent/prefixindex"
)

// forgetTracked ends what the host's connection tracking knows about connections between local Pods and Pods behind the tunnel: it is of a time when
// the host routed their packets. When it does so again, after another change, they would not fit what it knew, and rules such as kube-proxy's drop
// them as invalid. Connections that it meets in their midst are never invalid. Those that the host translates stay, and so do its own.
func (s *stack) forgetTracked(peers ...netip.Prefix) error {
	var behind prefixindex.Index[struct{}]
	for _, cidr := range peers {
		behind.Set(cidr, struct{}{})
	}
	if behind.Len() == 0 {
		return nil
	}
	isBehind := func(addr netip.Addr) bool {
		for range behind.Overlapping(netip.PrefixFrom(addr, addr.BitLen())) {
			return true
		}
		return false
	}
	isPod := func(addr netip.Addr) bool { return s.podCIDR.Contains(addr) && addr != s.gatewayAddress() }
	err := conntrack.End(conntrack.HostZone, func(c *conntrack.Connection) bool {
		from, to := c.Original.Source, c.Original.Destination
		return c.Reply == c.Original.Reversed() && (isPod(from) && isBehind(to) || isPod(to) && isBehind(from))
	})
	if err != nil {
		return fmt.Errorf("forget connections with Pods behind the tunnel: %w", err)
	}
	return nil
}

// tunnelled returns the networks of peers behind the tunnel. The caller holds mutex.
func (s *stack) tunnelled() (cidrs []netip.Prefix) {
	for cidr, r := range s.peers {
		if !r.plain {
			cidrs = append(cidrs, cidr)
		}
	}
	return cidrs
}
