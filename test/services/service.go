// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package services

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

func namespaceOf(slot int) string   { return fmt.Sprint("ns", slot%2) }
func serviceName(slot int) string   { return fmt.Sprint("service-", slot) }
func clusterIPs(slot int) [2]string { return [2]string{clusterIPv4(slot, 1), clusterIPv4(slot, 2)} }
func clusterIPv4(slot, n int) string {
	return fmt.Sprintf("10.96.%d.%d", slot, n)
}
func clusterIPv6(slot, n int) string { return fmt.Sprintf("fd00:96::%d:%d", slot+1, n) }

// Addresses that several Services may want.
var (
	externalIPv4  = []string{"203.0.113.1", "203.0.113.2"}
	externalIPv6  = []string{"2001:db8:113::1", "2001:db8:113::2"}
	outsideIPv4   = []string{"198.51.100.7", "198.51.101.7"}
	outsideIPv6   = []string{"2001:db8:51::7", "2001:db8:52::7"}
	portNumbers   = []int32{53, 80, 8080}
	sourceRanges  = [][]string{{"10.10.0.0/16", "fd00:10:10::/48"}, {"198.51.100.0/24"}, {"10.10.1.0/24", "fd00:10:10:1::/64", "2001:db8:51::/64"}, {"0.0.0.0/0", "::/0"}, {"192.168.77.1/32", "198.51.101.0/24"}, {"10.10.2.0/28", "10.10.2.16/28"}}
	affinityTimes = []int32{10800, 600, 86400}
)

// create puts a Service into an empty slot, with EndpointSlices.
func (g *Generator) create(slot int) {
	serial := g.addSeconds()
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespaceOf(slot), Name: serviceName(slot), UID: types.UID(fmt.Sprint("service-", serial)),
		// Some are of the same age.
		CreationTimestamp: metav1.Unix(int64(1000+serial/2), 0),
	}}
	s.Spec.IPFamilies = pick(g.rng, [][]corev1.IPFamily{
		{corev1.IPv4Protocol}, {corev1.IPv4Protocol}, {corev1.IPv6Protocol}, {corev1.IPv4Protocol, corev1.IPv6Protocol}, {corev1.IPv6Protocol, corev1.IPv4Protocol},
	})
	n := 1 + g.rng.IntN(2)
	for _, version := range s.Spec.IPFamilies {
		if version == corev1.IPv4Protocol {
			s.Spec.ClusterIPs = append(s.Spec.ClusterIPs, clusterIPv4(slot, n))
		} else {
			s.Spec.ClusterIPs = append(s.Spec.ClusterIPs, clusterIPv6(slot, n))
		}
	}
	s.Spec.Type = pick(g.rng, []corev1.ServiceType{corev1.ServiceTypeClusterIP, corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeLoadBalancer})
	g.setPorts(s, slot)
	g.setPolicies(s)
	g.setAffinity(s)
	g.setExternalAddresses(s, slot)
	g.setLabel(s)
	switch {
	case g.chance(4):
		s.Spec.ClusterIPs = []string{corev1.ClusterIPNone}
	case g.chance(4):
		s.Spec.Type, s.Spec.ExternalName, s.Spec.ClusterIPs = corev1.ServiceTypeExternalName, "example.com", nil
	}
	if len(s.Spec.ClusterIPs) > 0 {
		s.Spec.ClusterIP = s.Spec.ClusterIPs[0]
	}
	g.world.Services = append(g.world.Services, s)
	g.setSlices(s)
}

// setPorts gives a Service one to three ports. Names are unique; one port may have none. The same number may occur with several protocols.
func (g *Generator) setPorts(s *corev1.Service, slot int) {
	s.Spec.Ports = nil
	taken := map[string]bool{}
	for i := range pick(g.rng, []int{1, 1, 2, 3}) {
		port := corev1.ServicePort{
			Name: fmt.Sprint("p", i), Port: pick(g.rng, portNumbers),
			Protocol: pick(g.rng, []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolUDP, corev1.ProtocolSCTP}),
		}
		if key := fmt.Sprint(port.Port, port.Protocol); taken[key] {
			continue
		} else {
			taken[key] = true
		}
		if s.Spec.Type != corev1.ServiceTypeClusterIP && (s.Spec.Type == corev1.ServiceTypeNodePort || g.chance(80)) {
			port.NodePort = int32(30000 + 10*slot + i)
		}
		s.Spec.Ports = append(s.Spec.Ports, port)
	}
	if len(s.Spec.Ports) == 1 && g.chance(50) {
		s.Spec.Ports[0].Name = ""
	}
}

func (g *Generator) setPolicies(s *corev1.Service) {
	s.Spec.InternalTrafficPolicy = pick(g.rng, []*corev1.ServiceInternalTrafficPolicy{
		nil, ptr.To(corev1.ServiceInternalTrafficPolicyCluster), ptr.To(corev1.ServiceInternalTrafficPolicyLocal),
	})
	s.Spec.ExternalTrafficPolicy = pick(g.rng, []corev1.ServiceExternalTrafficPolicy{corev1.ServiceExternalTrafficPolicyCluster, corev1.ServiceExternalTrafficPolicyLocal})
}

func (g *Generator) setAffinity(s *corev1.Service) {
	s.Spec.SessionAffinity, s.Spec.SessionAffinityConfig = corev1.ServiceAffinityNone, nil
	if g.chance(30) {
		s.Spec.SessionAffinity = corev1.ServiceAffinityClientIP
		s.Spec.SessionAffinityConfig = &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: ptr.To(pick(g.rng, affinityTimes))}}
	}
}

func (g *Generator) setLabel(s *corev1.Service) {
	s.Labels = nil
	percent := 12
	if g.world.Settings.ServiceProxyName != "" {
		percent = 80
	}
	if g.chance(percent) {
		s.Labels = map[string]string{labelServiceProxyName: pick(g.rng, []string{"another", ProxyName, ProxyName})}
	}
}

// setExternalAddresses gives a Service external IPs, and addresses of a load balancer, some of which other Services
// also have.
func (g *Generator) setExternalAddresses(s *corev1.Service, slot int) {
	s.Spec.ExternalIPs, s.Status.LoadBalancer.Ingress, s.Spec.LoadBalancerSourceRanges = nil, nil, nil
	for _, version := range s.Spec.IPFamilies {
		own, shared := fmt.Sprint("198.18.0.", 1+slot), externalIPv4
		if version == corev1.IPv6Protocol {
			own, shared = fmt.Sprintf("2001:db8:18::%d", 1+slot), externalIPv6
		}
		if g.chance(50) {
			s.Spec.ExternalIPs = append(s.Spec.ExternalIPs, pick(g.rng, shared))
		}
		if s.Spec.Type != corev1.ServiceTypeLoadBalancer || g.chance(10) {
			continue
		}
		ingress := corev1.LoadBalancerIngress{IP: own}
		if g.chance(15) {
			ingress.IP = pick(g.rng, shared)
		}
		ingress.IPMode = pick(g.rng, []*corev1.LoadBalancerIPMode{nil, nil, ptr.To(corev1.LoadBalancerIPModeVIP), ptr.To(corev1.LoadBalancerIPModeProxy)})
		if g.chance(5) {
			ingress = corev1.LoadBalancerIngress{Hostname: "lb.example.com"}
		}
		s.Status.LoadBalancer.Ingress = append(s.Status.LoadBalancer.Ingress, ingress)
	}
	if s.Spec.Type == corev1.ServiceTypeLoadBalancer && g.chance(35) {
		s.Spec.LoadBalancerSourceRanges = pick(g.rng, sourceRanges)
	}
}
