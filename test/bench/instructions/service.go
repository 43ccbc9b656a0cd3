// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/test/bench/agentstate"
	benchbed "github.com/antrea-oncache/antrea/test/bench/bed"
	"github.com/antrea-oncache/antrea/test/bench/result"
	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
)

// serviceTimeout is the time in which the client's Node must learn a Service.
const serviceTimeout = time.Minute

// makeService makes a Service whose only Endpoint is the server of a link, at the ports of the workloads, and returns the link through
// its cluster IP.
func (b *bed) makeService(ctx context.Context, name string, pods benchbed.Link) (through benchbed.Link, err error) {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}}
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: name}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{pods.Address.String()}, NodeName: &b.cluster.Nodes[1].Name}},
	}
	for _, p := range protocols {
		servers, err := p.workload().Servers(pods, result.Off)
		if err != nil {
			return through, err
		}
		port, protocol, portName := int32(servers[0].Port), corev1.Protocol(strings.ToUpper(p.String())), p.String()
		service.Spec.Ports = append(service.Spec.Ports, corev1.ServicePort{Name: portName, Protocol: protocol, Port: port})
		slice.Ports = append(slice.Ports, discoveryv1.EndpointPort{Name: &portName, Protocol: &protocol, Port: &port})
	}
	if service, err = b.cluster.Client.CoreV1().Services(namespace).Create(ctx, service, metav1.CreateOptions{}); err != nil {
		return through, err
	}
	if _, err = b.cluster.Client.DiscoveryV1().EndpointSlices(namespace).Create(ctx, slice, metav1.CreateOptions{}); err != nil {
		return through, err
	}
	through = pods
	if through.Address, err = netip.ParseAddr(service.Spec.ClusterIP); err != nil {
		return through, err
	}
	return through, waitForService(ctx, b.cluster.Nodes[0], name, pods.Address)
}

// waitForService waits until a Node's flows of a Service lead to an Endpoint.
func waitForService(ctx context.Context, n *cluster.Node, name string, endpoint netip.Addr) error {
	ctx, cancel := context.WithTimeout(ctx, serviceTimeout)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		out, err := agentstate.Antctl(ctx, n, "get", "ovsflows", "-S", name, "-n", namespace)
		if err == nil && strings.Count(out, fmt.Sprintf("nat(dst=%s:", endpoint)) >= len(protocols) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: flows of Service %s to %v: %w: %s (%w)", n.Name, name, endpoint, context.Cause(ctx), out, err)
		case <-tick.C:
		}
	}
}
