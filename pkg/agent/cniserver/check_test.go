// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cniserver

import (
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	current "github.com/containernetworking/cni/pkg/types/100"
	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"

	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	cnipb "github.com/antrea-oncache/antrea/pkg/apis/cni/v1beta1"
)

func TestCheck(t *testing.T) {
	inPod := func(f func(t *testing.T, link netlink.Link)) func(*harness, *pod, *current.Result) {
		return func(h *harness, p *pod, _ *current.Result) {
			inNetNS(h.t, p.netns, func() {
				link, err := netlink.LinkByName("eth0")
				require.NoError(h.t, err)
				f(h.t, link)
			})
		}
	}
	const check, ipam = cnipb.ErrorCode_CHECK_INTERFACE_FAILURE, cnipb.ErrorCode_IPAM_FAILURE
	tests := []struct {
		name    string
		damage  func(*harness, *pod, *current.Result)
		code    cnipb.ErrorCode // 0 when CHECK succeeds
		message string
	}{
		{"unchanged", func(*harness, *pod, *current.Result) {}, 0, ""},
		{"second address in the Pod", inPod(func(t *testing.T, link netlink.Link) {
			require.NoError(t, netlink.AddrAdd(link, &netlink.Addr{IPNet: ipNet(netip.MustParsePrefix("192.0.2.1/32"))}))
		}), 0, ""},
		{"address removed", inPod(func(t *testing.T, link netlink.Link) {
			require.NoError(t, netlink.AddrDel(link, &netlink.Addr{IPNet: ipNet(netip.MustParsePrefix("10.10.1.2/24"))}))
		}), check, "does not have the address 10.10.1.2"},
		{"default route removed", inPod(func(t *testing.T, link netlink.Link) {
			require.NoError(t, netlink.RouteDel(&netlink.Route{Dst: ipNet(netip.MustParsePrefix("0.0.0.0/0"))}))
		}), check, "no default route via 10.10.1.1"},
		{"MAC address changed", inPod(func(t *testing.T, link netlink.Link) {
			require.NoError(t, netlink.LinkSetHardwareAddr(link, net.HardwareAddr{2, 0, 0, 0, 0, 1}))
		}), check, "has MAC address 02:00:00:00:00:01"},
		{"container side down", inPod(func(t *testing.T, link netlink.Link) {
			require.NoError(t, netlink.LinkSetDown(link))
		}), check, "container interface eth0 is down"},
		{"container side renamed", inPod(func(t *testing.T, link netlink.Link) {
			require.NoError(t, netlink.LinkSetDown(link))
			require.NoError(t, netlink.LinkSetName(link, "eth9"))
		}), check, "find container interface eth0"},
		{"container side replaced", inPod(func(t *testing.T, link netlink.Link) {
			require.NoError(t, netlink.LinkSetDown(link))
			require.NoError(t, netlink.LinkSetName(link, "eth9"))
			require.NoError(t, netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "eth0"}, PeerName: "other"}))
		}), check, "is not the other side of host interface"},
		{"host side down", func(h *harness, p *pod, _ *current.Result) {
			link, err := netlink.LinkByName(p.hostInterface())
			require.NoError(h.t, err)
			require.NoError(h.t, netlink.LinkSetDown(link))
		}, check, "is down"},
		{"veth pair gone", func(h *harness, p *pod, _ *current.Result) {
			require.NoError(h.t, deleteHostLink(p.hostInterface()))
		}, check, "find host interface"},
		{"OVS port gone", func(h *harness, p *pod, _ *current.Result) {
			require.NoError(h.t, h.ports.Fake.DeletePort(p.hostInterface()))
		}, check, "does not exist"},
		{"OVS port made again", func(h *harness, p *pod, _ *current.Result) {
			require.NoError(h.t, h.ports.Fake.DeletePort(p.hostInterface()))
			_, err := h.ports.Fake.CreatePort(p.hostInterface(), nil)
			require.NoError(h.t, err)
		}, check, "has OpenFlow port 2, want 1"},
		{"OVS port of another container", func(h *harness, p *pod, _ *current.Result) {
			require.NoError(h.t, h.ports.SetPortExternalIDs(p.hostInterface(), map[string]string{"container-id": "x"}))
		}, check, `is of container "x"`},
		{"unknown to the store", func(h *harness, p *pod, _ *current.Result) {
			h.store.DeleteInterface(&interfacestore.InterfaceConfig{InterfaceName: p.hostInterface()})
		}, check, "has no interface eth0"},
		{"lease gone", func(h *harness, p *pod, _ *current.Result) {
			require.NoError(h.t, os.Remove(filepath.Join(h.leases, "10.10.1.2")))
		}, ipam, "Failed to find address"},
		{"prevResult with another MAC address", func(_ *harness, _ *pod, r *current.Result) {
			r.Interfaces[1].Mac = "02:00:00:00:00:01"
		}, check, "prevResult has MAC address"},
		{"prevResult with another address", func(_ *harness, _ *pod, r *current.Result) {
			r.IPs[0].Address.IP = net.IPv4(10, 10, 1, 99)
		}, check, "prevResult does not have the address"},
		{"prevResult without the container side", func(_ *harness, _ *pod, r *current.Result) {
			r.Interfaces[1].Sandbox = "/x"
		}, check, "prevResult has no interface eth0"},
		{"prevResult without the host side", func(_ *harness, _ *pod, r *current.Result) {
			r.Interfaces[0].Name = "x"
		}, check, "prevResult does not have the host interface"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newReadyHarness(t)
			p := h.newPod("web")
			result := h.mustAdd(p)
			tt.damage(h, p, result)
			p.conf = map[string]any{"prevResult": result}
			response, err := h.server.CmdCheck(t.Context(), h.request(p))
			require.NoError(t, err)
			require.Equal(t, tt.code, response.GetError().GetCode())
			require.Contains(t, response.GetError().GetMessage(), tt.message)
		})
	}
}
