// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cniserver

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"

	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	cnipb "github.com/antrea-oncache/antrea/pkg/apis/cni/v1beta1"
)

func TestDel(t *testing.T) {
	forget := func(h *harness, p *pod) {
		h.store.DeleteInterface(&interfacestore.InterfaceConfig{InterfaceName: p.hostInterface()})
	}
	tests := []struct {
		name   string
		before func(*harness, *pod)
	}{
		{"everything in place", func(h *harness, p *pod) {}},
		{"network namespace gone", func(h *harness, p *pod) {
			deleteNetNS(h.t, p.netns)
			eventually(h.t, func() bool {
				_, err := netlink.LinkByName(p.hostInterface())
				return err != nil
			}, "the kernel deletes the pair with the namespace")
		}},
		{"network namespace not given", func(h *harness, p *pod) { p.netns = "" }},
		{"veth pair gone", func(h *harness, p *pod) { require.NoError(h.t, deleteHostLink(p.hostInterface())) }},
		{"OVS port gone", func(h *harness, p *pod) { require.NoError(h.t, h.ports.Fake.DeletePort(p.hostInterface())) }},
		{"flows gone", func(h *harness, p *pod) {
			require.NoError(h.t, h.flows.UninstallPodFlows(h.t.Context(), p.hostInterface()))
		}},
		{"lease gone", func(h *harness, p *pod) { require.NoError(h.t, os.Remove(filepath.Join(h.leases, "10.10.1.2"))) }},
		{"unknown to the store", forget},
		{"only the veth pair left", func(h *harness, p *pod) {
			forget(h, p)
			require.NoError(h.t, h.flows.UninstallPodFlows(h.t.Context(), p.hostInterface()))
			require.NoError(h.t, h.ports.Fake.DeletePort(p.hostInterface()))
			require.NoError(h.t, h.server.releaseLeases(p.containerID, p.ifname))
		}},
		{"network not ready", func(h *harness, p *pod) { h.server.networkReady = nil }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newReadyHarness(t)
			p := h.newPod("web")
			other := h.newPod("other")
			h.mustAdd(p)
			h.mustAdd(other)
			tt.before(h, p)
			for range 2 {
				h.mustDel(p)
				h.requireNothing(p)
			}
			require.Len(t, h.flows.all(), 1, "the other Pod stays connected")
			require.Len(t, h.leaseOwners(), 1)
			_, err := netlink.LinkByName(other.hostInterface())
			require.NoError(t, err)
		})
	}
}

func TestDelWithoutPodName(t *testing.T) {
	h := newReadyHarness(t)
	p := h.newPod("web")
	h.mustAdd(p)
	request := h.request(p)
	request.Args = ""
	for range 2 {
		response, err := h.server.CmdDel(t.Context(), request)
		require.NoError(t, err)
		require.Nil(t, response.Error)
		h.requireNothing(p)
	}
}

func TestDelOfUnknownContainer(t *testing.T) {
	h := newReadyHarness(t)
	p := h.newPod("web")
	h.mustDel(p)
	h.requireNothing(p)
}

// An OpenFlow port number or an address must not become free while something still refers to it.
func TestDelOrder(t *testing.T) {
	h := newReadyHarness(t)
	p := h.newPod("web")
	h.mustAdd(p)
	name := p.hostInterface()
	type state struct {
		step                string
		port, veth, address bool
	}
	var got []state
	record := func(step string) {
		_, port, err := h.ports.Fake.GetPort(name)
		require.NoError(t, err)
		_, vethErr := netlink.LinkByName(name)
		got = append(got, state{step, port, vethErr == nil, len(h.leaseOwners()) == 1})
	}
	h.flows.before = func(operation, _ string) { record(operation) }
	h.ports.before = func(operation, _ string) {
		if operation == "DeletePort" {
			record(operation)
		}
	}
	h.store.Subscribe(func(e interfacestore.Event) {
		if e.Deleted != nil {
			record("DeleteInterface")
		}
	})
	h.mustDel(p)
	require.Equal(t, []state{
		{"UninstallPodFlows", true, true, true},
		{"DeletePort", true, true, true},
		{"DeleteInterface", false, true, true},
	}, got)
	h.requireNothing(p)
}

