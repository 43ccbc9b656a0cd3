// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
	"github.com/antrea-oncache/antrea/pkg/agent/dependency"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
)

// allConfig is testConfig with proxyAll and ONCache; this Node's address is 192.168.0.1.
var allConfig = func() Config {
	c := testConfig
	c.ProxyAll, c.RewritePort = true, 585
	c.NodeAddresses, c.Gateways = []netip.Addr{netip.MustParseAddr("192.168.0.1")}, []netip.Addr{netip.MustParseAddr("10.0.1.1"), netip.MustParseAddr("fd00:1::1")}
	return c
}()

// nodePorts gives the Service's ports these NodePorts, in order.
func nodePorts(ports string) func(*corev1.Service) {
	return func(s *corev1.Service) {
		if s.Spec.Type == corev1.ServiceTypeClusterIP {
			s.Spec.Type = corev1.ServiceTypeNodePort
		}
		for i, text := range strings.Fields(ports) {
			number, err := strconv.Atoi(text)
			if err != nil {
				panic(err)
			}
			s.Spec.Ports[i].NodePort = int32(number)
		}
	}
}

func clusterIPType(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeClusterIP }

// balancedAt has an address of a load balancer, and admits these clients.
func balancedAt(address string, ranges ...string) func(*corev1.Service) {
	return func(s *corev1.Service) {
		loadBalancer(corev1.LoadBalancerIngress{IP: address})(s)
		sourceRanges(ranges...)(s)
	}
}

