// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

const (
	here, there = "10.0.1.1@n1", "10.0.2.1@n2"
	// web is the result for a Service with cluster IP 10.96.0.1, port 80 and these two Endpoints.
	web = "+ ns/web:80/TCP 10.96.0.1:80 = 10.0.1.1:8080(here,pod) 10.0.2.1:8080(pod)"
)

// Changes of Services.

func internalLocal(s *corev1.Service) {
	s.Spec.InternalTrafficPolicy = ptr.To(corev1.ServiceInternalTrafficPolicyLocal)
}

func externalLocal(s *corev1.Service) {
	s.Spec.Type, s.Spec.ExternalTrafficPolicy = corev1.ServiceTypeLoadBalancer, corev1.ServiceExternalTrafficPolicyLocal
}

func externalIPs(ips ...string) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Spec.ExternalIPs = ips }
}

func loadBalancer(ingress ...corev1.LoadBalancerIngress) func(*corev1.Service) {
	return func(s *corev1.Service) {
		s.Spec.Type = corev1.ServiceTypeLoadBalancer
		s.Status.LoadBalancer.Ingress = ingress
	}
}

func sourceRanges(ranges ...string) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Spec.LoadBalancerSourceRanges = ranges }
}

func clientIP(seconds *int32) func(*corev1.Service) {
	return func(s *corev1.Service) {
		s.Spec.SessionAffinity = corev1.ServiceAffinityClientIP
		if seconds != nil {
			s.Spec.SessionAffinityConfig = &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: seconds}}
		}
	}
}

func serviceLabel(name, value string) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Labels = map[string]string{name: value} }
}

func created(seconds int64) func(*corev1.Service) {
	return func(s *corev1.Service) { s.CreationTimestamp = metav1.Unix(seconds, 0) }
}

