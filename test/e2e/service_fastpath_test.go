// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
	"github.com/antrea-oncache/antrea/test/tools/traffic/report"
)

// testServiceFastPath checks that connections to a Service take the fast path on both Nodes, and that they follow its Endpoints.
func testServiceFastPath(t *testing.T, s *suite) {
	if s.ipv6 {
		t.Skip("the testbed's API server gives Services IPv4 addresses")
	}
	// No other area uses these ports: conntrack remembers a connection to a Service for two minutes, and drops one to the Endpoint with
	// the same ports.
	for _, protocol := range []corev1.Protocol{corev1.ProtocolUDP, corev1.ProtocolTCP} {
		t.Run(string(protocol), func(t *testing.T) {
			port, client, test := uint16(udpEchoPort), uint16(4321), testLongUDP
			if protocol == corev1.ProtocolTCP {
				port, client, test = sinkPort, 4322, testLongTCP
			}
			f, name := s.flow(string(protocol), client, port), "long-"+strings.ToLower(string(protocol))
			f.service = s.createClusterIP(t, name, protocol)
			s.setEndpoint(t, name, protocol, f.server)
			test(t, s, f)
		})
	}
	t.Run("EndpointIsReplaced", func(t *testing.T) { testServiceEndpointIsReplaced(t, s) })
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
	s.setEndpoint(t, name, corev1.ProtocolUDP, f.server)
	ping := start(t, s.client.Space, "udp-ping", "--from=:4323", to(f.service.Addr(), f.service.Port()), "--rate=200")
	s.waitFastIfGate(t, f)
	s.requireExplained(t, name, f)
	former := f
	f.server = netip.AddrPortFrom(other.IP, udpEchoPort)
	s.setEndpoint(t, name, corev1.ProtocolUDP, f.server)
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
		fmt.Sprint("--port=", servicePort), "--protocol="+f.proto)
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

// servicePort differs from the Endpoints', so that ports are translated, too.
const servicePort = 4400

// createClusterIP makes a Service without a selector that lives as long as the test, and returns its address.
func (s *suite) createClusterIP(t *testing.T, name string, protocol corev1.Protocol) netip.AddrPort {
	t.Helper()
	services := s.Client.CoreV1().Services(namespace)
	service, err := services.Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Protocol: protocol, Port: servicePort}}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, services.Delete(context.WithoutCancel(t.Context()), name, metav1.DeleteOptions{}))
	})
	addr, err := netip.ParseAddr(service.Spec.ClusterIP)
	require.NoError(t, err)
	return netip.AddrPortFrom(addr, servicePort)
}

// setEndpoint makes a port of a Pod on the second Node the only Endpoint of a Service, and waits until the client's Node knows.
func (s *suite) setEndpoint(t *testing.T, service string, protocol corev1.Protocol, endpoint netip.AddrPort) {
	t.Helper()
	endpointSlices := s.Client.DiscoveryV1().EndpointSlices(namespace)
	port := int32(endpoint.Port())
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: service, Labels: map[string]string{discoveryv1.LabelServiceName: service}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: ptr.To(""), Protocol: &protocol, Port: &port}},
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{endpoint.Addr().String()}, NodeName: &s.node2.Name}},
	}
	_, err := endpointSlices.Update(t.Context(), slice, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		_, err = endpointSlices.Create(t.Context(), slice, metav1.CreateOptions{})
		t.Cleanup(func() {
			require.NoError(t, endpointSlices.Delete(context.WithoutCancel(t.Context()), service, metav1.DeleteOptions{}))
		})
	}
	require.NoError(t, err)
	eventually(t, fmt.Sprintf("flows from %s to %v", service, endpoint), func() error {
		out, err := s.node1.Exec(t.Context(), "antctl", "get", "ovsflows", "-S", service, "-n", namespace)
		if err == nil && !strings.Contains(out, endpoint.String()) {
			err = notYet(out)
		}
		return err
	})
}
