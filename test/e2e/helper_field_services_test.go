// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/test/policy"
)

// throughServices makes attempts connections to Services, one for each destination, which is the only Endpoint. The same policies apply: they
// see the Endpoint. remove ends the Services, and so does the end of the test.
func (f *field) throughServices(t *testing.T, set int, attempts []*attempt) (remove func()) {
	t.Helper()
	targets := map[*policy.Pod][]*attempt{}
	for _, a := range attempts {
		targets[a.To] = append(targets[a.To], a)
	}
	var names []string
	var wanted []translation
	for to, some := range targets {
		name := fmt.Sprintf("set-%d-%s-%s", set, to.Namespace, to.Name)
		wanted = append(wanted, f.makeServiceOf(t, name, to, some)...)
		names = append(names, name)
	}
	for _, n := range f.s.Nodes {
		f.s.waitTranslated(t, n, wanted)
	}
	return func() {
		for _, name := range names {
			require.NoError(t, f.s.Client.CoreV1().Services(namespace).Delete(t.Context(), name, metav1.DeleteOptions{}))
			require.NoError(t, f.s.Client.DiscoveryV1().EndpointSlices(namespace).DeleteCollection(t.Context(), metav1.DeleteOptions{},
				metav1.ListOptions{LabelSelector: "kubernetes.io/service-name=" + name}))
		}
	}
}

// makeServiceOf makes the Service for attempts to one Pod, and returns what the switches must do for it.
func (f *field) makeServiceOf(t *testing.T, name string, to *policy.Pod, attempts []*attempt) (wanted []translation) {
	t.Helper()
	place := f.place(to)
	var ports []servicePort
	for _, a := range attempts {
		if port := (servicePort{a.Protocol, a.Port, a.Port}); !slices.Contains(ports, port) {
			ports = append(ports, port)
		}
	}
	var endpoints []endpoint
	for _, ip := range place.IPs {
		endpoints = append(endpoints, endpoint{ip, place.Node})
	}
	ips := f.s.makeService(t, name, place.IPs, ports)
	f.s.publish(t, name, ports, endpoints...)
	for i, ip := range ips {
		for _, p := range ports {
			wanted = append(wanted, translation{p.protocol, netip.AddrPortFrom(ip, p.port), netip.AddrPortFrom(place.IPs[i], p.target)})
		}
	}
	for _, a := range attempts {
		a.service = ips[0]
		if a.IPv6 {
			a.service = ips[len(ips)-1]
		}
	}
	return wanted
}
