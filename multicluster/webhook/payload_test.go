// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
)

// edited is the export of a kind with an edit of its payload.
func edited[T any](kind string, payload func(*v1alpha1.ResourceExportSpec) *T, edit func(*T)) *v1alpha1.ResourceExport {
	e := exportOf(kind)
	edit(payload(&e.Spec))
	return e
}

func service(edit func(*corev1.ServiceSpec)) *v1alpha1.ResourceExport {
	return edited("Service", func(s *v1alpha1.ResourceExportSpec) *corev1.ServiceSpec { return &s.Service.ServiceSpec }, edit)
}

func servedBy(edit func(*v1alpha1.Endpoints)) *v1alpha1.ResourceExport {
	return edited("Endpoints", func(s *v1alpha1.ResourceExportSpec) *v1alpha1.Endpoints { return s.Endpoints }, edit)
}

func info(edit func(*v1alpha1.ClusterInfo)) *v1alpha1.ResourceExport {
	return edited("ClusterInfo", func(s *v1alpha1.ResourceExportSpec) *v1alpha1.ClusterInfo { return s.ClusterInfo }, edit)
}

func serviceWith(ports ...corev1.ServicePort) *v1alpha1.ResourceExport {
	return service(func(s *corev1.ServiceSpec) { s.Ports = ports })
}

func withPort(p v1alpha1.EndpointPort) *v1alpha1.ResourceExport {
	return servedBy(func(e *v1alpha1.Endpoints) { e.Subsets[0].Ports[0] = p })
}

func withPorts(ports ...v1alpha1.EndpointPort) *v1alpha1.ResourceExport {
	return servedBy(func(e *v1alpha1.Endpoints) { e.Subsets[0].Ports = ports })
}

func tcp(name string, number int32) v1alpha1.EndpointPort {
	return v1alpha1.EndpointPort{Name: name, Port: number, Protocol: "TCP"}
}

// withLists has n subsets with different ports.
func withLists(n int32) *v1alpha1.ResourceExport {
	return servedBy(func(e *v1alpha1.Endpoints) {
		first := e.Subsets[0]
		e.Subsets = nil
		for i := range n {
			e.Subsets = append(e.Subsets, v1alpha1.EndpointSubset{Addresses: first.Addresses, Ports: []v1alpha1.EndpointPort{tcp("", i+1)}})
		}
	})
}

func withAddress(a v1alpha1.EndpointAddress) *v1alpha1.ResourceExport {
	return servedBy(func(e *v1alpha1.Endpoints) { e.Subsets[0].Addresses[0] = a })
}

func withServiceCIDR(network string) *v1alpha1.ResourceExport {
	return info(func(i *v1alpha1.ClusterInfo) { i.ServiceCIDR = network })
}

