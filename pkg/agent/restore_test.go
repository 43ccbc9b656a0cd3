// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"net"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/ovs/ovsconfig"
)

func TestRestoreInterfaces(t *testing.T) {
	mac := net.HardwareAddr{2, 0, 0, 0, 0, 1}
	node := &config.NodeConfig{Gateway: config.GatewayConfig{Name: "antrea-gw0", MAC: mac, IPv4: addresses("10.10.1.1")[0], IPv6: addresses("fd00:10::1")[0]}}
	pod := map[string]string{
		"antrea-type": "container", "attached-mac": "02:00:00:00:00:02", "ip-address": "10.10.1.2,fd00:10::2",
		"container-id": "c1", "pod-name": "web", "pod-namespace": "default", "net-ns": "/var/run/netns/x",
	}
	ports := []ovsconfig.Port{
		{UUID: "u1", Name: "antrea-gw0", Type: "internal", OFPort: 32769, MAC: mac, ExternalIDs: map[string]string{"antrea-type": "gateway"}},
		{UUID: "u2", Name: "antrea-tun0", Type: "geneve", OFPort: 32768, ExternalIDs: map[string]string{"antrea-type": "tunnel"}},
		{UUID: "u3", Name: "web-123456", OFPort: 5, ExternalIDs: pod},
		{UUID: "u4", Name: "broken", OFPort: 6, ExternalIDs: map[string]string{"antrea-type": "container"}},
		{UUID: "u5", Name: "foreign", OFPort: 7},
		{UUID: "u6", Name: "uplink", OFPort: 8, ExternalIDs: map[string]string{"antrea-type": "uplink"}},
	}
	want := []*interfacestore.InterfaceConfig{
		{Type: interfacestore.GatewayInterface, InterfaceName: "antrea-gw0", MAC: mac, IPs: addresses("10.10.1.1", "fd00:10::1"),
			OVSPortConfig: &interfacestore.OVSPortConfig{PortUUID: "u1", OFPort: 32769}},
		{Type: interfacestore.TunnelInterface, InterfaceName: "antrea-tun0",
			OVSPortConfig: &interfacestore.OVSPortConfig{PortUUID: "u2", OFPort: 32768}},
		{Type: interfacestore.ContainerInterface, InterfaceName: "web-123456", MAC: net.HardwareAddr{2, 0, 0, 0, 0, 2},
			IPs: addresses("10.10.1.2", "fd00:10::2"), OVSPortConfig: &interfacestore.OVSPortConfig{PortUUID: "u3", OFPort: 5},
			ContainerInterfaceConfig: &interfacestore.ContainerInterfaceConfig{
				ContainerID: "c1", PodName: "web", PodNamespace: "default", IFDev: "eth0", NetNS: "/var/run/netns/x"}},
	}
	require.Empty(t, cmp.Diff(want, restoreInterfaces(ports, node), cmpopts.EquateComparable(netip.Addr{})))
}

func TestExistingPort(t *testing.T) {
	gateway := map[string]string{"antrea-type": "gateway"}
	for _, tc := range []struct {
		name  string
		ports []ovsconfig.Port
		want  string
		stale []string
	}{
		{name: "none", ports: []ovsconfig.Port{{Name: "web"}}},
		{name: "by name and type", ports: []ovsconfig.Port{{Name: "antrea-gw0", ExternalIDs: gateway}}, want: "antrea-gw0"},
		{name: "by name without type", ports: []ovsconfig.Port{{Name: "antrea-gw0"}}, want: "antrea-gw0"},
		{name: "by type, under a former name", ports: []ovsconfig.Port{{Name: "gw0", Type: "internal", ExternalIDs: gateway}}, want: "gw0"},
		{
			name: "the configured name wins", want: "antrea-gw0", stale: []string{"a", "z"},
			ports: []ovsconfig.Port{
				{Name: "a", Type: "internal", ExternalIDs: gateway}, {Name: "antrea-gw0", ExternalIDs: gateway}, {Name: "z", Type: "internal", ExternalIDs: gateway},
			},
		},
		{
			name: "what cannot be a gateway", want: "antrea-gw0",
			ports: []ovsconfig.Port{
				{Name: "antrea-gw0", Type: "internal"}, {Name: "antrea-tun0", Type: "geneve", ExternalIDs: gateway}, {Name: "web-123456", ExternalIDs: gateway},
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			found, stale := existingPort(tc.ports, interfacestore.GatewayInterface, "antrea-gw0")
			require.Equal(t, tc.stale, stale)
			if tc.want == "" {
				require.Nil(t, found)
				return
			}
			require.Equal(t, tc.want, found.Name)
		})
	}
}

func TestCheckCapabilities(t *testing.T) {
	all := map[string]string{"ct_state": "true", "ct_zone": "true", "ct_mark": "true", "ct_label": "true", "ct_state_nat": "false"}
	require.NoError(t, checkCapabilities(all, false))
	require.ErrorContains(t, checkCapabilities(all, true), "ct_state_nat")
	err := checkCapabilities(map[string]string{"ct_state": "true", "ct_mark": "false"}, false)
	require.ErrorContains(t, err, "ct_zone, ct_mark, ct_label")
	require.ErrorContains(t, err, "Linux 4.6")
}
