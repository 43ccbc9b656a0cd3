// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/antrea-oncache/antrea/pkg/agent/controller/noderoute"
	"github.com/antrea-oncache/antrea/pkg/agent/dependency"
)

// neededPort is the port of the server in each case of neededAddresses.
const neededPort = 6443

// needs is one address that the Node depends on, in both IP versions, and what happens to a Service's port there.
type needs struct {
	name   string
	v4, v6 string
	// port is the server's; 0: all are needed.
	port uint16
	// lost are the fields whose frontend at the port is left out everywhere, podsOnly those that keep it for Pods.
	lost, podsOnly string
}

const everyField = "externalIP loadBalancer clusterIP"

var neededAddresses = []needs{
	{"the API server", "192.0.2.250", "2001:db8::250", neededPort, everyField, ""},
	{"the API server's virtual address, from a connection", "192.0.2.251", "2001:db8::251", neededPort, everyField, ""},
	{"an Endpoint of default/kubernetes", "192.0.2.252", "2001:db8::252", neededPort, everyField, ""},
	{"an Endpoint of antrea-controller", "192.0.2.253", "2001:db8::253", neededPort, everyField, ""},
	{"the flow collector", "192.0.2.40", "2001:db8::40", neededPort, "externalIP", ""},
	{"a name server", "192.0.2.53", "2001:db8::53", neededPort, "externalIP", ""},
	{"the metadata service", "169.254.169.254", "fd00:ec2::254", 0, everyField, ""},
	{"a cloud's credentials for Pods", "169.254.170.23", "fd00:ec2::23", 0, everyField, ""},
	{"another cloud's secrets", "168.63.129.16", "fd00:c1::a9fe:a9fe", 0, everyField, ""},
	{"a next hop", "192.0.2.1", "2001:db8::1", 0, "", everyField},
	{"another Node's address", "192.168.0.2", "fd00:77::2", 0, "", everyField},
	{"another Node's transport address", "172.31.0.2", "fd00:31::2", 0, "", everyField},
	{"this Node's address", "192.168.0.1", "fd00:77::1", 0, "", everyField},
	{"this Node's gateway", "10.0.1.1", "fd00:1::1", 0, "", everyField},
	{"another Node's gateway", "10.0.2.1", "fd00:2::1", 0, "", everyField},
	{"where NodePorts are translated to", "169.254.0.252", "fc01::aabb:ccdd:eefe", 0, everyField, ""},
	{"the next hop of Services", "169.254.0.253", "fc01::aabb:ccdd:eeff", 0, everyField, ""},
}

// newNeedyBench returns a bench whose Node depends on all of neededAddresses.
func newNeedyBench(t *testing.T) *bench {
	config := allConfig
	config.NeededServices = map[types.NamespacedName]string{
		{Namespace: "default", Name: "kubernetes"}: dependency.API, {Namespace: "kube-system", Name: "antrea"}: "antrea-controller"}
	b := newBench(t, config)
	var given []dependency.Address
	add := func(kind dependency.Kind, port uint16, what, service string, at ...string) {
		for _, text := range at {
			given = append(given, dependency.Address{Addr: netip.MustParseAddr(text), Port: port, Kind: kind, What: what, Service: service})
		}
	}
	add(dependency.Server, neededPort, dependency.API, "default/kubernetes", "192.0.2.250", "2001:db8::250", "192.0.2.251", "2001:db8::251")
	add(dependency.Server, neededPort, "the flow collector", "", "192.0.2.40", "2001:db8::40")
	add(dependency.Server, neededPort, dependency.NameServer, "", "192.0.2.53", "2001:db8::53")
	for _, a := range dependency.Metadata {
		add(dependency.Server, 0, "the metadata service of clouds", dependency.NoService, a.String())
	}
	add(dependency.Host, 0, "a next hop of the Node", "", "192.0.2.1", "2001:db8::1")
	b.mark(b.core.setNeeded("the Node", given))
	for name, addresses := range map[string][]string{"kubernetes": {"192.0.2.252", "2001:db8::252"}, "antrea": {"192.0.2.253", "2001:db8::253"}} {
		for _, address := range addresses {
			s := testSlice(name+address, name, fmt.Sprint(neededPort), address)
			if s.Namespace = "kube-system"; name == "kubernetes" {
				s.Namespace = "default"
			}
			b.set(s)
		}
	}
	here := testNode(thisNode, testZone, "10.0.1.0/24", "fd00:1::/64")
	here.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.168.0.1"}, {Type: corev1.NodeInternalIP, Address: "fd00:77::1"}}
	there := testNode(otherNode, "b", "10.0.2.0/24", "fd00:2::/64")
	there.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.168.0.2"}, {Type: corev1.NodeInternalIP, Address: "fd00:77::2"}}
	there.Annotations = map[string]string{noderoute.TransportAddressesAnnotation: "172.31.0.2,fd00:31::2"}
	b.set(here, there)
	return b
}

