// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package podinterface

import (
	"encoding/json"
	"net"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/apis"
	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
)

func pod(namespace, name string, ofPort uint32, ip string) *interfacestore.InterfaceConfig {
	return &interfacestore.InterfaceConfig{
		Type:          interfacestore.ContainerInterface,
		InterfaceName: name + "-123456",
		IPs:           []netip.Addr{netip.MustParseAddr(ip)},
		MAC:           net.HardwareAddr{2, 0, 0, 0, 0, byte(ofPort)},
		OVSPortConfig: &interfacestore.OVSPortConfig{PortUUID: "uuid-" + name, OFPort: ofPort},
		ContainerInterfaceConfig: &interfacestore.ContainerInterfaceConfig{
			ContainerID: "container-" + name, PodName: name, PodNamespace: namespace,
		},
	}
}

func TestHandleFunc(t *testing.T) {
	store := interfacestore.NewInterfaceStore()
	store.Initialize([]*interfacestore.InterfaceConfig{
		{Type: interfacestore.GatewayInterface, InterfaceName: "antrea-gw0"},
		pod("default", "a", 1, "10.10.0.2"), pod("default", "b", 2, "10.10.0.3"), pod("other", "a2", 3, "10.10.0.4"),
	})
	for _, tc := range []struct {
		name, query string
		status      int
		pods        []string
	}{
		{"all, without the gateway", "", 200, []string{"a", "a2", "b"}},
		{"by namespace", "?namespace=default", 200, []string{"a", "b"}},
		{"empty namespace", "?namespace=none", 200, []string{}},
		{"by name", "?name=a&namespace=default", 200, []string{"a"}},
		{"by name in all namespaces", "?name=a2", 200, []string{"a2"}},
		{"absent name", "?name=c&namespace=default", 404, nil},
		{"name in another namespace", "?name=a&namespace=other", 404, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := httptest.NewRecorder()
			HandleFunc(store)(w, httptest.NewRequest("GET", "/podinterfaces"+tc.query, nil))
			require.Equal(t, tc.status, w.Code)
			if tc.status != 200 {
				require.Contains(t, w.Body.String(), "not found")
				return
			}
			var got []apis.PodInterface
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
			names := []string{}
			for _, p := range got {
				names = append(names, p.PodName)
			}
			require.Equal(t, tc.pods, names)
		})
	}

	w := httptest.NewRecorder()
	HandleFunc(store)(w, httptest.NewRequest("GET", "/podinterfaces?name=b", nil))
	require.JSONEq(t, `[{"name":"b","podNamespace":"default","interfaceName":"b-123456","ips":["10.10.0.3"],
		"mac":"02:00:00:00:00:02","portUUID":"uuid-b","ofPort":2,"containerID":"container-b"}]`, w.Body.String())
}