// TestPayloads: each value that Kubernetes or an agent would refuse in another cluster, and each excess, is refused and named.
func TestPayloads(t *testing.T) {
	many := make([]corev1.ServicePort, 101)
	for _, test := range []struct {
		name   string
		export *v1alpha1.ResourceExport
		want   string
	}{
		{"two ports", serviceWith(corev1.ServicePort{Name: "a", Port: 80}, corev1.ServicePort{Name: "b", Port: 80, Protocol: "UDP"}), ""},
		{"no ports", serviceWith(), "spec.service.serviceSpec.ports is empty"},
		{"101 ports", serviceWith(many...), "spec.service.serviceSpec.ports has 101 ports; allowed: 100"},
		{"port 0", serviceWith(corev1.ServicePort{}), "ports[0].port is 0; allowed: 1 to 65535"},
		{"port 65536", serviceWith(corev1.ServicePort{Port: 65536}), "ports[0].port is 65536"},
		{"a protocol", serviceWith(corev1.ServicePort{Port: 1, Protocol: "ICMP"}), `ports[0].protocol is "ICMP"; allowed: TCP, UDP, SCTP`},
		{"a port's name", serviceWith(corev1.ServicePort{Port: 1, Name: "A"}), `ports[0].name "A" is not a DNS-1123 label`},
		{"one port twice", serviceWith(corev1.ServicePort{Port: 1, Name: "a"}, corev1.ServicePort{Port: 1, Name: "b", Protocol: "TCP"}), "has the name or the port of another one"},
		{"one name twice", serviceWith(corev1.ServicePort{Port: 1, Name: "a"}, corev1.ServicePort{Port: 2, Name: "a"}), "has the name or the port of another one"},
		{"a port without name", serviceWith(corev1.ServicePort{Port: 1}, corev1.ServicePort{Port: 2, Name: "a"}), "several ports need names"},

		{"no subsets", servedBy(func(e *v1alpha1.Endpoints) { e.Subsets = nil }), ""},
		{"101 subsets", servedBy(func(e *v1alpha1.Endpoints) { e.Subsets = make([]v1alpha1.EndpointSubset, 101) }), "has 101 subsets; allowed: 100"},
		{"1001 addresses", servedBy(func(e *v1alpha1.Endpoints) { e.Subsets[0].Addresses = make([]v1alpha1.EndpointAddress, 1001) }), "has 1001 addresses; allowed: 1000"},
		{"101 ports of Endpoints", servedBy(func(e *v1alpha1.Endpoints) { e.Subsets[0].Ports = make([]v1alpha1.EndpointPort, 101) }), "subsets[0].ports has 101 ports; allowed: 100"},
		{"port 0 of Endpoints", withPort(v1alpha1.EndpointPort{}), "subsets[0].ports[0].port is 0"},
		{"a protocol of Endpoints", withPort(v1alpha1.EndpointPort{Port: 1, Protocol: "x"}), `subsets[0].ports[0].protocol is "x"`},
		{"no protocol of Endpoints", withPort(v1alpha1.EndpointPort{Port: 1}), `subsets[0].ports[0].protocol is ""; allowed: TCP, UDP, SCTP`},
		{"no ports of Endpoints", withPorts(), "subsets[0].ports is empty"},
		{"two ports of Endpoints", withPorts(tcp("a", 1), tcp("b", 2)), ""},
		{"one name twice in Endpoints", withPorts(tcp("a", 1), tcp("a", 2)), "subsets[0].ports[1] (name \"a\", port 2, protocol TCP) has the name or the port of another one"},
		{"one port twice in Endpoints", withPorts(tcp("a", 1), tcp("b", 1)), "has the name or the port of another one"},
		{"one number for two protocols", withPorts(tcp("a", 1), v1alpha1.EndpointPort{Name: "b", Port: 1, Protocol: "UDP"}), ""},
		{"a port of Endpoints without name", withPorts(tcp("", 1), tcp("b", 2)), "several ports need names"},
		{"16 lists of ports", withLists(16), ""},
		{"17 lists of ports", withLists(17), "subsets has 17 different lists of ports; allowed: 16"},
		{"16 lists, one in two orders", servedBy(func(e *v1alpha1.Endpoints) {
			*e = *withLists(16).Spec.Endpoints
			e.Subsets[0].Ports = []v1alpha1.EndpointPort{tcp("a", 1), tcp("b", 2)}
			e.Subsets = append(e.Subsets, v1alpha1.EndpointSubset{Addresses: e.Subsets[0].Addresses, Ports: []v1alpha1.EndpointPort{tcp("b", 2), tcp("a", 1)}})
		}), ""},
		{"IPv6", withAddress(v1alpha1.EndpointAddress{IP: "fd00::1"}), `subsets[0].addresses[0].ip is "fd00::1"; want a unicast IPv4 address`},
		{"loopback", withAddress(v1alpha1.EndpointAddress{IP: "127.0.0.1"}), `ip is "127.0.0.1"`},
		{"link-local", withAddress(v1alpha1.EndpointAddress{IP: "169.254.1.1"}), `ip is "169.254.1.1"`},
		{"multicast", withAddress(v1alpha1.EndpointAddress{IP: "224.0.0.1"}), `ip is "224.0.0.1"`},
		{"unspecified", withAddress(v1alpha1.EndpointAddress{IP: "0.0.0.0"}), `ip is "0.0.0.0"`},
		{"no address", withAddress(v1alpha1.EndpointAddress{}), `ip is ""`},

		{"no Service network", withServiceCIDR(""), ""},
		{"all addresses", withServiceCIDR("0.0.0.0/0"), `spec.clusterInfo.serviceCIDR is "0.0.0.0/0"; want an IPv4 network`},
		{"half of them", withServiceCIDR("128.0.0.0/1"), `serviceCIDR is "128.0.0.0/1"`},
		{"the loopback network", withServiceCIDR("127.0.0.0/8"), `serviceCIDR is "127.0.0.0/8"`},
		{"an IPv6 network", withServiceCIDR("fd00::/108"), `serviceCIDR is "fd00::/108"`},
		{"no network", withServiceCIDR("10.0.0.1"), `serviceCIDR is "10.0.0.1"`},
		{"another member's network", withServiceCIDR("10.100.128.0/17"), `serviceCIDR 10.100.128.0/17 overlaps 10.100.0.0/16, the Service network of member "west"`},
		{"around another member's network", withServiceCIDR("10.0.0.0/8"), `overlaps 10.100.0.0/16, the Service network of member "west"`},
		{"a Gateway", info(func(i *v1alpha1.ClusterInfo) { i.GatewayInfos[0].GatewayIP = "x" }), `gatewayInfos[0].gatewayIP is "x"`},
		{"17 Gateways", info(func(i *v1alpha1.ClusterInfo) { i.GatewayInfos = make([]v1alpha1.GatewayInfo, 17) }), "has 17 Gateways; allowed: 16"},
		{"a Pod network", info(func(i *v1alpha1.ClusterInfo) { i.PodCIDRs[0] = "0.0.0.0/0" }), `podCIDRs[0] is "0.0.0.0/0"`},
		{"65 Pod networks", info(func(i *v1alpha1.ClusterInfo) { i.PodCIDRs = make([]string, 65) }), "has 65 networks; allowed: 64"},
		{"a key", info(func(i *v1alpha1.ClusterInfo) { i.WireGuard.PublicKey = "AAAA" }), `publicKey "AAAA" is not a public key of WireGuard`},
		{"a large object", servedBy(func(e *v1alpha1.Endpoints) { e.Subsets[0].Ports[0].Name = strings.Repeat("x", 256<<10) }), "bytes; allowed: 262144"},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, user := range []string{east, admin} {
				decision{user: user, wanted: encoded(t, test.export), want: test.want}.check(t, (*state).leader, ExportPath)
			}
			// An object from before the rule can still get another label, and lose its finalizer.
			decision{user: east, wanted: encoded(t, test.export), former: encoded(t, test.export)}.check(t, (*state).leader, ExportPath)
		})
	}
	long := exportOf("LabelIdentity")
	long.Spec.LabelIdentity.NormalizedLabel = strings.Repeat("x", 16<<10+1)
	long.Name = labelIdentityName("east", long.Spec.LabelIdentity.NormalizedLabel)
	decision{user: east, wanted: encoded(t, long), want: "normalizedLabel has 16385 bytes; allowed: 16384"}.check(t, (*state).leader, ExportPath)
}