func TestProxyAllServices(t *testing.T) {
	const endpoints = "= 10.0.1.1:80(here,pod) 10.0.2.1:80(pod)"
	for _, tc := range []struct {
		name     string
		service  *corev1.Service
		want     []string
		routes   string
		problems []string
	}{
		{"cluster IP", testService("web", "10.96.0.1", "80"), []string{"+ ns/web:80/TCP 10.96.0.1:80 " + endpoints}, "10.96.0.1", nil},
		{"NodePort", testService("web", "10.96.0.1", "80", nodePorts("30080")), []string{"+ ns/web:80/TCP 10.96.0.1:80 0.0.0.0:30080(nodeport) " + endpoints}, "10.96.0.1", nil},
		{"NodePort of a Service that is no longer one", testService("web", "10.96.0.1", "80", nodePorts("30080"), clusterIPType),
			[]string{"+ ns/web:80/TCP 10.96.0.1:80 " + endpoints}, "10.96.0.1", nil},
		{"NodePort, externalTrafficPolicy Local", testService("web", "10.96.0.1", "80", externalLocal, nodePorts("30080")),
			[]string{"+ ns/web:80/TCP 10.96.0.1:80 0.0.0.0:30080(local,nodeport) " + endpoints + " | 10.0.1.1:80(here,pod)"}, "10.96.0.1", nil},
		{"NodePort, internalTrafficPolicy Local", testService("web", "10.96.0.1", "80", internalLocal, nodePorts("30080")),
			[]string{"+ ns/web:80/TCP 10.96.0.1:80(local) 0.0.0.0:30080(nodeport) " + endpoints + " | 10.0.1.1:80(here,pod)"}, "10.96.0.1", nil},
		{"NodePort, two IP versions", testService("web", "10.96.0.1 fd00:96::1", "80", nodePorts("30080")),
			[]string{"+ ns/web:80/TCP 10.96.0.1:80 0.0.0.0:30080(nodeport) " + endpoints, "+ ns/web:80/TCP/IPv6 [fd00:96::1]:80 [::]:30080(nodeport) ="}, "10.96.0.1 fd00:96::1", nil},
		{"the port of rewritten packets", testService("web", "10.96.0.1", "a:80 b:81/UDP c:82/SCTP", nodePorts("585 585 585")),
			[]string{"+ ns/web:80/TCP 10.96.0.1:80 =", "+ ns/web:81/UDP 10.96.0.1:81 =", "+ ns/web:82/SCTP 10.96.0.1:82 0.0.0.0:585(nodeport) ="},
			"10.96.0.1 10.96.0.1 10.96.0.1", []string{
				`ServiceInvalid web: nodePort 585 of port "a" is the port of rewritten packets: connections to it fail; use another one, or another oncache.rewritePort on all Nodes`,
				`ServiceInvalid web: nodePort 585 of port "b" is the port of rewritten packets: connections to it fail; use another one, or another oncache.rewritePort on all Nodes`,
			}},
		{"two ports with one NodePort", testService("web", "10.96.0.1", "a:80 b:81 c:82/UDP", nodePorts("30080 30080 30080")),
			[]string{"+ ns/web:80/TCP 10.96.0.1:80 0.0.0.0:30080(nodeport) =", "+ ns/web:81/TCP 10.96.0.1:81 =", "+ ns/web:82/UDP 10.96.0.1:82 0.0.0.0:30080(nodeport) ="},
			"10.96.0.1 10.96.0.1 10.96.0.1", []string{`ServiceInvalid web: nodePort 30080 of port "b" is also the nodePort of another port of the Service`}},
		{"NodePort out of range", testService("web", "10.96.0.1", "80", nodePorts("70000")), []string{"+ ns/web:80/TCP 10.96.0.1:80 " + endpoints}, "10.96.0.1",
			[]string{`ServiceInvalid web: nodePort of port "": port 70000 is out of range, want 1 to 65535`}},

		{"external addresses", testService("web", "10.96.0.1", "80", externalIPs("192.0.2.1"), balancedAt("192.0.2.2")),
			[]string{"+ ns/web:80/TCP 10.96.0.1:80 192.0.2.2:80(external) 192.0.2.1:80(external) " + endpoints}, "10.96.0.1 192.0.2.2 192.0.2.1", nil},
		{"external addresses of a Node and of a Pod", testService("web", "10.96.0.1", "80", externalIPs("192.168.0.2", "10.0.2.9")),
			[]string{"+ ns/web:80/TCP 10.96.0.1:80 192.168.0.2:80(external) 10.0.2.9:80(external) " + endpoints}, "10.96.0.1",
			[]string{"ServiceInvalid web: 10.0.2.9 is in the network of Pods: it is the Service's for Pods only", "ServiceInvalid web: 192.168.0.2 is an address of a Node: it is the Service's for Pods only"}},

		{"source ranges", testService("web", "10.96.0.1", "80", nodePorts("30080"), externalIPs("192.0.2.1"), balancedAt("192.0.2.2", " 198.51.100.7/24 ", "198.51.100.0/24", "2001:db8::/32")),
			[]string{"+ ns/web:80/TCP 10.96.0.1:80 192.0.2.2:80(external,restricted) 192.0.2.1:80(external) 0.0.0.0:30080(nodeport) " + endpoints + " sources=[198.51.100.0/24]"},
			"10.96.0.1 192.0.2.2 192.0.2.1", nil},
		{"source ranges with this Node", testService("web", "10.96.0.1", "80", balancedAt("192.0.2.2", "192.168.0.0/16")),
			[]string{"+ ns/web:80/TCP 10.96.0.1:80 192.0.2.2:80(external,restricted) " + endpoints + " sources=[192.168.0.0/16 10.0.1.1/32]"}, "10.96.0.1 192.0.2.2", nil},
		{"source ranges for all clients", testService("web", "10.96.0.1", "80", balancedAt("192.0.2.2", "10.0.0.0/8", "0.0.0.0/0")),
			[]string{"+ ns/web:80/TCP 10.96.0.1:80 192.0.2.2:80(external) " + endpoints}, "10.96.0.1 192.0.2.2", nil},
		{"source ranges of another IP version, and none", testService("web", "10.96.0.1", "80", balancedAt("192.0.2.2", "2001:db8::/32", "x")),
			[]string{"+ ns/web:80/TCP 10.96.0.1:80 192.0.2.2:80(external,restricted) " + endpoints}, "10.96.0.1 192.0.2.2",
			[]string{`ServiceInvalid web: loadBalancerSourceRanges: "x" is not a network`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t, allConfig)
			node := testNode(otherNode, "b", "10.0.2.0/24", "fd00:2::/64")
			node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.168.0.2"}, {Type: corev1.NodeHostName, Address: "n2"}}
			b.set(node, tc.service, testSlice("web-1", "web", "80", here, there))
			require.Equal(t, tc.want, b.settle())
			require.Equal(t, tc.problems, b.findings())
			var routes []string
			for _, name := range keysOf(b.routes) {
				for _, a := range b.routes[name] {
					routes = append(routes, a.String())
				}
			}
			require.Equal(t, tc.routes, strings.Join(routes, " "))
			b.remove(tc.service, node)
			b.settle()
			require.Empty(t, b.routes)
			require.Empty(t, b.core.users)
			require.Empty(t, b.core.usersNear)
			require.Empty(t, b.core.nodePorts)
			require.Equal(t, dependency.None, b.core.needs.Needs(netip.MustParseAddr("192.168.0.2"), 0).Kind)
			require.Empty(t, b.core.claims)
		})
	}
}

