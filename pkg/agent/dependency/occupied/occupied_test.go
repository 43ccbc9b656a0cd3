// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package occupied

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/dependency"
)

func TestAddresses(t *testing.T) {
	addr := netip.MustParseAddr
	changes := 0
	a := New()
	a.Subscribe(func() { changes++ })
	require.NoError(t, a.Refuse(addr("192.0.2.1")))
	a.SetNeeded([]dependency.Address{{Addr: addr("192.0.2.1"), Kind: dependency.Host, What: "a next hop of the Node"}, {Addr: addr("192.0.2.53"), Port: 53, Kind: dependency.Server, What: dependency.NameServer}})
	require.ErrorContains(t, a.Refuse(addr("192.0.2.1")), "192.0.2.1 is a next hop of the Node; an ExternalIPPool must only contain")
	require.Error(t, a.Refuse(addr("192.0.2.53")), "a server, whatever its port")
	require.Error(t, a.Refuse(addr("169.254.0.253")), "every pipeline has it")
	a.SetNeeded(nil)
	require.NoError(t, a.Refuse(addr("192.0.2.1")))

	set := func(name string) {
		a.SetNode(name, []netip.Addr{addr("192.0.2.7")}, []netip.Prefix{netip.MustParsePrefix("10.10.1.0/24")})
	}
	set("node-1")
	require.ErrorContains(t, a.Refuse(addr("192.0.2.7")), "an address of a Node")
	require.ErrorContains(t, a.Refuse(addr("10.10.1.9")), "in the network of Pods")
	require.Equal(t, 3, changes)
	set("node-1")
	require.Equal(t, 3, changes, "the same")
	set("node-2")
	a.SetNode("node-1", nil, nil)
	require.Error(t, a.Refuse(addr("192.0.2.7")), "another Node has it")
	a.SetNode("node-2", nil, nil)
	require.NoError(t, a.Refuse(addr("192.0.2.7")))
	require.NoError(t, a.Refuse(addr("10.10.1.9")))
	require.Empty(t, a.nodes)
	require.Equal(t, 4, changes)
}
