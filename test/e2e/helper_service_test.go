// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
)

// servicePort is a port of a Service, and the Endpoints' port for it.
type servicePort struct {
	protocol     corev1.Protocol
	port, target uint16
}

// portName is the name of a Service's port, which the only port needs not have.
func portName(p servicePort, of []servicePort) string {
	if len(of) == 1 {
		return ""
	}
	return fmt.Sprintf("%s-%d", strings.ToLower(string(p.protocol)), p.port)
}

// makeService makes a Service without a selector that lasts as long as the test. It has a cluster IP of the IP version of each of
// addresses, and returns them in this order.
func (s *suite) makeService(t *testing.T, name string, addresses []netip.Addr, ports []servicePort) (ips []netip.Addr) {
	t.Helper()
	spec := corev1.ServiceSpec{IPFamilyPolicy: ptr.To(corev1.IPFamilyPolicySingleStack)}
	if len(addresses) > 1 {
		spec.IPFamilyPolicy = ptr.To(corev1.IPFamilyPolicyRequireDualStack)
	}
	for _, a := range addresses {
		family := corev1.IPv4Protocol
		if a.Is6() {
			family = corev1.IPv6Protocol
		}
		spec.IPFamilies = append(spec.IPFamilies, family)
	}
	for _, p := range ports {
		spec.Ports = append(spec.Ports, corev1.ServicePort{Name: portName(p, ports), Protocol: p.protocol, Port: int32(p.port)})
	}
	services := s.Client.CoreV1().Services(namespace)
	made, err := services.Create(t.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}, metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() {
		requireGone(t, services.Delete(context.WithoutCancel(t.Context()), name, metav1.DeleteOptions{}))
	})
	for _, text := range made.Spec.ClusterIPs {
		ip, err := netip.ParseAddr(text)
		require.NoError(t, err)
		ips = append(ips, ip)
	}
	return ips
}

// endpoint is an Endpoint of a Service: an address and its Node.
type endpoint struct {
	address netip.Addr
	node    *cluster.Node
}

// publish replaces the Endpoints of a Service, in one EndpointSlice for each of their IP versions. These last as long as the test.
func (s *suite) publish(t *testing.T, service string, ports []servicePort, endpoints ...endpoint) {
	t.Helper()
	var slicePorts []discoveryv1.EndpointPort
	for _, p := range ports {
		slicePorts = append(slicePorts, discoveryv1.EndpointPort{
			Name: ptr.To(portName(p, ports)), Protocol: ptr.To(p.protocol), Port: ptr.To(int32(p.target)),
		})
	}
	made := map[discoveryv1.AddressType]*discoveryv1.EndpointSlice{}
	for _, e := range endpoints {
		family, name := discoveryv1.AddressTypeIPv4, service
		if e.address.Is6() {
			family, name = discoveryv1.AddressTypeIPv6, service+"-ipv6"
		}
		if made[family] == nil {
			made[family] = &discoveryv1.EndpointSlice{
				ObjectMeta:  metav1.ObjectMeta{Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: service}},
				AddressType: family, Ports: slicePorts,
			}
		}
		made[family].Endpoints = append(made[family].Endpoints, discoveryv1.Endpoint{
			Addresses: []string{e.address.String()}, NodeName: &e.node.Name,
		})
	}
	for _, slice := range made {
		s.applyEndpointSlice(t, slice)
	}
}

func (s *suite) applyEndpointSlice(t *testing.T, slice *discoveryv1.EndpointSlice) {
	t.Helper()
	endpointSlices := s.Client.DiscoveryV1().EndpointSlices(namespace)
	_, err := endpointSlices.Update(t.Context(), slice, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		_, err = endpointSlices.Create(t.Context(), slice, metav1.CreateOptions{})
		t.Cleanup(func() {
			requireGone(t, endpointSlices.Delete(context.WithoutCancel(t.Context()), slice.Name, metav1.DeleteOptions{}))
		})
	}
	require.NoError(t, err)
}

// requireGone fails if an object could not be deleted, unless the test has deleted it.
func requireGone(t *testing.T, err error) {
	t.Helper()
	if !apierrors.IsNotFound(err) {
		require.NoError(t, err)
	}
}

// waitServiceFlows waits until the client's Node translates connections to a Service to these Endpoints.
func (s *suite) waitServiceFlows(t *testing.T, service string, endpoints ...string) {
	t.Helper()
	eventually(t, fmt.Sprintf("flows from %s to %v", service, endpoints), func() error {
		out, err := s.node1.AskAgent(t.Context(), "/ovsflows?service="+service+"&namespace="+namespace)
		if err == nil && !containsAll(string(out), endpoints) {
			err = notYet(out)
		}
		return err
	})
}

// createClusterIP makes a Service with one port that lives as long as the test, and returns its address, of the suite's IP version.
func (s *suite) createClusterIP(t *testing.T, name string, protocol corev1.Protocol) netip.AddrPort {
	t.Helper()
	ips := s.makeService(t, name, []netip.Addr{s.client.IP}, []servicePort{{protocol, onlyPort, 0}})
	return netip.AddrPortFrom(ips[0], onlyPort)
}

// onlyPort is the port of Services with a single port. No Endpoint has it, so that ports are also translated.
const onlyPort = 4400

// setEndpoint makes a port of a Pod on the Node the only Endpoint of a Service, and waits until the client's Node knows.
func (s *suite) setEndpoint(t *testing.T, service string, protocol corev1.Protocol, node *cluster.Node, at netip.AddrPort) {
	t.Helper()
	s.publish(t, service, []servicePort{{protocol, onlyPort, at.Port()}}, endpoint{at.Addr(), node})
	s.waitServiceFlows(t, service, at.String())
}