// An external address becomes a Node's, or a Pod's, and ceases to be one.
func TestRoutesFollowNodes(t *testing.T) {
	b := newBench(t, allConfig)
	b.set(testService("web", "10.96.0.1", "80", externalIPs("192.168.0.3", "10.0.3.9")))
	b.settle()
	routes := func() []netip.Addr { b.settle(); return b.routes["ns/web:80/TCP"] }
	all := []netip.Addr{netip.MustParseAddr("10.96.0.1"), netip.MustParseAddr("192.168.0.3"), netip.MustParseAddr("10.0.3.9")}
	require.Equal(t, all, routes())
	node := testNode("n3", "", "10.0.3.0/24")
	b.set(node)
	require.Equal(t, all[:2], routes())
	node = node.DeepCopy()
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.168.0.3"}}
	b.set(node)
	require.Equal(t, all[:1], routes())
	b.remove(node)
	require.Equal(t, all, routes())
	require.Empty(t, b.findings())
}

func TestHealthChecks(t *testing.T) {
	checked := func(s *corev1.Service) { externalLocal(s); s.Spec.HealthCheckNodePort = 32000 }
	for _, tc := range []struct {
		name   string
		change []func(*corev1.Service)
		slices []string
		want   healthCheck
	}{
		{"two Endpoints here", []func(*corev1.Service){checked}, []string{here, "10.0.1.2@n1", there}, healthCheck{32000, 2}},
		{"none here", []func(*corev1.Service){checked}, []string{there}, healthCheck{32000, 0}},
		{"one that is not ready, one that terminates", []func(*corev1.Service){checked}, []string{here + " notready", "10.0.1.2@n1 terminating"}, healthCheck{32000, 0}},
		{"policy Cluster", []func(*corev1.Service){checked, func(s *corev1.Service) { s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyCluster }}, []string{here}, healthCheck{}},
		{"no load balancer", []func(*corev1.Service){checked, clusterIPType}, []string{here}, healthCheck{}},
		{"no port", []func(*corev1.Service){externalLocal}, []string{here}, healthCheck{}},
		{"the port of rewritten packets", []func(*corev1.Service){checked, func(s *corev1.Service) { s.Spec.HealthCheckNodePort = 585 }}, []string{here}, healthCheck{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t, allConfig)
			s := testService("web", "10.96.0.1", "a:80 b:81", tc.change...)
			b.set(s, testSlice("web-1", "web", "a:80 b:81", tc.slices...))
			b.settle()
			require.Equal(t, tc.want, b.health[key{Namespace: "ns", Name: "web"}], "an Endpoint with two ports counts once")
			b.remove(s)
			b.settle()
			require.Zero(t, b.health[key{Namespace: "ns", Name: "web"}])
		})
	}
}

// newHostBench returns a bench for proxyAll, and a cleaner that also checks the host's connections. The Node has the
// address 192.168.0.1.
func newHostBench(t *testing.T, connections *fakeConnections) (*bench, *cleaner) {
	b := newBench(t, allConfig)
	clean := newCleaner(connections, connections, b.state.allowance)
	clean.host = true
	clean.setAddresses([]netip.Addr{netip.MustParseAddr("192.168.0.1")})
	return b, clean
}