func TestOneService(t *testing.T) {
	proxyMode, vipMode := corev1.LoadBalancerIPModeProxy, corev1.LoadBalancerIPModeVIP
	slice := func(endpoints ...string) *discoveryv1.EndpointSlice {
		return testSlice("web-1", "web", "8080", endpoints...)
	}
	for _, tc := range []struct {
		name    string
		objects []any
		change  func(*Config)
		want    []string
	}{
		{"Endpoints of both Nodes", []any{testService("web", "10.96.0.1", "80"), slice(here, there)}, nil, []string{web}},
		{"no Endpoint", []any{testService("web", "10.96.0.1", "80")}, nil, []string{"+ ns/web:80/TCP 10.96.0.1:80 ="}},
		{"no Service", []any{slice(here)}, nil, nil},
		{"two IP versions", []any{testService("web", "fd00:96::1 10.96.0.1", "80"), slice(here), testSlice("web-6", "web", "8080", "fd00:2::1@n2")}, nil,
			[]string{"+ ns/web:80/TCP 10.96.0.1:80 = 10.0.1.1:8080(here,pod)", "+ ns/web:80/TCP/IPv6 [fd00:96::1]:80 = [fd00:2::1]:8080(pod)"}},
		{"an IP version that Pods do not have", []any{testService("web", "fd00:96::1 10.96.0.1", "80"), slice(here)}, func(c *Config) { c.IPv6 = false },
			[]string{"+ ns/web:80/TCP 10.96.0.1:80 = 10.0.1.1:8080(here,pod)"}},
		{"UDP and SCTP", []any{testService("web", "10.96.0.1", "a:80/UDP b:80/SCTP"), testSlice("web-1", "web", "a:8080/UDP b:8081/SCTP", here)}, nil,
			[]string{"+ ns/web:80/SCTP 10.96.0.1:80 = 10.0.1.1:8081(here,pod)", "+ ns/web:80/UDP 10.96.0.1:80 = 10.0.1.1:8080(here,pod)"}},
		{"named ports with different numbers", []any{testService("web", "10.96.0.1", "http:80 admin:81"), testSlice("web-1", "web", "http:8080 admin:9090", here),
			testSlice("web-2", "web", "http:8888", there)}, nil,
			[]string{"+ ns/web:80/TCP 10.96.0.1:80 = 10.0.1.1:8080(here,pod) 10.0.2.1:8888(pod)", "+ ns/web:81/TCP 10.96.0.1:81 = 10.0.1.1:9090(here,pod)"}},
		{"a port with the protocol of another", []any{testService("web", "10.96.0.1", "80"), testSlice("web-1", "web", "8080/UDP", here)}, nil,
			[]string{"+ ns/web:80/TCP 10.96.0.1:80 ="}},
		{"a Node's own address and one outside the cluster", []any{testService("web", "10.96.0.1", "80"), slice("192.168.0.1@n1", "192.168.0.2@n2", "198.51.100.1")}, nil,
			[]string{"+ ns/web:80/TCP 10.96.0.1:80 = 192.168.0.1:8080(here) 192.168.0.2:8080 198.51.100.1:8080"}},
		{"a Pod's address without Node", []any{testService("web", "10.96.0.1", "80", internalLocal), slice("10.0.1.7")}, nil,
			[]string{"+ ns/web:80/TCP 10.96.0.1:80(local) ="}},
		{"a Pod's address with the wrong Node", []any{testService("web", "10.96.0.1", "80"), slice("10.0.2.7@n1")}, nil,
			[]string{"+ ns/web:80/TCP 10.96.0.1:80 = 10.0.2.7:8080(pod)"}},

		{"headless", []any{testService("web", "None", "80"), slice(here)}, nil, nil},
		{"without address yet", []any{testService("web", "10.96.0.1", "80", func(s *corev1.Service) { s.Spec.ClusterIP, s.Spec.ClusterIPs = "", nil })}, nil, nil},
		{"ExternalName", []any{testService("web", "10.96.0.1", "80", func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeExternalName })}, nil, nil},
		{"label headless", []any{testService("web", "10.96.0.1", "80", serviceLabel(corev1.IsHeadlessService, "")), slice(here)}, nil, nil},
		{"slices with label headless", []any{testService("web", "10.96.0.1", "80"), func() any {
			s := slice(here)
			s.Labels[corev1.IsHeadlessService] = ""
			return s
		}()}, nil, []string{"+ ns/web:80/TCP 10.96.0.1:80 ="}},
		{"of another proxy", []any{testService("web", "10.96.0.1", "80", serviceLabel(labelServiceProxyName, "other")), slice(here)}, nil, nil},
		{"of this proxy by name", []any{testService("web", "10.96.0.1", "80", serviceLabel(labelServiceProxyName, "mine")), slice(here, there)},
			func(c *Config) { c.ServiceProxyName = "mine" }, []string{web}},
		{"without the name of this proxy", []any{testService("web", "10.96.0.1", "80"), slice(here)}, func(c *Config) { c.ServiceProxyName = "mine" }, nil},
		{"skipped by name", []any{testService("web", "10.96.0.1", "80"), slice(here)}, func(c *Config) { c.SkipServices = []string{"ns/web"} }, nil},
		{"skipped by address", []any{testService("web", "fd00:96::1 10.96.0.1", "80"), slice(here)}, func(c *Config) { c.SkipServices = []string{"10.96.0.1"} }, nil},

		{"not ready", []any{testService("web", "10.96.0.1", "80"), slice(here+" notready", there)}, nil, []string{"+ ns/web:80/TCP 10.96.0.1:80 = 10.0.2.1:8080(pod)"}},
		{"terminating, while others are ready", []any{testService("web", "10.96.0.1", "80"), slice(here+" terminating", there)}, nil,
			[]string{"+ ns/web:80/TCP 10.96.0.1:80 = 10.0.2.1:8080(pod)"}},
		{"all terminating", []any{testService("web", "10.96.0.1", "80"), slice(here+" terminating", there+" terminating notserving")}, nil,
			[]string{"+ ns/web:80/TCP 10.96.0.1:80 = 10.0.1.1:8080(here,pod)"}},
		{"not ready and not terminating is never used", []any{testService("web", "10.96.0.1", "80"), slice(here + " notready")}, nil,
			[]string{"+ ns/web:80/TCP 10.96.0.1:80 ="}},
		{"ready although terminating (publishNotReadyAddresses)", []any{testService("web", "10.96.0.1", "80"), slice(here+" terminating ready", there)}, nil, []string{web}},

		{"internalTrafficPolicy Local", []any{testService("web", "10.96.0.1", "80", internalLocal), slice(here, there)}, nil,
			[]string{"+ ns/web:80/TCP 10.96.0.1:80(local) = | 10.0.1.1:8080(here,pod)"}},
		{"internalTrafficPolicy Local, only terminating here", []any{testService("web", "10.96.0.1", "80", internalLocal), slice(here+" terminating", there)}, nil,
			[]string{"+ ns/web:80/TCP 10.96.0.1:80(local) = | 10.0.1.1:8080(here,pod)"}},
		{"internalTrafficPolicy Local, none here", []any{testService("web", "10.96.0.1", "80", internalLocal), slice(there)}, nil,
			[]string{"+ ns/web:80/TCP 10.96.0.1:80(local) ="}},
		{"internalTrafficPolicy Local does not concern external addresses", []any{testService("web", "10.96.0.1", "80", internalLocal, externalIPs("192.0.2.1")), slice(here, there)}, nil,
			[]string{"+ ns/web:80/TCP 10.96.0.1:80(local) 192.0.2.1:80(external) = 10.0.1.1:8080(here,pod) 10.0.2.1:8080(pod) | 10.0.1.1:8080(here,pod)"}},
		{"externalTrafficPolicy Local: clients in the cluster get all", []any{testService("web", "10.96.0.1", "80", externalLocal, externalIPs("192.0.2.1")), slice(here, there)}, nil,
			[]string{"+ ns/web:80/TCP 10.96.0.1:80 192.0.2.1:80(external,local) = 10.0.1.1:8080(here,pod) 10.0.2.1:8080(pod) | 10.0.1.1:8080(here,pod)"}},
		{"both policies Local", []any{testService("web", "10.96.0.1", "80", internalLocal, externalLocal, externalIPs("192.0.2.1")), slice(here, there)}, nil,
			[]string{"+ ns/web:80/TCP 10.96.0.1:80(local) 192.0.2.1:80(external,local) = 10.0.1.1:8080(here,pod) 10.0.2.1:8080(pod) | 10.0.1.1:8080(here,pod)"}},

		{"addresses of load balancers", []any{testService("web", "10.96.0.1", "80", loadBalancer(corev1.LoadBalancerIngress{IP: "192.0.2.1", IPMode: &vipMode},
			corev1.LoadBalancerIngress{IP: "192.0.2.2", IPMode: &proxyMode}, corev1.LoadBalancerIngress{Hostname: "lb.example"}, corev1.LoadBalancerIngress{IP: "192.0.2.3"})), slice(here)},
			nil, []string{"+ ns/web:80/TCP 10.96.0.1:80 192.0.2.1:80(external) 192.0.2.3:80(external) = 10.0.1.1:8080(here,pod)"}},
		{"addresses of load balancers, not wanted", []any{testService("web", "10.96.0.1", "80", loadBalancer(corev1.LoadBalancerIngress{IP: "192.0.2.1"})), slice(here)},
			func(c *Config) { c.LoadBalancerIPs = false }, []string{"+ ns/web:80/TCP 10.96.0.1:80 = 10.0.1.1:8080(here,pod)"}},
		{"a load balancer that admits this Node's Pods", []any{testService("web", "10.96.0.1", "80", loadBalancer(corev1.LoadBalancerIngress{IP: "192.0.2.1"}),
			sourceRanges("192.168.0.0/16", " 10.0.0.0/16 ")), slice(here)}, nil, []string{"+ ns/web:80/TCP 10.96.0.1:80 192.0.2.1:80(external) = 10.0.1.1:8080(here,pod)"}},
		{"a load balancer that admits some of this Node's Pods", []any{testService("web", "10.96.0.1", "80", loadBalancer(corev1.LoadBalancerIngress{IP: "192.0.2.1"}),
			sourceRanges("10.0.1.0/25")), slice(here)}, nil, []string{"+ ns/web:80/TCP 10.96.0.1:80 = 10.0.1.1:8080(here,pod)"}},
		{"external IPs, one of them twice and one a cluster IP", []any{testService("web", "10.96.0.1", "80", externalIPs("192.0.2.1", "192.0.2.1", "10.96.0.1", "2001:db8::1"),
			loadBalancer(corev1.LoadBalancerIngress{IP: "192.0.2.1"})), slice(here)}, nil,
			[]string{"+ ns/web:80/TCP 10.96.0.1:80 192.0.2.1:80(external) = 10.0.1.1:8080(here,pod)", "+ ns/web:80/TCP/IPv6 [2001:db8::1]:80(external) ="}},

		{"affinity with its default", []any{testService("web", "10.96.0.1", "80", clientIP(nil)), slice(here)}, nil,
			[]string{"+ ns/web:80/TCP 10.96.0.1:80 = 10.0.1.1:8080(here,pod) affinity=3h0m0s"}},
		{"affinity", []any{testService("web", "10.96.0.1", "80", clientIP(ptr.To[int32](30))), slice(here)}, nil,
			[]string{"+ ns/web:80/TCP 10.96.0.1:80 = 10.0.1.1:8080(here,pod) affinity=30s"}},
		{"affinity above the switch's maximum", []any{testService("web", "10.96.0.1", "80", clientIP(ptr.To[int32](86400))), slice(here)}, nil,
			[]string{"+ ns/web:80/TCP 10.96.0.1:80 = 10.0.1.1:8080(here,pod) affinity=" + (65535 * time.Second).String()}},

		{"hints for zones", []any{testService("web", "10.96.0.1", "80"), slice(here+" zone=b", there+" zone=a zone=b")}, nil,
			[]string{"+ ns/web:80/TCP 10.96.0.1:80 = 10.0.2.1:8080(pod)"}},
		{"a ready Endpoint without hint", []any{testService("web", "10.96.0.1", "80"), slice(here, there+" zone=a")}, nil, []string{web}},
		{"an unready Endpoint without hint", []any{testService("web", "10.96.0.1", "80"), slice(here+" notready", there+" zone=a", "10.0.2.2@n2 zone=b")}, nil,
			[]string{"+ ns/web:80/TCP 10.96.0.1:80 = 10.0.2.1:8080(pod)"}},
		{"hints for other zones", []any{testService("web", "10.96.0.1", "80"), slice(here+" zone=b", there+" zone=c")}, nil, []string{web}},
		{"hints for Nodes", []any{testService("web", "10.96.0.1", "80"), slice(here+" node=n2 zone=a", there+" node=n1 zone=b")}, nil,
			[]string{"+ ns/web:80/TCP 10.96.0.1:80 = 10.0.2.1:8080(pod)"}},
		{"hints for other Nodes, then for zones", []any{testService("web", "10.96.0.1", "80"), slice(here+" node=n3 zone=a", there+" node=n2 zone=b")}, nil,
			[]string{"+ ns/web:80/TCP 10.96.0.1:80 = 10.0.1.1:8080(here,pod)"}},
		{"hints for Nodes, not followed", []any{testService("web", "10.96.0.1", "80"), slice(here+" node=n2", there+" node=n1")}, func(c *Config) { c.NodeHints = false }, []string{web}},
		{"hints do not concern the policy Local", []any{testService("web", "10.96.0.1", "80", internalLocal), slice(here+" zone=b", there+" zone=a")}, nil,
			[]string{"+ ns/web:80/TCP 10.96.0.1:80(local) = | 10.0.1.1:8080(here,pod)"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			config := testConfig
			if tc.change != nil {
				tc.change(&config)
			}
			b := newBench(t, config)
			b.set(tc.objects...)
			require.Equal(t, tc.want, b.settle())
			require.Empty(t, b.findings())
			b.set(tc.objects...)
			require.Empty(t, b.settle(), "nothing has changed")
			b.remove(tc.objects...)
			require.Len(t, b.settle(), len(tc.want))
			require.Empty(t, b.flows.ports)
			require.Empty(t, b.core.services)
			require.Empty(t, b.core.slices)
			require.Empty(t, b.core.claims)
			require.Empty(t, b.core.clusterIPs)
			require.Empty(t, b.core.outside)
			require.Empty(t, b.state.ports)
			require.Empty(t, b.state.holders)
		})
	}
}

