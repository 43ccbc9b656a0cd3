// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/service"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// Policies learn all groups of a Service after each change, and which groups may have served a connection.
func TestGroupsOfServices(t *testing.T) {
	c, _ := oftest.NewTestClient(t, oftest.ProxyAllFeatures)
	var told []string
	c.FollowGroups(func(name string, groups []uint32) bool {
		told = append(told, fmt.Sprintf("%s %d", name, len(groups)))
		return true
	})
	tcp := oftest.With(oftest.ExternalLocal(), oftest.Named("default/web:80/TCP"))
	udp := oftest.With(oftest.ClusterPort(oftest.LocalEndpoint), oftest.Named("default/web:80/UDP"), oftest.Over(corev1.ProtocolUDP))
	require.NoError(t, c.InstallService(tcp))
	require.NoError(t, c.InstallService(tcp))
	require.NoError(t, c.InstallService(udp))
	require.NoError(t, c.InstallService(oftest.With(oftest.ClusterPort(oftest.LocalEndpoint), oftest.Named("default/other:1/SCTP"), oftest.Over(corev1.ProtocolSCTP))))
	require.Equal(t, []string{"default/web 2", "default/web 3", "default/other 1"}, slices.Compact(told), "before each change, and after it")
	require.Len(t, c.GroupsOf(17, udp.Frontends[0].Address), 1)
	require.Len(t, c.GroupsOf(6, tcp.Frontends[0].Address), 2)
	for _, f := range tcp.Frontends {
		if f.NodePort {
			require.Len(t, c.GroupsOf(6, netip.AddrPortFrom(oftest.NodeIP, f.Address.Port())), 2)
			require.Empty(t, c.GroupsOf(17, netip.AddrPortFrom(oftest.NodeIP, f.Address.Port())))
		}
	}
	told = nil
	require.NoError(t, c.UninstallService(tcp.Name))
	require.NoError(t, c.UninstallService(udp.Name))
	require.Equal(t, []string{"default/web 1", "default/web 0"}, told)
	require.Empty(t, c.GroupsOf(17, udp.Frontends[0].Address))
	var _ service.ServiceClient = c
}

// A port waits for policies only for groups that they do not match, and keeps the groups that were promised to it.
func TestPortsWaitForPolicies(t *testing.T) {
	c, fake := oftest.NewTestClient(t, oftest.ProxyAllFeatures)
	var told [][]uint32
	inForce := false
	c.FollowGroups(func(_ string, groups []uint32) bool {
		told = append(told, groups)
		return inForce
	})
	port := oftest.With(oftest.ClusterPort(oftest.LocalEndpoint), oftest.Named("default/web:80/TCP"))
	before := len(fake.Flows())
	for range 2 {
		require.ErrorIs(t, c.InstallService(port), service.ErrPoliciesBehind)
	}
	require.Equal(t, [][]uint32{{1}, {1}}, told)
	require.Len(t, fake.Flows(), before)
	inForce = true
	require.NoError(t, c.InstallService(port))
	inForce = false
	require.NoError(t, c.InstallService(oftest.With(port, func(p *service.ServicePort) { p.Cluster = nil })), "no group is new")
	told = nil
	wider := oftest.With(oftest.ExternalLocal(), oftest.Named(port.Name))
	require.ErrorIs(t, c.InstallService(wider), service.ErrPoliciesBehind)
	require.Equal(t, [][]uint32{{1, 2}}, told, "the present group is in use")
	require.NoError(t, c.UninstallService(port.Name))
	other := oftest.With(port, oftest.Named("default/other:80/TCP"))
	require.ErrorIs(t, c.InstallService(other), service.ErrPoliciesBehind)
	told = nil
	require.NoError(t, c.UninstallService(other.Name))
	require.Equal(t, [][]uint32{nil}, told, "the promise ends with the Service")
}

// Whatever the file has become, an agent starts with it, and uses it again for the groups that flows of an agent of a former round lead to.
func TestGroupsAreKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "antrea", "groups")
	start := func(sw of.Switch, round, former uint16) (openflow.Client, map[string][]uint32, error) {
		c := openflow.NewClient(sw, oftest.NoTableNames, oftest.ProxyAllFeatures)
		_, err := c.Initialize(t.Context(), openflow.RoundInfo{RoundNum: round, PrevRoundNum: &former}, oftest.TestNode, oftest.TestNetwork)
		require.NoError(t, err)
		known := map[string][]uint32{}
		c.FollowGroups(func(name string, groups []uint32) bool { known[name] = groups; return true })
		return c, known, c.KeepGroups(file)
	}
	fake := of.NewFake()
	c, known, err := start(fake, 5, 4)
	require.NoError(t, err)
	require.Empty(t, known)
	a, b := oftest.With(oftest.ExternalLocal(), oftest.Named("default/a:80/TCP")), oftest.With(oftest.ClusterPort(), oftest.Named("default/b:80/UDP"), oftest.Over(corev1.ProtocolUDP))
	require.NoError(t, c.InstallService(b))
	require.NoError(t, c.InstallService(a))
	c, known, err = start(fake, 6, 5)
	require.NoError(t, err)
	require.Equal(t, map[string][]uint32{"default/a": {2, 3}, "default/b": {1}}, known)
	require.NoError(t, c.InstallService(oftest.With(oftest.ClusterPort(), oftest.Named(a.Name))))
	require.Equal(t, []uint32{2, 3}, known["default/a"], "former flows lead to both")
	require.NoError(t, c.DeleteStaleFlows())
	require.Equal(t, map[string][]uint32{"default/a": {2}, "default/b": nil}, known)

	content, err := os.ReadFile(file)
	require.NoError(t, err)
	for name, test := range map[string]struct {
		content string
		round   uint16
		sw      of.Switch
		want    map[string][]uint32
		fails   string
	}{
		"the same":             {string(content), 6, fake, map[string][]uint32{"default/a": {2}}, ""},
		"another round":        {string(content), 7, fake, map[string][]uint32{}, ""},
		"another switch":       {string(content), 6, of.NewFake(), map[string][]uint32{}, ""},
		"nothing":              {"", 6, fake, map[string][]uint32{}, "the first line is"},
		"cut off":              {string(content[:len(content)-4]), 6, fake, map[string][]uint32{"default/a": {2, 3}}, ""},
		"a line within a line": {strings.Replace(string(content), `{"port":`, `{"port":"default/c:80/TCP","gro{"port":`, 1), 6, fake, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, os.WriteFile(file, []byte(test.content), 0o600))
			_, known, err := start(test.sw, test.round+1, test.round)
			if test.fails != "" {
				require.ErrorContains(t, err, test.fails)
			} else {
				require.NoError(t, err)
			}
			require.NotContains(t, known, "default/c")
			if test.want != nil {
				for name, groups := range test.want {
					require.Subset(t, groups, known[name])
				}
				require.Len(t, known, len(test.want))
			}
		})
	}
}
