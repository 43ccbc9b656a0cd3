// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cniserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	current "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/plugins/pkg/ns"
	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	cnipb "github.com/antrea-oncache/antrea/pkg/apis/cni/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/ovs/ovsconfig"
)

const testNodeName = "node-a"

// harness is a server with a real kernel and a real host-local; bridge and pipeline are in memory.
type harness struct {
	t       *testing.T
	server  *Server
	ports   *fakePorts
	flows   *fakeFlows
	store   interfacestore.InterfaceStore
	ready   chan struct{}
	plugins string
	leases  string
}

func newHarness(t *testing.T, change ...func(*Config)) *harness {
	t.Helper()
	requireNamespaces(t)
	h := &harness{
		t:       t,
		ports:   &fakePorts{Fake: ovsconfig.NewFake("br-int"), failures: map[string]error{}},
		flows:   &fakeFlows{flows: map[string]podFlow{}},
		store:   interfacestore.NewInterfaceStore(),
		ready:   make(chan struct{}),
		plugins: pluginDir(t),
	}
	require.NoError(t, h.ports.Create(t.Context()))
	cfg := Config{
		Socket: filepath.Join(t.TempDir(), "antrea", "cni.sock"),
		Node: &config.NodeConfig{
			Name:        testNodeName,
			OVSBridge:   "br-int",
			PodIPv4CIDR: netip.MustParsePrefix("10.10.1.0/24"),
			MTU:         1450,
		},
		IPAMDataDir: t.TempDir(),
	}
	for _, f := range change {
		f(&cfg)
	}
	h.leases = filepath.Join(cfg.IPAMDataDir, networkName)
	if cfg.IPAMDataDir == "" {
		h.leases = filepath.Join(defaultLeaseDir, networkName)
	}
	var err error
	h.server, err = New(cfg, h.ports, h.flows, h.store, h.ready)
	require.NoError(t, err)
	// The content of /opt/cni/bin on this machine must not matter.
	h.server.ipam.fallbackDir = filepath.Join(t.TempDir(), "absent")
	t.Cleanup(func() {
		h.server.stop()
		h.server.background.Wait()
	})
	return h
}

// newReadyHarness returns a server whose network is ready.
func newReadyHarness(t *testing.T, change ...func(*Config)) *harness {
	t.Helper()
	h := newHarness(t, change...)
	close(h.ready)
	return h
}

// pod is a sandbox as a runtime describes it.
type pod struct {
	name, containerID, netns, ifname string
	// conf overrides or, with a nil value, removes keys of the network configuration.
	conf map[string]any
}

func (h *harness) newPod(name string) *pod {
	h.t.Helper()
	return &pod{name: name, containerID: "sandbox-" + name, netns: newNetNS(h.t), ifname: primaryIFName}
}

func (p *pod) hostInterface() string { return HostInterfaceName(p.name, p.containerID, p.ifname) }

func (h *harness) request(p *pod) *cnipb.CniCmdRequest {
	conf := map[string]any{"cniVersion": "1.0.0", "name": networkName, "type": "antrea", "ipam": map[string]any{"type": hostLocalType}}
	for key, value := range p.conf {
		if conf[key] = value; value == nil {
			delete(conf, key)
		}
	}
	encoded, err := json.Marshal(conf)
	require.NoError(h.t, err)
	return &cnipb.CniCmdRequest{
		ContainerId:          p.containerID,
		Netns:                p.netns,
		Ifname:               p.ifname,
		Args:                 fmt.Sprintf("IgnoreUnknown=1;K8S_POD_NAMESPACE=test;K8S_POD_NAME=%s;K8S_POD_INFRA_CONTAINER_ID=%s", p.name, p.containerID),
		Path:                 h.plugins,
		NetworkConfiguration: encoded,
	}
}

func (h *harness) mustAdd(p *pod) *current.Result {
	h.t.Helper()
	response, err := h.server.CmdAdd(h.t.Context(), h.request(p))
	require.NoError(h.t, err)
	require.Nil(h.t, response.Error)
	return decodeResult(h.t, response.CniResult)
}

