// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
	"github.com/antrea-oncache/antrea/test/tools/traffic/report"
)

// testServiceFastPath checks what only Services have; long connections to them are in FastPath.
func testServiceFastPath(t *testing.T, s *suite) {
	t.Run("EndpointIsReplaced", func(t *testing.T) { testServiceEndpointIsReplaced(t, s) })
	t.Run("WebServersOnBothNodes", func(t *testing.T) { testWebServersOnBothNodes(t, s) })
}

// testServiceEndpointIsReplaced: datagrams of an open connection go to another Endpoint when theirs is removed, and no packet comes to
// the former one any more.
func testServiceEndpointIsReplaced(t *testing.T, s *suite) {
	const name = "replaced"
	other := s.createPod(t, s.node2, "other-endpoint")
	defer deletePod(t, other)
	startEcho(t, s.server.Space, s.server.IP)
	startEcho(t, other.Space, other.IP)
	f := s.flow("UDP", 4323, udpEchoPort)
	f.service = s.createClusterIP(t, name, corev1.ProtocolUDP)
	s.setEndpoint(t, name, corev1.ProtocolUDP, s.node2, f.server)
	ping := start(t, s.client.Space, "udp-ping", f.from(), f.to(), "--rate=200")
	s.waitFastIfGate(t, f)
	s.requireExplained(t, name, f)
	former := f
	f.server = netip.AddrPortFrom(other.IP, udpEchoPort)
	s.setEndpoint(t, name, corev1.ProtocolUDP, s.node2, f.server)
	s.waitFastIfGate(t, f)
	e, err := s.entriesOf(t, former, true)
	require.NoError(t, err)
	require.Empty(t, e.egress.State, "%+v", e.egress)
	require.Empty(t, e.ingress.State, "%+v", e.ingress)
	require.Positive(t, stop[report.Ping](t, ping).Received)
}

// requireExplained checks what antctl says about a Service with one Endpoint and, with the gate on, about the flow's connection.
func (s *suite) requireExplained(t *testing.T, service string, f flow) {
	t.Helper()
	e := antctl[api.Explanation](t, s.node1, "oncache", "explain", "--from="+namespace+"/"+s.client.PodName, "--service="+namespace+"/"+service,
		fmt.Sprint("--port=", onlyPort), "--protocol="+f.proto)
	require.Len(t, e.Service.Endpoints, 1)
	require.Equal(t, f.server.String(), e.Service.Endpoints[0].Address)
	if !s.oncache {
		require.Equal(t, api.ReasonNotEnabled, e.Reason)
		return
	}
	require.Equal(t, api.Treatment{Path: api.PathFast, Reason: api.ReasonActive}, e.Service.Endpoints[0].Treatment)
	require.Equal(t, s.node2.Name, e.Service.Endpoints[0].Node)
	require.Equal(t, api.PathFast, e.Path, "%+v", e.Service)
	open := slices.IndexFunc(e.Service.Connections, func(c api.ExplainedConnection) bool { return c.Client == f.client.String() })
	require.GreaterOrEqual(t, open, 0, "%+v", e.Service.Connections)
	require.Equal(t, f.server.String(), e.Service.Connections[open].Endpoint)
	require.Len(t, e.Service.Connections[open].Flows, 2)
}