// Each change leads to operations of the ports that it concerns, and to no others.
func TestChanges(t *testing.T) {
	b := newBench(t, testConfig)
	b.set(testService("web", "10.96.0.1", "80"), testSlice("web-1", "web", "8080", here), testSlice("web-2", "web", "8080", there),
		testService("db", "10.96.0.2", "5432"), testSlice("db-1", "db", "5432", "10.0.1.2@n1", "10.0.2.2@n2 zone=a"))
	b.settle()
	step := func(name string, want []string, objects ...any) {
		t.Helper()
		b.set(objects...)
		require.Equal(t, want, b.settle(), name)
	}
	step("an Endpoint more", []string{"+ ns/web:80/TCP 10.96.0.1:80 = 10.0.1.1:8080(here,pod) 10.0.2.1:8080(pod) 10.0.2.9:8080(pod)"},
		testSlice("web-2", "web", "8080", there, "10.0.2.9@n2"))
	step("an Endpoint less", []string{web}, testSlice("web-2", "web", "8080", there))
	step("an Endpoint in two slices: the one that is alive counts", nil, testSlice("web-2", "web", "8080", there, "10.0.1.1@n1 terminating notserving"))
	step("an Endpoint moves to another slice", nil, testSlice("web-1", "web", "8080"), testSlice("web-2", "web", "8080", there, here))
	step("a port gets another name and another number", []string{"- ns/web:80/TCP", "+ ns/web:81/TCP 10.96.0.1:81 ="}, testService("web", "10.96.0.1", "http:81"))
	step("a port gets another name", []string{"+ ns/web:81/TCP 10.96.0.1:81 = 10.0.1.1:8080(here,pod) 10.0.2.1:8080(pod)"}, testService("web", "10.96.0.1", "81"))
	step("another cluster IP", []string{"+ ns/web:81/TCP 10.96.0.7:81 = 10.0.1.1:8080(here,pod) 10.0.2.1:8080(pod)"}, testService("web", "10.96.0.7", "81"))
	step("it becomes headless", []string{"- ns/web:81/TCP"}, testService("web", "None", "81"))
	step("and back", []string{web}, testService("web", "10.96.0.1", "80"))
	step("another zone: only hints matter, and here they are incomplete", nil, testNode(thisNode, "c", "10.0.1.0/24"))
	step("a Node's Pod network changes", []string{"+ ns/db:5432/TCP 10.96.0.2:5432 = 10.0.1.2:5432(here,pod) 10.0.2.2:5432",
		"+ ns/web:80/TCP 10.96.0.1:80 = 10.0.1.1:8080(here,pod) 10.0.2.1:8080"}, testNode(otherNode, "b", "10.0.3.0/24"))

	moved := testSlice("web-2", "web", "8080", there, here)
	now := testSlice("web-2", "db", "8080", there, here)
	b.mark(b.core.setSlice(moved, now))
	require.Equal(t, []string{"+ ns/db:5432/TCP 10.96.0.2:5432 = 10.0.1.1:8080(here,pod) 10.0.1.2:5432(here,pod) 10.0.2.1:8080 10.0.2.2:5432",
		"+ ns/web:80/TCP 10.96.0.1:80 ="}, b.settle(), "a slice gets another Service")
}