// withField is a Service with the address in one of its fields.
func withField(field, address string, port uint16) *corev1.Service {
	ports := fmt.Sprint(port)
	other := map[bool]string{false: "10.96.0.9", true: "fd00:96::9"}[strings.Contains(address, ":")]
	switch field {
	case "externalIP":
		return testService("web", other, ports, externalIPs(address))
	case "loadBalancer":
		return testService("web", other, ports, balancedAt(address))
	}
	return testService("web", address, ports)
}

// No field of a Service takes away what the Node depends on: at the port of a server the frontend is refused, at an
// address of hosts it is for Pods only. The Service loses nothing else. Other ports of the address of a server are
// served, except at a cluster IP, whose route is for all ports.
func TestNoServiceTakesWhatTheNodeDependsOn(t *testing.T) {
	for _, n := range neededAddresses {
		for _, address := range []string{n.v4, n.v6} {
			for _, field := range strings.Fields(everyField) {
				for _, port := range []uint16{neededPort, 80} {
					t.Run(fmt.Sprintf("%s/%s as %s/%d", n.name, address, field, port), func(t *testing.T) {
						b := newNeedyBench(t)
						b.set(withField(field, address, port))
						b.settle()
						addr := netip.MustParseAddr(address)
						frontend, led := false, false
						for _, p := range b.flows.ports {
							for _, f := range p.Frontends {
								frontend = frontend || f.Address == netip.AddrPortFrom(addr, port)
							}
						}
						for _, routes := range b.routes {
							led = led || slices.Contains(routes, addr)
						}
						lost := strings.Contains(n.lost, field) && (n.port == 0 || n.port == port)
						podsOnly := strings.Contains(n.podsOnly, field) || !lost && field == "clusterIP" && port != n.port
						require.Equal(t, !lost, frontend, "in the switch")
						require.Equal(t, !lost && !podsOnly, led, "led there from the Node and from outside")
						require.Len(t, b.findings(), map[bool]int{true: 1}[lost || podsOnly], "%v", b.findings())
						if field != "clusterIP" {
							require.Contains(t, b.routes, keysOf(b.flows.ports)[0], "the cluster IP stays")
						}
					})
				}
			}
		}
	}
}

// Neither an Endpoint nor a Node gets an address of the pipeline.
func TestPipelineAddressesAreNobodys(t *testing.T) {
	for _, n := range neededAddresses[len(neededAddresses)-2:] {
		for _, address := range []string{n.v4, n.v6} {
			b := newBench(t, allConfig)
			node := testNode("n3", "")
			node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address}}
			b.set(node, testService("web", "10.96.0.1 fd00:96::1", "80"), testSlice("web-1", "web", "80", address))
			b.settle()
			require.Equal(t, []string{"EndpointsInvalid web-1: Endpoint: " + address + " is an address of every Node's pipeline"}, b.findings())
			require.Empty(t, b.core.nodes["n3"])
		}
	}
}