func (h *harness) mustDel(p *pod) {
	h.t.Helper()
	response, err := h.server.CmdDel(h.t.Context(), h.request(p))
	require.NoError(h.t, err)
	require.Nil(h.t, response.Error)
}

func (h *harness) addError(p *pod) *cnipb.Error {
	h.t.Helper()
	response, err := h.server.CmdAdd(h.t.Context(), h.request(p))
	require.NoError(h.t, err)
	require.NotNil(h.t, response.Error, "ADD has succeeded")
	require.Empty(h.t, response.CniResult)
	return response.Error
}

func decodeResult(t *testing.T, data []byte) *current.Result {
	t.Helper()
	result, err := current.NewResult(data)
	require.NoError(t, err)
	return result.(*current.Result)
}

// leaseOwners maps leased addresses to the content of their files.
func (h *harness) leaseOwners() map[string]string {
	h.t.Helper()
	owners := map[string]string{}
	entries, err := os.ReadDir(h.leases)
	if os.IsNotExist(err) {
		return owners
	}
	require.NoError(h.t, err)
	for _, entry := range entries {
		if _, err := netip.ParseAddr(entry.Name()); err != nil {
			continue
		}
		content, err := os.ReadFile(filepath.Join(h.leases, entry.Name()))
		require.NoError(h.t, err)
		owners[entry.Name()] = string(content)
	}
	return owners
}

// requireNothing fails when anything of the container remains anywhere.
func (h *harness) requireNothing(p *pod) {
	h.t.Helper()
	name := p.hostInterface()
	requireNoLink(h.t, name)
	_, found, err := h.ports.Fake.GetPort(name)
	require.NoError(h.t, err)
	require.False(h.t, found, "OVS port %s exists", name)
	require.NotContains(h.t, h.flows.all(), name)
	_, found = h.store.GetInterfaceByName(name)
	require.False(h.t, found, "%s is in the interface store", name)
	for ip, owner := range h.leaseOwners() {
		require.NotEqual(h.t, p.containerID+"\r\n"+p.ifname, owner, "address %s is still leased", ip)
	}
	if _, err := os.Stat(p.netns); err == nil {
		inNetNS(h.t, p.netns, func() { requireNoLink(h.t, p.ifname) })
	}
}

func requireNoLink(t *testing.T, name string) {
	t.Helper()
	// The kernel deletes the pair with its namespace, some time after the namespace is gone.
	require.Eventually(t, func() bool {
		_, err := netlink.LinkByName(name)
		return errors.As(err, &netlink.LinkNotFoundError{})
	}, 20*time.Second, 5*time.Millisecond, "interface %s exists", name)
}

// newNetNS makes a network namespace and returns its path, a bind mount. deleteNetNS removes it, or else the end of the
// test does.
func newNetNS(t *testing.T) string {
	t.Helper()
	requireNamespaces(t)
	path := filepath.Join(t.TempDir(), "netns")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	done := make(chan error)
	go func() {
		// The thread stays locked and ends with the goroutine, so that no other goroutine runs in its namespace.
		runtime.LockOSThread()
		err := unix.Unshare(unix.CLONE_NEWNET)
		if err == nil {
			err = unix.Mount(fmt.Sprintf("/proc/self/task/%d/ns/net", unix.Gettid()), path, "", unix.MS_BIND, "")
		}
		done <- err
	}()
	require.NoError(t, <-done)
	t.Cleanup(func() { _ = unix.Unmount(path, unix.MNT_DETACH) })
	inNetNS(t, path, func() {
		lo, err := netlink.LinkByName("lo")
		require.NoError(t, err)
		require.NoError(t, netlink.LinkSetUp(lo))
	})
	return path
}

func deleteNetNS(t *testing.T, path string) {
	t.Helper()
	require.NoError(t, unix.Unmount(path, unix.MNT_DETACH))
	require.NoError(t, os.Remove(path))
}

func inNetNS(t *testing.T, path string, f func()) {
	t.Helper()
	require.NoError(t, ns.WithNetNSPath(path, func(ns.NetNS) error {
		f()
		return nil
	}))
}

func eventually(t *testing.T, condition func() bool, message string, args ...any) {
	t.Helper()
	require.Eventuallyf(t, condition, 10*time.Second, 5*time.Millisecond, message, args...)
}
