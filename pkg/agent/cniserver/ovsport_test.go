// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cniserver

import (
	"maps"
	"net"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/ovs/ovsconfig"
)

func testInterface(ifdev string) *interfacestore.InterfaceConfig {
	return &interfacestore.InterfaceConfig{
		Type:          interfacestore.ContainerInterface,
		InterfaceName: "web-abcdef",
		IPs:           []netip.Addr{netip.MustParseAddr("10.10.1.2"), netip.MustParseAddr("fd00::2")},
		MAC:           net.HardwareAddr{0x0a, 1, 2, 3, 4, 5},
		OVSPortConfig: &interfacestore.OVSPortConfig{PortUUID: "uuid", OFPort: 7},
		ContainerInterfaceConfig: &interfacestore.ContainerInterfaceConfig{
			ContainerID: "0123", PodName: "web", PodNamespace: "default", IFDev: ifdev, NetNS: "/var/run/netns/x",
		},
	}
}

func TestPortExternalIDsRoundTrip(t *testing.T) {
	base := map[string]string{
		"antrea-type":   "container",
		"attached-mac":  "0a:01:02:03:04:05",
		"ip-address":    "10.10.1.2,fd00::2",
		"container-id":  "0123",
		"pod-name":      "web",
		"pod-namespace": "default",
		"net-ns":        "/var/run/netns/x",
	}
	secondary := maps.Clone(base)
	secondary["if-dev"] = "eth1"
	for ifdev, want := range map[string]map[string]string{"eth0": base, "eth1": secondary} {
		t.Run(ifdev, func(t *testing.T) {
			iface := testInterface(ifdev)
			ids := PortExternalIDs(iface)
			require.Equal(t, want, ids)
			restored, err := InterfaceFromPort(&ovsconfig.Port{Name: "web-abcdef", UUID: "uuid", OFPort: 7, ExternalIDs: ids})
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(iface, restored, cmpopts.EquateComparable(netip.Addr{})))
		})
	}
}

func TestInterfaceFromPortErrors(t *testing.T) {
	tests := []struct{ name, key, value, message string }{
		{"not a container", "antrea-type", "gateway", `"gateway", want "container"`},
		{"type missing", "antrea-type", "", "antrea-type"},
		{"MAC invalid", "attached-mac", "x", "attached-mac"},
		{"IP invalid", "ip-address", "10.0.0.1,x", "ip-address"},
		{"IPs missing", "ip-address", "", "ip-address"},
		{"container missing", "container-id", "", "container-id is missing"},
		{"pod name missing", "pod-name", "", "pod-name is missing"},
		{"namespace missing", "pod-namespace", "", "pod-namespace is missing"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ids := PortExternalIDs(testInterface("eth0"))
			ids[tt.key] = tt.value
			_, err := InterfaceFromPort(&ovsconfig.Port{Name: "p0", ExternalIDs: ids})
			require.ErrorContains(t, err, "OVS port p0")
			require.ErrorContains(t, err, tt.message)
		})
	}
}