func TestZoneChanges(t *testing.T) {
	b := newBench(t, testConfig)
	b.set(testService("web", "10.96.0.1", "80"), testSlice("web-1", "web", "8080", here+" zone=a", there+" zone=b"))
	require.Equal(t, []string{"+ ns/web:80/TCP 10.96.0.1:80 = 10.0.1.1:8080(here,pod)"}, b.settle())
	b.set(testNode(thisNode, "b", "10.0.1.0/24", "fd00:1::/64"))
	require.Equal(t, []string{"+ ns/web:80/TCP 10.96.0.1:80 = 10.0.2.1:8080(pod)"}, b.settle())
	b.remove(testNode(thisNode, ""))
	require.Equal(t, []string{web}, b.settle())
}

// Two Services want one address: the owner does not depend on the order of events.
func TestAddressTaken(t *testing.T) {
	old, young := testService("old", "10.96.0.1", "80", created(1)), testService("young", "10.96.0.1", "80 b:81", created(2))
	thief := testService("athief", "10.96.0.9", "80", created(0), externalIPs("10.96.0.1"))
	for _, order := range [][]any{{old, young, thief}, {thief, young, old}, {young, old, thief}} {
		b := newBench(t, testConfig)
		for _, o := range order {
			b.set(o)
			b.settle()
		}
		require.ElementsMatch(t, []string{"ns/old:80/TCP", "ns/young:81/TCP", "ns/athief:80/TCP"}, keysOf(b.flows.ports))
		require.Len(t, b.flows.ports["ns/athief:80/TCP"].Frontends, 1)
		require.Equal(t, []string{"ServiceAddressTaken athief: 10.96.0.1:80/TCP belongs to Service ns/old", "ServiceAddressTaken young: 10.96.0.1:80/TCP belongs to Service ns/old"}, b.findings())

		b.remove(old)
		require.Equal(t, []string{"- ns/old:80/TCP", "+ ns/young:80/TCP 10.96.0.1:80 ="}, b.settle())
		require.Equal(t, []string{"ServiceAddressTaken athief: 10.96.0.1:80/TCP belongs to Service ns/young"}, b.findings())
		b.remove(young)
		require.Contains(t, b.settle(), "+ ns/athief:80/TCP 10.96.0.9:80 10.96.0.1:80(external) =")
		require.Empty(t, b.findings())
	}
}

