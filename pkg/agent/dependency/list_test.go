// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package dependency

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

func addr(text string) netip.Addr { return netip.MustParseAddr(text) }

func TestList(t *testing.T) {
	l := NewList()
	vip, other := addr("192.0.2.250"), addr("192.0.2.1")
	api := Address{vip, 6443, Server, API, "default/kubernetes"}
	require.Equal(t, None, l.Needs(vip, 6443).Kind)
	require.Equal(t, Pipeline, l.Needs(addr("fc01::aabb:ccdd:eefe"), 0).Kind)
	require.Equal(t, []netip.Addr{vip}, l.Set("one", []Address{api}))
	require.Empty(t, l.Set("one", []Address{api, api}), "the same")
	require.Empty(t, l.Set("two", []Address{api}), "another source also says so")
	require.Empty(t, l.Set("one", nil))
	require.Equal(t, api, l.Needs(vip, 6443))
	require.Equal(t, api, l.Needs(vip, 0), "any port")
	require.Equal(t, None, l.Needs(vip, 80).Kind)
	require.Equal(t, None, l.NeedsBut(vip, func(p uint16) bool { return p == 6443 }).Kind)
	require.Equal(t, api, l.NeedsNodePort(6443))
	require.Equal(t, None, l.NeedsNodePort(80).Kind)
	require.Equal(t, []netip.Addr{other, vip}, l.Set("two", []Address{{other, 0, Host, "a next hop", ""}}))
	require.Equal(t, Host, l.Needs(other, 80).Kind)

	require.True(t, l.CountNode(vip, 1))
	require.False(t, l.CountNode(vip, 1))
	require.Equal(t, "an address of a Node", l.Needs(vip, 80).What)
	l.Set("two", []Address{api})
	require.Equal(t, Server, l.Needs(vip, 6443).Kind, "what forbids most")
	require.False(t, l.CountNode(vip, -1))
	require.True(t, l.CountNode(vip, -1))
	require.Equal(t, None, l.Needs(vip, 80).Kind)

	network := netip.MustParsePrefix("192.0.2.0/24")
	require.True(t, l.CountNetwork(network, 1))
	require.Equal(t, "in the network of Pods", l.Needs(vip, 80).What)
	require.True(t, l.CountNetwork(network, -1))
	require.Empty(t, l.nodes)
	require.Zero(t, l.networks.Len())
}
