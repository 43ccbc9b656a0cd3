// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/service"
)

// Policies learn all groups of a Service after each change, and which groups may have served a connection.
func TestGroupsOfServices(t *testing.T) {
	c, _ := oftest.NewTestClient(t, oftest.ProxyAllFeatures)
	var told []string
	c.FollowGroups(func(name string, groups []uint32) { told = append(told, fmt.Sprintf("%s %d", name, len(groups))) })
	tcp := oftest.With(oftest.ExternalLocal(), oftest.Named("default/web:80/TCP"))
	udp := oftest.With(oftest.ClusterPort(oftest.LocalEndpoint), oftest.Named("default/web:80/UDP"), oftest.Over(corev1.ProtocolUDP))
	require.NoError(t, c.InstallService(tcp))
	require.NoError(t, c.InstallService(tcp))
	require.NoError(t, c.InstallService(udp))
	require.NoError(t, c.InstallService(oftest.With(oftest.ClusterPort(oftest.LocalEndpoint), oftest.Named("default/other:1/SCTP"), oftest.Over(corev1.ProtocolSCTP))))
	require.Equal(t, []string{"default/web 2", "default/web 3", "default/other 1"}, told)
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