func TestDelFailureKeepsTheAddress(t *testing.T) {
	boom := errors.New("boom")
	tests := []struct {
		name   string
		fail   func(*harness)
		repair func(*harness)
		code   cnipb.ErrorCode
	}{
		{
			"flows",
			func(h *harness) { h.flows.set(func(f *fakeFlows) { f.uninstallErr = boom }) },
			func(h *harness) { h.flows.set(func(f *fakeFlows) { f.uninstallErr = nil }) },
			cnipb.ErrorCode_CONFIG_INTERFACE_FAILURE,
		},
		{
			"OVS port",
			func(h *harness) { h.ports.fail("DeletePort", boom) },
			func(h *harness) { h.ports.fail("DeletePort", nil) },
			cnipb.ErrorCode_CONFIG_INTERFACE_FAILURE,
		},
		{
			"IPAM plugin missing",
			func(h *harness) { h.plugins += "-absent" },
			func(h *harness) { h.plugins = pluginDir(h.t) },
			cnipb.ErrorCode_IPAM_FAILURE,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newReadyHarness(t)
			p := h.newPod("web")
			h.mustAdd(p)
			tt.fail(h)
			response, err := h.server.CmdDel(t.Context(), h.request(p))
			require.NoError(t, err)
			require.Equal(t, tt.code, response.Error.GetCode())
			require.Len(t, h.leaseOwners(), 1)
			tt.repair(h)
			h.mustDel(p)
			h.requireNothing(p)
		})
	}
}

func TestAddFailureLeavesNothing(t *testing.T) {
	boom := errors.New("boom")
	ofPortError := func(h *harness, p *pod) { h.ports.PortErrors = map[string]string{p.hostInterface(): "no such device"} }
	tests := []struct {
		name    string
		fail    func(*harness, *pod)
		code    cnipb.ErrorCode
		message string
	}{
		{"IPAM plugin missing", func(h *harness, p *pod) { h.plugins += "-absent" }, cnipb.ErrorCode_IPAM_FAILURE, "host-local"},
		{"addresses exhausted", func(h *harness, p *pod) {
			// A /30 has two addresses, one of which is the gateway's.
			h.server.ipam.podCIDRs[0] = netip.MustParsePrefix("10.10.1.0/30")
			h.mustAdd(h.newPod("first"))
		}, cnipb.ErrorCode_IPAM_FAILURE, "no IP addresses available"},
		{"look-up of the OVS port", func(h *harness, p *pod) { h.ports.fail("GetPort", boom) }, cnipb.ErrorCode_CONFIG_INTERFACE_FAILURE, "boom"},
		{"MTU that the kernel refuses", func(h *harness, p *pod) { h.server.cfg.Node.MTU = 10 }, cnipb.ErrorCode_CONFIG_INTERFACE_FAILURE, "create veth pair"},
		{"second default route", func(h *harness, p *pod) {
			inNetNS(h.t, p.netns, func() {
				lo, err := netlink.LinkByName("lo")
				require.NoError(h.t, err)
				require.NoError(h.t, netlink.RouteAdd(&netlink.Route{LinkIndex: lo.Attrs().Index, Dst: ipNet(netip.MustParsePrefix("0.0.0.0/0"))}))
			})
		}, cnipb.ErrorCode_CONFIG_INTERFACE_FAILURE, "add default route via 10.10.1.1"},
		{"OVS port", func(h *harness, p *pod) { h.ports.fail("CreatePort", boom) }, cnipb.ErrorCode_CONFIG_INTERFACE_FAILURE, "create OVS port"},
		{"OpenFlow port", ofPortError, cnipb.ErrorCode_CONFIG_INTERFACE_FAILURE, "no such device"},
		{"flows", func(h *harness, p *pod) { h.flows.set(func(f *fakeFlows) { f.installErr = boom }) }, cnipb.ErrorCode_CONFIG_INTERFACE_FAILURE, "install flows"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newReadyHarness(t)
			p := h.newPod("web")
			tt.fail(h, p)
			e := h.addError(p)
			require.Equal(t, tt.code, e.Code)
			require.Contains(t, e.Message, tt.message)
			h.ports.fail("GetPort", nil)
			h.requireNothing(p)
			h.plugins = pluginDir(t)
			h.mustDel(p)
			h.requireNothing(p)
		})
	}
}