// UDP connections through NodePorts: in the switch, and on the host, which translates them first.
func TestConnectionsToNodePorts(t *testing.T) {
	const zone = openflow.ConntrackZoneIPv4
	const nodeAddress, virtual = "192.168.0.1:30053", "169.254.0.252:30053"
	table := func() map[string]*conntrack.Connection {
		return map[string]*conntrack.Connection{
			"from outside, to the first Endpoint":        connection(zone, unix.IPPROTO_UDP, virtual, "10.0.1.1:53", serviceMark),
			"from outside, to the second Endpoint":       connection(zone, unix.IPPROTO_UDP, virtual, "10.0.2.1:53", serviceMark),
			"of a Pod, to the second Endpoint":           connection(zone, unix.IPPROTO_UDP, nodeAddress, "10.0.2.1:53", serviceMark),
			"TCP":                                        connection(zone, unix.IPPROTO_TCP, virtual, "10.0.2.1:53", serviceMark),
			"to another NodePort":                        connection(zone, unix.IPPROTO_UDP, "169.254.0.252:30054", "10.0.2.1:53", serviceMark),
			"on the host, translated":                    connection(conntrack.HostZone, unix.IPPROTO_UDP, nodeAddress, virtual, 0),
			"on the host, not translated":                connection(conntrack.HostZone, unix.IPPROTO_UDP, nodeAddress, nodeAddress, 0),
			"on the host, to another address":            connection(conntrack.HostZone, unix.IPPROTO_UDP, "192.168.0.9:30053", "192.168.0.9:30053", 0),
			"on the host, another port, translated":      connection(conntrack.HostZone, unix.IPPROTO_UDP, "192.168.0.1:30054", "169.254.0.252:30054", 0),
			"on the host, another port, not translated":  connection(conntrack.HostZone, unix.IPPROTO_UDP, "192.168.0.1:30055", "192.168.0.1:30055", 0),
			"on the host, to a cluster IP, untranslated": connection(conntrack.HostZone, unix.IPPROTO_UDP, "10.96.0.1:53", "10.96.0.1:53", 0),
		}
	}
	dns := testService("dns", "10.96.0.1", "53/UDP", nodePorts("30053"))
	for _, tc := range []struct {
		name   string
		change func(*bench, *cleaner)
		ended  []string
	}{
		{"an Endpoint is removed", func(b *bench, _ *cleaner) { b.set(testSlice("dns-1", "dns", "53/UDP", "10.0.1.1@n1")) },
			[]string{"from outside, to the second Endpoint", "of a Pod, to the second Endpoint", "on the host, not translated"}},
		{"the NodePort is removed", func(b *bench, _ *cleaner) { b.set(testService("dns", "10.96.0.1", "53/UDP")) },
			[]string{"from outside, to the first Endpoint", "from outside, to the second Endpoint", "of a Pod, to the second Endpoint", "on the host, translated"}},
		{"the start", func(_ *bench, c *cleaner) { c.everything() }, []string{"to another NodePort", "on the host, not translated", "on the host, another port, translated"}},
		{"nothing", func(*bench, *cleaner) {}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			all := table()
			connections := connectionsOf(all)
			b, clean := newHostBench(t, connections)
			b.settled = clean.after
			b.set(dns, testSlice("dns-1", "dns", "53/UDP", "10.0.1.1@n1", "10.0.2.1@n2"))
			b.settle()
			clean.pending = map[frontendKey]bool{}
			tc.change(b, clean)
			b.settle()
			require.NoError(t, clean.clean(t.Context()))
			connections.requireEnded(t, all, tc.ended...)
		})
	}
}

// An address of the Node that a Service has given up: its connections end, although the address could serve a NodePort.
func TestConnectionsToNodeAddress(t *testing.T) {
	open := connection(openflow.ConntrackZoneIPv4, unix.IPPROTO_UDP, "192.168.0.1:53", "10.0.1.1:53", serviceMark)
	connections := &fakeConnections{table: []*conntrack.Connection{open}}
	b, clean := newHostBench(t, connections)
	b.settled = clean.after
	b.set(testService("dns", "10.96.0.1", "53/UDP", externalIPs("192.168.0.1")), testSlice("dns-1", "dns", "53/UDP", "10.0.1.1@n1"))
	b.settle()
	require.NoError(t, clean.clean(t.Context()))
	require.Len(t, connections.table, 1)
	b.set(testService("dns", "10.96.0.1", "53/UDP"))
	b.settle()
	require.NoError(t, clean.clean(t.Context()))
	require.Empty(t, connections.table)
}
