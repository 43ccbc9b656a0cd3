// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package noderoute

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/dependency"
)

// A Pod network that contains what this Node depends on is not connected, and is as soon as the Node does not depend on it.
func TestPodNetworkWithWhatTheNodeDependsOn(t *testing.T) {
	f := start(t, nil, node("evil", "192.168.0.9", "192.168.1.240/28"), node("node2", "192.168.0.2", "10.10.2.0/24"))
	f.waitSynced()
	f.take()
	address := func(addr string, kind dependency.Kind, what, service string) dependency.Address {
		return dependency.Address{Addr: netip.MustParseAddr(addr), Port: 6443, Kind: kind, What: what, Service: service}
	}
	harmless := []dependency.Address{address("192.168.1.241", dependency.Server, "the flow collector", ""), address("192.168.2.1", dependency.Host, "a next hop", "")}
	for _, needed := range []dependency.Address{
		address("192.168.1.250", dependency.Server, dependency.API, "default/kubernetes"), address("192.168.1.251", dependency.Server, dependency.NameServer, ""),
		address("192.168.1.252", dependency.Host, "a next hop of the Node", ""),
	} {
		f.controller.SetNeeded(append(slices.Clone(harmless), needed))
		f.expect("route- 192.168.1.240/28", "flows- evil")
		require.Eventually(t, func() bool {
			all, _ := f.problems.List()
			return len(all) == 1 && all[0].Reason == ReasonPodCIDRInvalid && strings.Contains(all[0].Message, needed.Addr.String()+", "+needed.What)
		}, time.Minute, time.Millisecond)
		f.controller.SetNeeded(harmless)
		f.expect("flows+ evil map[192.168.1.240/28:192.168.1.241] 192.168.0.9", "route+ 192.168.1.240/28 evil 192.168.0.9 192.168.1.241")
	}
}
