// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
)

var (
	worlds = flag.Int("worlds", 30, "number of random clusters")
	seed   = flag.Uint64("seed", 1, "seed of the first random cluster")
)

// chance makes random objects from few values, so that they meet.
type chance struct{ *rand.Rand }

func pick[T any](c chance, values ...T) T { return values[c.IntN(len(values))] }

func (c chance) some(values ...string) (chosen []string) {
	for _, v := range values {
		if c.IntN(3) == 0 {
			chosen = append(chosen, v)
		}
	}
	return chosen
}

func (c chance) condition() *bool { return pick(c, nil, &yes, &yes, &no) }

func (c chance) service(name string) *corev1.Service {
	s := testService(name, "10.96.0.1", "")
	s.Namespace = pick(c, "ns", "ns", "other")
	s.CreationTimestamp = metav1.Unix(int64(c.IntN(3)), 0)
	s.Spec.ClusterIPs = pick(c, []string{"None"}, []string{"10.96.0.1", "fd00:96::1"}, []string{fmt.Sprint("fd00:96::", 1+c.IntN(4))},
		[]string{fmt.Sprint("10.96.0.", 1+c.IntN(5))}, []string{fmt.Sprint("10.96.0.", 1+c.IntN(5))}, []string{"10.96.0.2", "fd00:96::2"}, []string{"10.96.x", "10.96.0.3"})
	s.Spec.ClusterIP = s.Spec.ClusterIPs[0]
	s.Labels = pick(c, nil, nil, nil, nil, map[string]string{labelServiceProxyName: "mine"}, map[string]string{corev1.IsHeadlessService: ""})
	s.Spec.Type = pick(c, corev1.ServiceTypeClusterIP, corev1.ServiceTypeClusterIP, corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeNodePort, corev1.ServiceTypeExternalName)
	for range 1 + c.IntN(3) {
		s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: pick(c, "", "a", "b"), Port: pick[int32](c, 80, 81, 82, 0), NodePort: pick[int32](c, 0, 30080, 30081, 30082), Protocol: pick(c, corev1.ProtocolTCP, corev1.ProtocolTCP, corev1.ProtocolUDP)})
	}
	s.Spec.InternalTrafficPolicy = pick(c, nil, nil, ptr.To(corev1.ServiceInternalTrafficPolicyLocal), ptr.To(corev1.ServiceInternalTrafficPolicyCluster))
	s.Spec.ExternalTrafficPolicy = pick(c, "", corev1.ServiceExternalTrafficPolicyLocal)
	s.Spec.ExternalIPs = c.some("192.0.2.1", "192.0.2.2", "10.96.0.1", "2001:db8::1", "127.0.0.1")
	s.Spec.LoadBalancerSourceRanges = pick(c, nil, nil, c.some("198.51.100.0/24", "203.0.113.1/32", "2001:db8:1::/48", "0.0.0.0/0"))
	for _, ip := range c.some("192.0.2.1", "192.0.2.3", "2001:db8::1") {
		s.Status.LoadBalancer.Ingress = append(s.Status.LoadBalancer.Ingress, corev1.LoadBalancerIngress{IP: ip, IPMode: pick(c, nil, ptr.To(corev1.LoadBalancerIPModeVIP), ptr.To(corev1.LoadBalancerIPModeProxy))})
	}
	if c.IntN(4) == 0 {
		clientIP(ptr.To(pick[int32](c, 1, 10800, 86400)))(s)
	}
	return s
}

