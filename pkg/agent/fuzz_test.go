// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/ovs/ovsconfig"
)

// FuzzPorts restores the interface store from arbitrary ports. The store takes what is restored, and finds it under its names and addresses.
func FuzzPorts(f *testing.F) {
	f.Add([]byte(`[{"Name":"antrea-gw0","ExternalIDs":{"antrea-type":"gateway"},"OFPort":2},{"Name":"t","ExternalIDs":{"antrea-type":"tunnel"}},
		{"Name":"web-000000","UUID":"u","OFPort":7,"ExternalIDs":{"antrea-type":"container","attached-mac":"aa:bb:cc:dd:ee:ff","ip-address":"10.10.1.2,fd00::2",
		"container-id":"c","pod-name":"web","pod-namespace":"default"}}]`))
	f.Add([]byte(`[{"Name":"a","ExternalIDs":{"antrea-type":"host"}},{"Name":"b"},{"Name":"a","ExternalIDs":{"antrea-type":"gateway"}}]`))
	node := &config.NodeConfig{Gateway: config.GatewayConfig{Name: "antrea-gw0", IPv4: netip.MustParseAddr("10.10.1.1")}}
	f.Fuzz(func(t *testing.T, text []byte) {
		var ports []ovsconfig.Port
		if json.Unmarshal(text, &ports) != nil {
			return
		}
		names := map[string]bool{}
		for _, p := range ports {
			if names[p.Name] {
				return // names are unique in OVSDB
			}
			names[p.Name] = true
		}
		restored := restoreInterfaces(ports, node)
		require.LessOrEqual(t, len(restored), len(ports))
		store := interfacestore.NewInterfaceStore()
		store.Initialize(restored)
		for _, c := range restored {
			_, found := store.GetInterfaceByName(c.InterfaceName)
			require.True(t, found)
			for _, ip := range c.IPs {
				_, found := store.GetInterfaceByIP(ip)
				require.True(t, found, "%v", ip)
			}
		}
		for _, kind := range []interfacestore.InterfaceType{interfacestore.GatewayInterface, interfacestore.TunnelInterface} {
			found, stale := existingPort(ports, kind, "antrea-gw0")
			require.True(t, found != nil || len(stale) == 0)
		}
	})
}

// FuzzNode feeds an arbitrary Node to the agent that runs on it. It waits for what is missing, or has what it needs.
func FuzzNode(f *testing.F) {
	f.Add("10.10.1.0/24 fd00:10::/64", "192.168.1.1 name fd00::1")
	f.Add("10.10.1.7/24", "0.0.0.0")
	f.Add("", "")
	f.Fuzz(func(t *testing.T, cidrs, addresses string) {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Spec: corev1.NodeSpec{PodCIDRs: strings.Fields(cidrs)}}
		for _, address := range strings.Fields(addresses) {
			node.Status.Addresses = append(node.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: address})
		}
		info, err := parseNode(node, nil)
		if err != nil {
			require.Regexp(t, `spec\.podCIDR|status\.addresses`, err.Error())
			return
		}
		require.True(t, info.podIPv4CIDR.IsValid() || info.podIPv6CIDR.IsValid())
		require.NotEmpty(t, info.addresses)
		for _, addr := range info.addresses {
			require.NoError(t, config.CheckNodeAddress(addr))
		}
	})
}