func TestAddFailsWhenInterfaceExistsInThePod(t *testing.T) {
	h := newReadyHarness(t)
	p := h.newPod("web")
	inNetNS(t, p.netns, func() {
		require.NoError(t, netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "eth0"}, PeerName: "other"}))
	})
	e := h.addError(p)
	require.Equal(t, cnipb.ErrorCode_CONFIG_INTERFACE_FAILURE, e.Code)
	// Anything that is not ours stays.
	inNetNS(t, p.netns, func() {
		link, err := netlink.LinkByName("eth0")
		require.NoError(t, err)
		require.NoError(t, netlink.LinkDel(link))
	})
	h.requireNothing(p)
	h.mustAdd(p)
}

func TestAddIsUndoneWhenTheRuntimeGivesUp(t *testing.T) {
	for _, step := range []string{"GetPort", "CreatePort", "GetOFPort", "RequestOFPort", "InstallPodFlows"} {
		t.Run(step, func(t *testing.T) {
			h := newReadyHarness(t)
			p := h.newPod("web")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			cancelAt := func(operation, _ string) {
				if operation == step {
					cancel()
				}
			}
			h.ports.before, h.flows.before = cancelAt, cancelAt
			response, err := h.server.CmdAdd(ctx, h.request(p))
			require.NoError(t, err)
			require.NotNil(t, response.Error)
			h.requireNothing(p)
		})
	}
}

func TestFailedUndoIsReportedAndLeftToDel(t *testing.T) {
	h := newReadyHarness(t)
	p := h.newPod("web")
	h.flows.set(func(f *fakeFlows) { f.installErr, f.uninstallErr = errors.New("first boom"), errors.New("second boom") })
	e := h.addError(p)
	require.Equal(t, cnipb.ErrorCode_CONFIG_INTERFACE_FAILURE, e.Code)
	require.Contains(t, e.Message, "first boom")
	require.Contains(t, e.Message, "second boom")
	require.Len(t, h.leaseOwners(), 1, "the address stays allocated while its flows exist")
	h.flows.set(func(f *fakeFlows) { f.uninstallErr = nil })
	h.mustDel(p)
	h.requireNothing(p)
}

func TestDelWaitsForAddOfTheSameContainer(t *testing.T) {
	h := newReadyHarness(t)
	p := h.newPod("web")
	installing, proceed := make(chan struct{}), make(chan struct{})
	h.flows.before = func(operation, _ string) {
		if operation == "InstallPodFlows" {
			close(installing)
			<-proceed
		}
	}
	added := make(chan *cnipb.CniCmdResponse, 1)
	go func() {
		response, _ := h.server.CmdAdd(context.Background(), h.request(p))
		added <- response
	}()
	<-installing
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	for _, args := range []string{h.request(p).Args, ""} { // "" leaves the name of the interface unknown
		request := h.request(p)
		request.Args = args
		response, err := h.server.CmdDel(ctx, request)
		require.NoError(t, err)
		require.Equal(t, cnipb.ErrorCode_TRY_AGAIN_LATER, response.Error.GetCode())
		require.Len(t, h.leaseOwners(), 1)
	}
	close(proceed)
	require.Nil(t, (<-added).Error)
	h.mustDel(p)
	h.requireNothing(p)
}