// A frontend that the switch still has for another port is not asked for.
func TestRefusedRemovalIsWaitedFor(t *testing.T) {
	b := newBench(t, testConfig)
	old, young := testService("zold", "10.96.0.1", "80", created(2)), testService("ayoung", "10.96.0.1", "80", created(1), externalIPs("192.0.2.1"))
	b.set(old)
	b.settle()
	// The older one comes later. It is handled first, and cannot have the address before the younger one has given it
	// up.
	b.set(young)
	require.Equal(t, []string{"+ ns/ayoung:80/TCP 192.0.2.1:80(external) =", "- ns/zold:80/TCP", "+ ns/ayoung:80/TCP 10.96.0.1:80 192.0.2.1:80(external) ="}, b.settle())
}

func TestBadObjects(t *testing.T) {
	for _, tc := range []struct {
		name    string
		objects []any
		want    []string
		problem []string
	}{
		{"cluster IPs", []any{testService("web", "10.96.0.300 127.0.0.1", "80")}, nil,
			[]string{`ServiceInvalid web: spec.clusterIPs: "10.96.0.300" is not an IP address`, "ServiceInvalid web: spec.clusterIPs: 127.0.0.1 is a loopback address"}},
		{"external IPs", []any{testService("web", "10.96.0.1", "80", externalIPs("0.0.0.0", "224.0.0.1", "::ffff:192.0.2.1", "fe80::1", "255.255.255.255"))},
			[]string{"+ ns/web:80/TCP 10.96.0.1:80 ="}, []string{"ServiceInvalid web: spec.externalIPs: 0.0.0.0 is the address of no host",
				"ServiceInvalid web: spec.externalIPs: 224.0.0.1 is a multicast address", "ServiceInvalid web: spec.externalIPs: 255.255.255.255 is the broadcast address",
				"ServiceInvalid web: spec.externalIPs: ::ffff:192.0.2.1 is an IPv4 address written as an IPv6 one", "ServiceInvalid web: spec.externalIPs: fe80::1 is a link-local address"}},
		{"ports", []any{testService("web", "10.96.0.1", "a:80 b:80 a:81 c:0 d:70000 e:82/ICMP")}, []string{"+ ns/web:80/TCP 10.96.0.1:80 ="},
			[]string{`ServiceInvalid web: port "a" (81/TCP) has the name or the number of another port of the Service`,
				`ServiceInvalid web: port "b" (80/TCP) has the name or the number of another port of the Service`, `ServiceInvalid web: port "c": port 0 is out of range, want 1 to 65535`,
				`ServiceInvalid web: port "d": port 70000 is out of range, want 1 to 65535`, `ServiceInvalid web: port "e": protocol "ICMP", want TCP, UDP or SCTP`}},
		{"Endpoints", []any{testService("web", "10.96.0.1", "80"), func() any {
			s := testSlice("web-1", "web", "8080 b:0 8081", here, "127.0.0.1", "169.254.1.1", "x")
			s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{}, discoveryv1.Endpoint{Addresses: []string{"fd00:1::1"}})
			return s
		}()}, []string{"+ ns/web:80/TCP 10.96.0.1:80 = 10.0.1.1:8080(here,pod)"}, []string{"EndpointsInvalid web-1: Endpoint: 127.0.0.1 is a loopback address",
			`EndpointsInvalid web-1: Endpoint: 169.254.1.1 is a link-local address`, `EndpointsInvalid web-1: Endpoint: "x" is not an IP address`,
			`EndpointsInvalid web-1: port "b": port 0 is out of range, want 1 to 65535`, `EndpointsInvalid web-1: two ports have the name "": 8081 is left out`}},
		{"loops", []any{testService("web", "10.96.0.1", "80"), testService("db", "10.96.0.2", "80"), testSlice("web-1", "web", "80", "10.96.0.2", "10.96.0.1", here)},
			[]string{"+ ns/db:80/TCP 10.96.0.2:80 =", "+ ns/web:80/TCP 10.96.0.1:80 = 10.0.1.1:80(here,pod)"},
			[]string{"EndpointsInvalid web-1: 10.96.0.1 is the cluster IP of a Service: an Endpoint must have an address of its own",
				"EndpointsInvalid web-1: 10.96.0.2 is the cluster IP of a Service: an Endpoint must have an address of its own"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t, testConfig)
			good := testService("good", "10.96.0.99", "1")
			b.set(good)
			b.set(tc.objects...)
			require.ElementsMatch(t, append(tc.want, "+ ns/good:1/TCP 10.96.0.99:1 ="), b.settle())
			require.ElementsMatch(t, tc.problem, b.findings())
		})
	}
}