// When the Node's dependencies change, Services lose what it needs now, and get back what it no longer needs.
func TestServicesFollowDependencies(t *testing.T) {
	b := newBench(t, allConfig)
	b.set(testService("web", "10.96.0.1", "6443", externalIPs("192.0.2.250"), nodePorts("6443")))
	b.settle()
	name := "ns/web:6443/TCP"
	all := b.flows.ports[name].Frontends
	require.Len(t, all, 3)
	server := []dependency.Address{{Addr: netip.MustParseAddr("192.0.2.250"), Port: 6443, Kind: dependency.Server, What: dependency.API, Service: "default/kubernetes"}}
	b.mark(b.core.setNeeded("the Node", server))
	b.settle()
	require.Len(t, b.flows.ports[name].Frontends, 1)
	require.Equal(t, []string{"ServiceInvalid web: 192.0.2.250:6443 is the Kubernetes API, which this Node depends on: it is left out",
		"ServiceInvalid web: NodePort 6443 is the Kubernetes API, which this Node depends on: it is left out"}, b.findings())
	require.Empty(t, b.core.setNeeded("the Node", server), "nothing new")
	b.mark(b.core.setNeeded("the Node", nil))
	b.settle()
	require.Equal(t, all, b.flows.ports[name].Frontends)
	require.Empty(t, b.findings())
}

// The Kubernetes API as a Service has its own address.
func TestServiceOfTheAPI(t *testing.T) {
	b := newNeedyBench(t)
	s := testService("kubernetes", "192.0.2.250", fmt.Sprint(neededPort))
	s.Namespace = "default"
	b.set(s)
	b.settle()
	require.Equal(t, []netip.Addr{netip.MustParseAddr("192.0.2.250")}, b.routes["default/kubernetes:6443/TCP"])
	require.Empty(t, b.findings())
}

// Kubernetes accepts link-local addresses of load balancers, and kube-proxy serves them.
func TestLinkLocalLoadBalancer(t *testing.T) {
	b := newBench(t, allConfig)
	b.set(testService("web", "10.96.0.1", "80", balancedAt("169.254.169.1")), testService("other", "10.96.0.2", "80", externalIPs("169.254.169.2")),
		testService("six", "fd00:96::1", "80", balancedAt("fe80::1")))
	b.settle()
	require.Equal(t, []netip.Addr{netip.MustParseAddr("10.96.0.1"), netip.MustParseAddr("169.254.169.1")}, b.routes["ns/web:80/TCP"])
	require.Equal(t, []string{"ServiceInvalid other: spec.externalIPs: 169.254.169.2 is a link-local address",
		"ServiceInvalid six: status.loadBalancer.ingress: fe80::1 is a link-local address"}, b.findings())
}

// A Pod network that noderoute refuses counts for nothing here, and one that an older Node has counts for that Node.
func TestRefusedPodNetworks(t *testing.T) {
	b := newBench(t, allConfig)
	web := testService("web", "10.96.0.1", "80", balancedAt("203.0.113.10"), externalIPs("198.51.100.9"))
	db := testService("db", "10.96.0.2", "80")
	b.set(web, db, testSlice("web-1", "web", "80", here), testSlice("db-1", "db", "80", "192.0.2.7", "10.96.0.1"))
	b.settle()
	routes, findings := b.routes["ns/web:80/TCP"], b.findings()
	require.Len(t, routes, 3)
	b.set(testNode("evil", "", "0.0.0.0/0"))
	require.Empty(t, b.settle())
	require.Equal(t, routes, b.routes["ns/web:80/TCP"])
	require.Equal(t, findings, b.findings())

	young := testNode("young", "", "203.0.113.0/24")
	young.CreationTimestamp.Time = young.CreationTimestamp.AddDate(3000, 0, 0)
	b.set(testNode("old", "", "203.0.112.0/23"), young)
	b.settle()
	require.Len(t, b.routes["ns/web:80/TCP"], 2)
	b.remove(testNode("old", ""))
	b.settle()
	require.Len(t, b.routes["ns/web:80/TCP"], 2, "the young Node has the network now")
	b.remove(young)
	b.settle()
	require.Equal(t, routes, b.routes["ns/web:80/TCP"])
}
