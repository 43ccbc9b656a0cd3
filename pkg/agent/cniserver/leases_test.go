// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cniserver

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	cnipb "github.com/antrea-oncache/antrea/pkg/apis/cni/v1beta1"
)

// withDataDir returns a harness whose agent leaves the directory to the CNI configuration, as in production.
func withDataDir(t *testing.T) *harness {
	h := newReadyHarness(t)
	h.server.cfg.IPAMDataDir, h.server.ipam.dataDir = "", ""
	return h
}

func confFor(network, dataDir string) map[string]any {
	return map[string]any{"name": network, "ipam": map[string]any{"type": hostLocalType, "dataDir": dataDir}}
}

// Leases are collected in every directory that a CNI configuration has named, even by an agent that has not seen it.
func TestLeasesOfOtherNetworksAndDirectoriesAreCollected(t *testing.T) {
	h := withDataDir(t)
	first, second := t.TempDir(), t.TempDir()
	kept, vanished, crashed := h.newPod("kept"), h.newPod("vanished"), h.newPod("crashed")
	kept.conf, vanished.conf, crashed.conf = confFor("blue", first), confFor("blue", first), confFor("green", second)
	h.mustAdd(kept)
	h.mustAdd(vanished)
	h.mustAdd(crashed)
	require.NoError(t, h.ports.Fake.DeletePort(crashed.hostInterface())) // only the lease is left of it
	h.leases = filepath.Join(first, "blue")
	h.lease("10.10.1.99", "nobody")
	require.FileExists(t, filepath.Join(second, "green", "10.10.1.4"))

	h.restart()
	require.NoError(t, h.server.Reconcile(t.Context(), podLister(t, apiPod("kept", testNodeName)), synced))
	require.Equal(t, []string{"10.10.1.2"}, h.leasedIPs())
	h.leases = filepath.Join(second, "green")
	require.Empty(t, h.leasedIPs())
	ids, err := h.ports.GetExternalIDs()
	require.NoError(t, err)
	require.JSONEq(t, fmt.Sprintf(`[{"network":"blue","dataDir":%q}]`, first), ids[leasesKey], "what is empty is forgotten")
}

// A configuration with another network starts without leases, but its addresses must not be leased twice.
func TestAddressesOfAnotherDirectoryAreNotGivenTwice(t *testing.T) {
	h := withDataDir(t)
	dir := t.TempDir()
	for i := range 5 {
		p := h.newPod(fmt.Sprint("old", i))
		p.conf = confFor("blue", dir)
		h.mustAdd(p)
	}
	p := h.newPod("new")
	p.conf = confFor("green", dir)
	require.Equal(t, "10.10.1.7/24", h.mustAdd(p).IPs[0].Address.String())
	h.leases = filepath.Join(dir, "green")
	require.Equal(t, []string{"10.10.1.7"}, h.leasedIPs())
	h.mustDel(p)
	require.Empty(t, h.leasedIPs())
}

func TestLeaseDirectoriesAreRememberedFirst(t *testing.T) {
	h := withDataDir(t)
	dir := t.TempDir()
	p := h.newPod("web")
	p.conf = confFor("blue", dir)
	t.Run("OVSDB does not answer", func(t *testing.T) {
		require.NoError(t, h.ports.Fake.Delete())
		require.Equal(t, cnipb.ErrorCode_CONFIG_INTERFACE_FAILURE, h.addError(p).Code)
		require.NoError(t, h.ports.Fake.Create(t.Context()))
		require.NoDirExists(t, filepath.Join(dir, "blue"))
	})
	t.Run("what is in OVSDB makes no sense", func(t *testing.T) {
		for _, text := range []string{"{", `[null]`, `[{"network":"../..","dataDir":"/"}]`, `[{"network":"","dataDir":"/"}]`, `[{"network":"x","dataDir":"x"}]`, `7`} {
			require.NoError(t, h.ports.Fake.SetExternalID(leasesKey, text))
			l := &leaseDirs{ports: h.ports, installed: leaseDir{networkName, "/x"}}
			dirs, err := l.all()
			require.NoError(t, err)
			require.Equal(t, []leaseDir{{networkName, "/x"}}, dirs, text)
			require.NoError(t, l.note(leaseDir{"blue", "/y"}))
		}
	})
	t.Run("too many", func(t *testing.T) {
		l := &leaseDirs{ports: h.ports}
		require.NoError(t, h.ports.Fake.DeleteExternalID(leasesKey))
		for i := range maxLeaseDirs {
			require.NoError(t, l.note(leaseDir{fmt.Sprint("n", i), "/y"}))
		}
		require.NoError(t, l.note(leaseDir{"n3", "/y"}))
		require.ErrorContains(t, l.note(leaseDir{"another", "/y"}), "directory number 65")
	})
}

func TestDataDirMustBeAbsolute(t *testing.T) {
	_, err := parseNetworkConfig(cmdAdd, []byte(`{"cniVersion":"1.0.0","name":"antrea","ipam":{"type":"host-local","dataDir":"leases"}}`))
	require.ErrorContains(t, err, `ipam.dataDir "leases" of network "antrea" is not an absolute path`)
}