func (c chance) slice(name string) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: pick(c, "ns", "ns", "other"), Name: name}}
	s.Labels = map[string]string{discoveryv1.LabelServiceName: fmt.Sprint("s", c.IntN(6))}
	if c.IntN(10) == 0 {
		s.Labels[corev1.IsHeadlessService] = ""
	}
	s.AddressType = pick(c, discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6, discoveryv1.AddressTypeFQDN)
	for range 1 + c.IntN(3) {
		s.Ports = append(s.Ports, discoveryv1.EndpointPort{Name: ptr.To(pick(c, "", "a", "b")), Protocol: ptr.To(pick(c, corev1.ProtocolTCP, corev1.ProtocolTCP, corev1.ProtocolUDP)),
			Port: pick(c, nil, ptr.To[int32](8080), ptr.To[int32](8080), ptr.To[int32](8081), ptr.To[int32](0))})
	}
	hinted := c.IntN(2) == 0
	for range c.IntN(5) {
		four := pick(c, fmt.Sprint("10.0.1.", 1+c.IntN(3)), fmt.Sprint("10.0.2.", 1+c.IntN(3)), fmt.Sprint("10.0.3.", 1+c.IntN(3)), "192.168.0.1", "198.51.100.1", "127.0.0.1",
			fmt.Sprint("10.96.0.", 1+c.IntN(5)))
		six := pick(c, "fd00:1::1", "fd00:2::1", "fd00:3::1", "2001:db8::9", "::1", fmt.Sprint("fd00:96::", 1+c.IntN(4)))
		e := discoveryv1.Endpoint{Addresses: []string{map[discoveryv1.AddressType]string{discoveryv1.AddressTypeIPv4: four, discoveryv1.AddressTypeIPv6: six,
			discoveryv1.AddressTypeFQDN: "x.example"}[s.AddressType]}}
		e.Conditions = discoveryv1.EndpointConditions{Ready: c.condition(), Serving: c.condition(), Terminating: pick(c, nil, nil, c.condition())}
		e.NodeName = pick(c, nil, ptr.To("n1"), ptr.To("n2"))
		if hinted || c.IntN(4) == 0 {
			e.Hints = &discoveryv1.EndpointHints{}
			for _, zone := range c.some("a", "b") {
				e.Hints.ForZones = append(e.Hints.ForZones, discoveryv1.ForZone{Name: zone})
			}
			for _, node := range c.some("n1", "n2") {
				e.Hints.ForNodes = append(e.Hints.ForNodes, discoveryv1.ForNode{Name: node})
			}
		}
		s.Endpoints = append(s.Endpoints, e)
	}
	return s
}

func (c chance) config() Config {
	return Config{
		NodeName: thisNode, IPv4: c.IntN(8) > 0, IPv6: c.IntN(4) > 0, LoadBalancerIPs: c.IntN(4) > 0, NodeHints: c.IntN(2) > 0, EndUDP: c.IntN(2) > 0,
		PodNetworks: testConfig.PodNetworks, SkipServices: pick(c, nil, nil, []string{"ns/s1", "10.96.0.5"}), ServiceProxyName: pick(c, "", "", "", "mine"),
		ProxyAll: c.IntN(2) > 0,
	}
}

// event changes one object of the world and tells the bench. It returns the Services that a change of an EndpointSlice is
// about, nil for other objects.
func (c chance) event(w *world, b *bench) (only []string) {
	switch c.IntN(10) {
	case 0, 1, 2:
		s := c.service(fmt.Sprint("s", c.IntN(6)))
		name := s.Namespace + "/" + s.Name
		if c.IntN(4) == 0 {
			delete(w.services, name)
			b.remove(s)
		} else {
			w.services[name] = s
			b.set(s)
		}
	case 3:
		name := pick(c, "n1", "n2", "n3")
		n := testNode(name, pick(c, "", "a", "b"), pick(c, c.some("10.0.2.0/24", "10.0.3.0/24", "fd00:2::/64"), []string{"10.0." + name[1:] + ".0/24"})...)
		for _, address := range c.some("192.0.2.1", "192.0.2.2", "2001:db8::1") {
			n.Status.Addresses = append(n.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeExternalIP, Address: address})
		}
		if c.IntN(4) == 0 {
			delete(w.nodes, name)
			b.remove(n)
		} else {
			w.nodes[name] = n
			b.set(n)
		}
	default:
		s := c.slice(fmt.Sprint("e", c.IntN(12)))
		name := s.Namespace + "/" + s.Name
		former := w.slices[name]
		only = []string{}
		for _, touched := range []*discoveryv1.EndpointSlice{former, s} {
			if touched != nil {
				only = append(only, touched.Namespace+"/"+touched.Labels[discoveryv1.LabelServiceName]+":")
			}
		}
		if c.IntN(5) == 0 && former != nil {
			delete(w.slices, name)
			b.mark(b.core.deleteSlice(former))
		} else {
			w.slices[name] = s
			b.mark(b.core.setSlice(former, s))
		}
	}
	return only
}

