// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cniserver

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
)

func withNetkit(c *Config) { c.PodInterfaceType = config.PodInterfaceNetkit }

// requireNetkit skips a test on kernels without netkit; `make test-kernels` runs it on one that has it.
func requireNetkit(t *testing.T) {
	t.Helper()
	requireNamespaces(t)
	if err := probeNetkit(); err != nil {
		t.Skip(err)
	}
}

func TestNetkitAddCheckDel(t *testing.T) {
	requireNetkit(t)
	h := newReadyHarness(t, withNetkit)
	p := h.newPod("web")
	result := h.mustAdd(p)

	host, err := netlink.LinkByName(p.hostInterface())
	require.NoError(t, err)
	require.Equal(t, "netkit", host.Type())
	require.Equal(t, 1450, host.Attrs().MTU)
	require.NoError(t, verifyNetkit(host.(*netlink.Netkit)))
	inNetNS(t, p.netns, func() {
		eth0, err := netlink.LinkByName("eth0")
		require.NoError(t, err)
		require.Equal(t, "netkit", eth0.Type())
		require.False(t, eth0.(*netlink.Netkit).IsPrimary(), "programs could be removed from inside")
		require.Equal(t, host.Attrs().Index, eth0.Attrs().ParentIndex)
		require.Equal(t, 1450, eth0.Attrs().MTU)
		require.Equal(t, net.FlagUp, eth0.Attrs().Flags&net.FlagUp)
		require.Equal(t, result.Interfaces[len(result.Interfaces)-1].Mac, eth0.Attrs().HardwareAddr.String())
	})

	again := h.mustAdd(p)
	require.Equal(t, result, again, "a repeated ADD finds everything in place")
	p.conf = map[string]any{"prevResult": result}
	check := func() string {
		response, err := h.server.CmdCheck(t.Context(), h.request(p))
		require.NoError(t, err)
		return response.Error.GetMessage()
	}
	require.Empty(t, check())
	h.server.cfg.PodInterfaceType = config.PodInterfaceVeth
	require.Empty(t, check(), "the configuration has changed, the Pod keeps what it has")

	require.NoError(t, netlink.LinkSetDown(host))
	require.Contains(t, check(), "is down")
	h.mustDel(p)
	h.requireNothing(p)
}

func TestNetkitThatForwardsMarks(t *testing.T) {
	requireNetkit(t)
	h := newReadyHarness(t, withNetkit)
	p := h.newPod("web")
	result := h.mustAdd(p)
	host, err := netlink.LinkByName(p.hostInterface())
	require.NoError(t, err)
	if !host.(*netlink.Netkit).SupportsScrub() {
		t.Skip("this kernel always scrubs")
	}
	index := host.Attrs().Index
	require.NoError(t, netlink.LinkDel(host))
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.Index = p.hostInterface(), index
	unscrubbed := &netlink.Netkit{LinkAttrs: attrs, PeerScrub: netlink.NETKIT_SCRUB_NONE, Scrub: netlink.NETKIT_SCRUB_DEFAULT}
	require.NoError(t, netlink.LinkAdd(unscrubbed))
	require.NoError(t, setHostSideUp(attrs.Name))
	p.conf = map[string]any{"prevResult": result}
	response, err := h.server.CmdCheck(t.Context(), h.request(p))
	require.NoError(t, err)
	require.Contains(t, response.Error.GetMessage(), "passes marks on")
}

// TestNetkitFailureLeavesNothing: an address that cannot be set ends an ADD after the pair was made.
func TestNetkitFailureLeavesNothing(t *testing.T) {
	requireNetkit(t)
	h := newReadyHarness(t, withNetkit)
	p := h.newPod("web")
	h.ports.PortErrors = map[string]string{p.hostInterface(): "no such device"}
	require.NotZero(t, h.addError(p).Code)
	h.requireNothing(p)
}

func TestNetkitNeedsItsKernel(t *testing.T) {
	requireNamespaces(t)
	if probeNetkit() == nil {
		t.Skip("this kernel has netkit")
	}
	_, err := New(Config{
		Socket: "unused", PodInterfaceType: config.PodInterfaceNetkit, Node: newHarness(t).server.cfg.Node,
	}, nil, nil, nil, nil)
	require.ErrorContains(t, err, `podInterfaceType: "netkit" needs a kernel with netkit (Linux 6.7, CONFIG_NETKIT), and this is `)
	require.ErrorContains(t, err, kernelRelease())
	require.ErrorContains(t, err, `use "veth"`)
}