// An address becomes a cluster IP while it is an Endpoint, and ceases to be one.
func TestLoopComesAndGoes(t *testing.T) {
	b := newBench(t, testConfig)
	b.set(testService("web", "10.96.0.1", "80"), testSlice("web-1", "web", "80", "10.96.0.2"))
	require.Equal(t, []string{"+ ns/web:80/TCP 10.96.0.1:80 = 10.96.0.2:80"}, b.settle())
	b.set(testService("db", "10.96.0.2", "80"))
	require.Equal(t, []string{"+ ns/db:80/TCP 10.96.0.2:80 =", "+ ns/web:80/TCP 10.96.0.1:80 ="}, b.settle())
	b.remove(testService("db", "10.96.0.2", "80"))
	require.Equal(t, []string{"- ns/db:80/TCP", "+ ns/web:80/TCP 10.96.0.1:80 = 10.96.0.2:80"}, b.settle())
}

func TestHugeObjects(t *testing.T) {
	b := newBench(t, testConfig)
	var addresses []string
	for i := range 2 * maxAddresses {
		addresses = append(addresses, fmt.Sprintf("192.0.%d.%d", 2+i/200, 1+i%200))
	}
	ports := ""
	for i := range maxFrontends/maxAddresses + 1 {
		ports += fmt.Sprintf("p%d:%d ", i, 1000+i)
	}
	many := testSlice("web-1", "web", "p0:80")
	for i := range 2 * maxEndpoints {
		address := netip.AddrFrom4([4]byte{10, 0, byte(2 + i>>8), byte(i)}).String()
		many.Endpoints = append(many.Endpoints, discoveryv1.Endpoint{Addresses: []string{address}, NodeName: ptr.To(otherNode)})
	}
	last := &many.Endpoints[2*maxEndpoints-1]
	last.NodeName = ptr.To(thisNode)
	b.set(testService("web", "10.96.0.1", ports, externalIPs(addresses...)), many)
	b.settle()
	require.Len(t, b.flows.ports, maxFrontends/maxAddresses)
	p := b.flows.ports["ns/web:1000/TCP"]
	require.Len(t, p.Frontends, maxAddresses)
	require.Len(t, p.Cluster, maxEndpoints)
	require.Equal(t, last.Addresses[0], p.Cluster[0].Address.Addr().String(), "Endpoints of this Node come first")
	require.Equal(t, []string{
		fmt.Sprintf("ServiceInvalid web: %d addresses are not handled: a Service can have %d", maxAddresses+1, maxAddresses),
		fmt.Sprintf(`ServiceInvalid web: port "p0" has %d Endpoints: only %d are used`, 2*maxEndpoints, maxEndpoints),
		fmt.Sprintf(`ServiceInvalid web: port "p%d" is not handled: a Service can have %d pairs of port and address`, maxFrontends/maxAddresses, maxFrontends),
	}, b.findings())
}