// After any sequence of changes, and of refusals by the switch, the switch has what the documentation says.
func TestRandomClusters(t *testing.T) {
	for i := range *worlds {
		n := *seed + uint64(i)
		t.Run(fmt.Sprint("seed=", n), func(t *testing.T) { randomCluster(t, chance{rand.New(rand.NewPCG(n, 0))}) })
	}
}

func randomCluster(t *testing.T, c chance) {
	config := c.config()
	b := newBench(t, config)
	w := &world{map[string]*corev1.Service{}, map[string]*discoveryv1.EndpointSlice{}, map[string]*corev1.Node{}}
	b.remove(testNode(thisNode, ""), testNode(otherNode, ""))
	users := newUsers(b, config)
	for range 150 {
		settled := len(b.dirty) == 0
		only := c.event(w, b)
		if c.IntN(3) == 0 {
			continue // Several events at once.
		}
		b.flows.refuse = nil
		if c.IntN(4) == 0 {
			b.flows.refuse = func(openflow.ServicePort) bool { return c.IntN(2) == 0 }
		}
		before := map[string]openflow.ServicePort{}
		for name, p := range b.flows.ports {
			before[name] = p
		}
		log := b.settle()
		if b.flows.refuse != nil {
			continue
		}
		for b.flows.refuse = nil; len(b.dirty) > 0; {
			log = append(log, b.settle()...)
		}
		require.Empty(t, cmp.Diff(w.expected(config), b.flows.ports, cmpopts.EquateEmpty(), cmpopts.EquateComparable(netip.AddrPort{}, netip.Prefix{})))
		if settled && only != nil {
			checkFew(t, before, b.flows.ports, only, log)
		}
		users.check(t, w)
	}
	checkFindings(t, w, b, config)
}

// checkFew: a change of an EndpointSlice leads to one operation for each port that is different now, all of the slice's Service.
func checkFew(t *testing.T, before, now map[string]openflow.ServicePort, only, log []string) {
	t.Helper()
	different := 0
	for name := range now {
		if !cmp.Equal(before[name], now[name], cmpopts.EquateEmpty(), cmpopts.EquateComparable(netip.AddrPort{}, netip.Prefix{})) {
			different++
		}
	}
	for _, line := range log {
		require.True(t, slices.ContainsFunc(only, func(prefix string) bool { return strings.HasPrefix(line, "+ "+prefix) }), "%s is not of %s", line, only)
	}
	require.LessOrEqual(t, len(log), different+2*len(only), "only the kept connections of UDP can be another reason")
	require.GreaterOrEqual(t, len(log), different)
}

// checkFindings compares what was found wrong with what another core finds that gets all objects at once.
func checkFindings(t *testing.T, w *world, b *bench, config Config) {
	t.Helper()
	fresh := newBench(t, config)
	fresh.remove(testNode(thisNode, ""), testNode(otherNode, ""))
	for _, n := range w.nodes {
		fresh.set(n)
	}
	for _, s := range w.services {
		fresh.set(s)
	}
	for _, s := range w.slices {
		fresh.set(s)
	}
	b.flows.refuse = nil
	for len(b.dirty) > 0 {
		b.settle()
	}
	fresh.settle()
	require.Equal(t, fresh.findings(), b.findings())
	require.Empty(t, cmp.Diff(fresh.flows.ports, b.flows.ports, cmpopts.EquateComparable(netip.AddrPort{}, netip.Prefix{})))
	require.Len(t, b.core.outside, len(fresh.core.outside))
	require.Equal(t, fresh.core.clusterIPs, b.core.clusterIPs)
	require.Equal(t, fresh.core.users, b.core.users)
	require.Equal(t, fresh.core.usersNear, b.core.usersNear)
	require.Equal(t, fresh.routes, b.routes)
}
