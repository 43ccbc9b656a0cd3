// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
)

// The agents watch Services, EndpointSlices and Nodes in streams that do not wait for each other. A marker goes through all of them: its
// Service has its port and its Endpoints in the switch once the agent has heard everything before it. A second marker is behind what the
// agent has heard, so everything is installed when that one is. Then the agent has to end a UDP connection to the second marker, which it
// does last.

const settleTimeout = 30 * time.Second

var markerAddress = netip.MustParseAddr("10.96.250.1")

// marker identifies one marker.
type marker int

func (m marker) port() uint16 { return uint16(1000 + m) }

func (m marker) name() string { return fmt.Sprintf("marker/marker:%d/UDP", m.port()) }

// endpoints are for the zones a and b.
func (m marker) endpoints() [2]netip.AddrPort {
	first := netip.AddrFrom4([4]byte{192, 0, 2, byte(100 + 2*(m%10))})
	return [2]netip.AddrPort{netip.AddrPortFrom(first, 9), netip.AddrPortFrom(first.Next(), 9)}
}

func (m marker) service(proxyName string) *corev1.Service {
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "marker", Name: "marker", UID: "marker"}}
	if proxyName != "" {
		s.Labels = map[string]string{"service.kubernetes.io/service-proxy-name": proxyName}
	}
	s.Spec = corev1.ServiceSpec{
		Type: corev1.ServiceTypeClusterIP, ClusterIP: markerAddress.String(), ClusterIPs: []string{markerAddress.String()},
		IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol}, Ports: []corev1.ServicePort{{Protocol: corev1.ProtocolUDP, Port: int32(m.port())}},
	}
	return s
}

func (m marker) slice() *discoveryv1.EndpointSlice {
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: "marker", Name: "marker", UID: "marker", Labels: map[string]string{discoveryv1.LabelServiceName: "marker"}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: ptr.To(""), Protocol: ptr.To(corev1.ProtocolUDP), Port: ptr.To[int32](9)}},
	}
	for i, zone := range []string{"a", "b"} {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{m.endpoints()[i].Addr().String()}, Hints: &discoveryv1.EndpointHints{ForZones: []discoveryv1.ForZone{{Name: zone}}},
		})
	}
	return slice
}

// isInstalled reports whether a Node in the zone has the marker.
func (m marker) isInstalled(p openflow.ServicePort, zone string) bool {
	want := m.endpoints()
	var have []netip.AddrPort
	for _, e := range p.Cluster {
		have = append(have, e.Address)
	}
	switch zone {
	case "a":
		return slices.Equal(have, want[:1])
	case "b":
		return slices.Equal(have, want[1:])
	}
	return len(have) == 2 && slices.Contains(have, want[0]) && slices.Contains(have, want[1])
}

// settle returns when everything in the API is in the switches, and UDP connections that the changes end have ended.
func (b *bench) settle(ctx context.Context) error {
	for range 2 {
		fences, err := b.mark(ctx)
		if err != nil {
			return err
		}
		for _, a := range b.agents {
			if err := b.waitMarked(a, fences[a]); err != nil {
				return err
			}
		}
	}
	return nil
}

// mark replaces the marker by the next one.
func (b *bench) mark(ctx context.Context) (fences map[*agent]<-chan struct{}, err error) {
	old := b.marker
	b.marker++
	fences = map[*agent]<-chan struct{}{}
	for _, a := range b.agents {
		fences[a] = a.connections.setFence(netip.AddrPortFrom(markerAddress, b.marker.port()))
	}
	var before *corev1.Service
	var slice *discoveryv1.EndpointSlice
	if old > 0 {
		before, slice = old.service(""), old.slice()
	}
	for _, send := range []request{
		replacement(b.api.CoreV1().Services("marker"), before, b.marker.service(b.world.Settings.ServiceProxyName)),
		replacement(b.api.DiscoveryV1().EndpointSlices("marker"), slice, b.marker.slice()),
	} {
		if err := send(ctx); err != nil {
			return nil, err
		}
	}
	return fences, nil
}

func (b *bench) waitMarked(a *agent, ended <-chan struct{}) error {
	limit := time.After(settleTimeout)
	zone := b.world.Node(a.node.Name()).Zone
	for {
		p, ok := a.installed.port(b.marker.name())
		if ok && b.marker.isInstalled(p, zone) {
			break
		}
		select {
		case <-a.installed.changed:
		case <-limit:
			return fmt.Errorf("changes are not realized on %s after %s: it has the marker %s: %t, %v; its zone is %q",
				a.node.Name(), settleTimeout, b.marker.name(), ok, p, zone)
		}
	}
	select {
	case <-ended:
		return nil
	case <-limit:
		return fmt.Errorf("the agent of %s has not ended the UDP connection of marker %s after %s", a.node.Name(), b.marker.name(), settleTimeout)
	}
}
