// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package services

import (
	"cmp"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// testWorld has the Nodes node-1 in zone a and node-2 in zone b, and no Services.
func testWorld(settings Settings, objects ...any) *World {
	w := &World{Settings: settings, Nodes: []*Node{newNode(1), newNode(2)}}
	for _, o := range objects {
		switch o := o.(type) {
		case *corev1.Service:
			w.Services = append(w.Services, o)
		case *discoveryv1.EndpointSlice:
			w.Slices = append(w.Slices, o)
		case *Node:
			w.Nodes[0] = o
		default:
			panic(fmt.Sprintf("%T", o))
		}
	}
	return w
}

// service makes Service ns/web, with cluster IP 10.96.0.1 and port 80/TCP named http.
func service(change ...func(*corev1.Service)) *corev1.Service {
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", CreationTimestamp: metav1.Unix(1000, 0)}}
	s.Spec = corev1.ServiceSpec{
		Type: corev1.ServiceTypeClusterIP, ClusterIP: "10.96.0.1", ClusterIPs: []string{"10.96.0.1"}, IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol},
		Ports: []corev1.ServicePort{{Name: "http", Protocol: corev1.ProtocolTCP, Port: 80}},
	}
	for _, f := range change {
		f(s)
	}
	return s
}

func internalLocal(s *corev1.Service) {
	s.Spec.InternalTrafficPolicy = ptr.To(corev1.ServiceInternalTrafficPolicyLocal)
}

func externalLocal(s *corev1.Service) {
	s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
}

func affine(s *corev1.Service) { s.Spec.SessionAffinity = corev1.ServiceAffinityClientIP }

func labeled(value string) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Labels = map[string]string{labelServiceProxyName: value} }
}

func external(ip string) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Spec.ExternalIPs = []string{ip} }
}

// loadBalancer adds the address 198.18.0.1 and NodePort 30000.
func loadBalancer(mode corev1.LoadBalancerIPMode, ranges ...string) func(*corev1.Service) {
	return func(s *corev1.Service) {
		s.Spec.Type, s.Spec.LoadBalancerSourceRanges, s.Spec.Ports[0].NodePort = corev1.ServiceTypeLoadBalancer, ranges, 30000
		s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "198.18.0.1", IPMode: &mode}}
	}
}

func named(name, clusterIP string, seconds int64) func(*corev1.Service) {
	return func(s *corev1.Service) {
		s.Name, s.Spec.ClusterIP, s.Spec.ClusterIPs, s.CreationTimestamp = name, clusterIP, []string{clusterIP}, metav1.Unix(seconds, 0)
	}
}

// slice makes an EndpointSlice of ns/web with port http at 8080. Endpoints are written ADDRESS[@NODE][ STATE...], where the states are
// notready, serving (not ready, but serving and terminating), gone (not ready, terminating, not serving), zone=Z and node=N.
func slice(endpoints ...string) *discoveryv1.EndpointSlice {
	return sliceOf("web", "http", 8080, endpoints...)
}

func sliceOf(service, portName string, port int32, endpoints ...string) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: "ns", Labels: map[string]string{discoveryv1.LabelServiceName: service}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: &portName, Port: &port}},
	}
	for _, text := range endpoints {
		fields := strings.Fields(text)
		address, node, _ := strings.Cut(fields[0], "@")
		e := discoveryv1.Endpoint{Addresses: []string{address}}
		if node != "" {
			e.NodeName = &node
		}
		for _, state := range fields[1:] {
			setState(&e, state)
		}
		s.Endpoints = append(s.Endpoints, e)
	}
	return s
}

func setState(e *discoveryv1.Endpoint, state string) {
	if e.Hints == nil && strings.Contains(state, "=") {
		e.Hints = &discoveryv1.EndpointHints{}
	}
	yes, no := true, false
	switch what, value, _ := strings.Cut(state, "="); what {
	case "notready":
		e.Conditions = discoveryv1.EndpointConditions{Ready: &no, Serving: &no}
	case "serving":
		e.Conditions = discoveryv1.EndpointConditions{Ready: &no, Terminating: &yes}
	case "gone":
		e.Conditions = discoveryv1.EndpointConditions{Ready: &no, Serving: &no, Terminating: &yes}
	case "zone":
		e.Hints.ForZones = append(e.Hints.ForZones, discoveryv1.ForZone{Name: value})
	case "node":
		e.Hints.ForNodes = append(e.Hints.ForNodes, discoveryv1.ForNode{Name: value})
	default:
		panic(state)
	}
}

const (
	aPod     = "10.10.1.11"
	aGateway = "10.10.1.1"
	outsider = "198.51.100.7"
)

// The client is on node-1, or its packets come there.
func clientOf(ip string) Client {
	kind := map[string]ClientKind{aPod: FromPod, aGateway: FromNode}
	if k, ok := kind[ip]; ok {
		return Client{k, "node-1", netip.MustParseAddr(ip)}
	}
	return Client{FromOutside, "node-1", netip.MustParseAddr(ip)}
}

var beside, all = Settings{LoadBalancerIPs: true, NodeHints: true}, Settings{ProxyAll: true, LoadBalancerIPs: true, NodeHints: true}

// text writes a verdict.
func text(v Verdict) string {
	words := []string{v.Outcome.String()}
	for _, a := range v.Addresses() {
		words = append(words, a.String())
	}
	for flag, set := range map[string]bool{"affinity": v.Affinity, "open": v.Open && !v.OpenRejected, "open or rejected": v.OpenRejected} {
		if set {
			words = append(words, flag)
		}
	}
	return strings.Join(words, " ")
}

// The addresses of the tests: Pods .11 and .12 of either Node, the Nodes, and one outside.
const (
	here, there             = "10.10.1.12:8080", "10.10.2.11:8080"
	both                    = "served " + here + " " + there
	podHere, podThere       = "10.10.1.12@node-1", "10.10.2.11@node-2"
	untouched               = "left as it is"
	clusterPort, external80 = "10.96.0.1:80", "203.0.113.1:80"
	balancer, nodePort80    = "198.18.0.1:80", "192.168.77.1:30000"
)

func TestVerdict(t *testing.T) {
	everywhere := slice(podHere, podThere)
	for _, test := range []struct {
		name     string
		settings Settings
		client   string // a Pod by default
		to       string // the cluster IP by default
		objects  []any
		want     string
	}{
		{"ready Endpoints of all Nodes", beside, "", "", []any{service(), everywhere}, both},
		{"of all EndpointSlices, each once", beside, "", "", []any{service(), slice(podHere), slice(podThere, podHere)}, both},
		{"of its own Namespace's Service", beside, "", "", []any{service(), sliceOf("other", "http", 8080, podHere)}, "rejected"},
		{"of the port's name", beside, "", "", []any{service(), everywhere, sliceOf("web", "metrics", 9090, podHere)}, both},
		{"with target ports of their own", beside, "", "", []any{service(), slice(podHere), sliceOf("web", "http", 8081, podThere)}, "served " + here + " 10.10.2.11:8081"},
		{"Nodes and outside", beside, "", "", []any{service(), slice("192.168.77.2@node-2", "192.0.2.1")}, "served 192.0.2.1:8080 192.168.77.2:8080"},
		{"no EndpointSlice", beside, "", "", []any{service()}, "rejected"},
		{"not ready", beside, "", "", []any{service(), slice(podHere+" notready", podThere)}, "served " + there},
		{"none is ready", beside, "", "", []any{service(), slice(podHere + " notready")}, "rejected"},
		{"terminating beside ready ones", beside, "", "", []any{service(), slice(podHere+" serving", podThere)}, "served " + there},
		{"only terminating ones", beside, "", "", []any{service(), slice(podHere+" serving", podThere+" gone")}, "served " + here},
		{"terminating that serve no longer", beside, "", "", []any{service(), slice(podHere + " gone")}, "rejected"},
		{"what no Endpoint may be", beside, "", "", []any{service(), slice("127.0.0.1", "169.254.1.1", "10.96.0.1", podHere)}, "served " + here},
		{"the cluster IP of a Service that is left alone", Settings{SkipServices: []string{"ns/other"}}, "", "", []any{service(), service(named("other", "10.96.0.2", 1)), slice("10.96.0.2")}, "served 10.96.0.2:8080"},
		{"affinity", beside, "", "", []any{service(affine), everywhere}, both + " affinity"},

		{"internal policy Local", beside, "", "", []any{service(internalLocal), everywhere}, "served " + here},
		{"internal policy Local, none there", beside, "", "", []any{service(internalLocal), slice(podThere)}, "dropped"},
		{"internal policy Local, none anywhere", beside, "", "", []any{service(internalLocal), slice(podThere + " gone")}, "rejected"},
		{"internal policy Local, ready ones elsewhere", beside, "", "", []any{service(internalLocal), slice(podHere+" serving", podThere)}, "served " + here},
		{"internal policy Local, hints", beside, "", "", []any{service(internalLocal), slice(podHere+" zone=b", podThere+" zone=a")}, "served " + here},
		{"hints for zones", beside, "", "", []any{service(), slice(podHere+" zone=b", podThere+" zone=a")}, "served " + there},
		{"hints for several zones", beside, "", "", []any{service(), slice(podHere+" zone=b zone=a", podThere+" zone=b")}, "served " + here},
		{"hints, incomplete", beside, "", "", []any{service(), slice(podHere, podThere+" zone=a")}, both},
		{"hints, incomplete at one that is not ready", beside, "", "", []any{service(), slice(podHere+" zone=b", podThere+" zone=a", "10.10.1.13@node-1 notready")}, "served " + there},
		{"hints, none for the zone", beside, "", "", []any{service(), slice(podHere+" zone=b", podThere+" zone=b")}, both},
		{"hints, the Node has no zone", beside, "", "", []any{service(), slice(podHere+" zone=b", podThere+" zone=a"), withoutZone()}, both},
		{"hints of terminating ones", beside, "", "", []any{service(), slice(podHere+" serving zone=b", podThere+" serving zone=a")}, both},
		{"hints for Nodes", beside, "", "", []any{service(), slice(podHere+" zone=b node=node-1", podThere+" zone=a node=node-2")}, "served " + here},
		{"hints for Nodes, none for this one", beside, "", "", []any{service(), slice(podHere+" zone=b node=node-2", podThere+" zone=a node=node-2")}, "served " + there},
		{"hints for Nodes, gate off", Settings{}, "", "", []any{service(), slice(podHere+" zone=b node=node-1", podThere+" zone=a node=node-2")}, "served " + there},

		{"unused address", beside, "", "10.96.0.2:80", []any{service(), everywhere}, untouched},
		{"unused port", beside, "", "10.96.0.1:81", []any{service(), everywhere}, untouched},
		{"external IP", beside, "", external80, []any{service(external("203.0.113.1")), everywhere}, both},
		{"external IP, policy Local", beside, "", external80, []any{service(external("203.0.113.1"), externalLocal), everywhere}, both},
		{"external IP, internal policy Local", beside, "", external80, []any{service(external("203.0.113.1"), internalLocal), everywhere}, both},
		{"load balancer", beside, "", balancer, []any{service(loadBalancer("VIP")), everywhere}, both},
		{"load balancer, mode Proxy", beside, "", balancer, []any{service(loadBalancer("Proxy")), everywhere}, untouched},
		{"load balancer, switched off", Settings{}, "", balancer, []any{service(loadBalancer("VIP")), everywhere}, untouched},
		{"load balancer, all Pods admitted", beside, "", balancer, []any{service(loadBalancer("VIP", "10.10.0.0/16")), everywhere}, both},
		{"load balancer, some Pods admitted", beside, "", balancer, []any{service(loadBalancer("VIP", "10.10.1.0/25", "10.10.1.128/25")), everywhere}, untouched},
		{"load balancer, only Pods of IPv6 admitted", beside, "", balancer, []any{service(loadBalancer("VIP", "::/0")), everywhere}, untouched},
		{"NodePort beside kube-proxy", beside, "", nodePort80, []any{service(loadBalancer("VIP")), everywhere}, untouched},
		{"the Node, beside kube-proxy", beside, aGateway, "", []any{service(), everywhere}, untouched},

		{"the older Service has an external IP", beside, "", external80, []any{service(external("203.0.113.1")), everywhere, service(named("old", "10.96.0.2", 10), external("203.0.113.1"))}, "rejected"},
		{"of the same age, the first name", beside, "", external80, []any{service(external("203.0.113.1")), everywhere, service(named("zoo", "10.96.0.2", 1000), external("203.0.113.1"))}, both},
		{"a load balancer's address before an external IP", beside, "", balancer, []any{service(loadBalancer("VIP")), everywhere, service(named("old", "10.96.0.2", 10), external("198.18.0.1"))}, both},
		{"a cluster IP before all", beside, "", "10.96.0.2:80", []any{service(named("new", "10.96.0.2", 2000)), service(external("10.96.0.2")), everywhere}, "rejected"},

		{"for another proxy", beside, "", "", []any{service(labeled("another")), everywhere}, untouched},
		{"also for another proxy", Settings{ServiceProxyName: ProxyName}, "", "", []any{service(labeled("another")), everywhere}, untouched},
		{"for this proxy", Settings{ServiceProxyName: ProxyName}, "", "", []any{service(labeled(ProxyName)), everywhere}, both},
		{"without label, for others", Settings{ServiceProxyName: ProxyName}, "", "", []any{service(), everywhere}, untouched},
		{"skipped by name", Settings{SkipServices: []string{"ns/web"}}, "", "", []any{service(), everywhere}, untouched},
		{"skipped by address", Settings{SkipServices: []string{"10.96.0.1"}}, "", "", []any{service(), everywhere}, untouched},
		{"a Service left alone does not get an address", Settings{SkipServices: []string{"ns/old"}}, "", external80, []any{service(external("203.0.113.1")), everywhere, service(named("old", "10.96.0.2", 10), external("203.0.113.1"))}, both},
		{"headless", beside, "", external80, []any{service(named("web", "None", 1), external("203.0.113.1")), everywhere}, untouched},
		{"external name", beside, "", external80, []any{service(external("203.0.113.1"), func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeExternalName }), everywhere}, untouched},
		{"another IP version", beside, "", "[fd00:96::1]:80", []any{service(func(s *corev1.Service) { s.Spec.ExternalIPs = []string{"fd00:96::1"} }), everywhere}, untouched},

		{"the Node", all, aGateway, "", []any{service(), everywhere}, both},
		{"the Node, internal policy Local", all, aGateway, "", []any{service(internalLocal), everywhere}, "served " + here},
		{"the Node, external policy Local", all, aGateway, balancer, []any{service(loadBalancer("VIP"), externalLocal), everywhere}, both},
		{"the Node, unused port", all, aGateway, "10.96.0.1:81", []any{service(), everywhere}, "dropped"},
		{"the Node, unused address", all, aGateway, "10.96.0.2:80", []any{service(), everywhere}, untouched},
		{"outside", all, outsider, balancer, []any{service(loadBalancer("VIP")), everywhere}, both},
		{"outside, policy Local", all, outsider, balancer, []any{service(loadBalancer("VIP"), externalLocal), everywhere}, "served " + here},
		{"outside, policy Local, none there", all, outsider, balancer, []any{service(loadBalancer("VIP"), externalLocal), slice(podThere)}, "dropped"},
		{"outside, policy Local, none anywhere", all, outsider, balancer, []any{service(loadBalancer("VIP"), externalLocal), slice()}, "rejected"},
		{"outside, policy Local, only terminating", all, outsider, balancer, []any{service(loadBalancer("VIP"), externalLocal), slice(podHere+" serving", podThere)}, "served " + here},
		{"outside, admitted", all, outsider, balancer, []any{service(loadBalancer("VIP", "198.51.100.0/24")), everywhere}, both},
		{"outside, not admitted", all, outsider, balancer, []any{service(loadBalancer("VIP", "198.51.101.0/24")), everywhere}, "dropped"},
		{"outside, not admitted at the load balancer", all, outsider, nodePort80, []any{service(loadBalancer("VIP", "198.51.101.0/24")), everywhere}, both},
		{"no range of the IP version", all, outsider, balancer, []any{service(loadBalancer("VIP", "::/0")), everywhere}, "dropped"},
		{"a Pod, not admitted", all, "", balancer, []any{service(loadBalancer("VIP", "198.51.101.0/24")), everywhere}, "dropped"},
		{"the Node, admitted by its address", all, aGateway, balancer, []any{service(loadBalancer("VIP", "192.168.77.1/32")), everywhere}, both},
		{"the Node, admitted by another one's address", all, aGateway, balancer, []any{service(loadBalancer("VIP", "192.168.77.2/32")), everywhere}, "dropped"},
		{"NodePort from outside", all, outsider, nodePort80, []any{service(loadBalancer("VIP")), everywhere}, both},
		{"NodePort of another Node", all, "", "192.168.77.2:30000", []any{service(loadBalancer("VIP")), everywhere}, untouched},
		{"NodePort from outside, policy Local", all, outsider, nodePort80, []any{service(loadBalancer("VIP"), externalLocal), everywhere}, "served " + here},
		{"NodePort of a Pod's Node, policy Local", all, "", nodePort80, []any{service(loadBalancer("VIP"), externalLocal), everywhere}, both + " open"},
		{"NodePort of a Pod's Node, policy Local, none there", all, "", nodePort80, []any{service(loadBalancer("VIP"), externalLocal), slice(podThere)}, "served " + there + " open or rejected"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := &Probe{clientOf(cmp.Or(test.client, aPod)), netip.MustParseAddrPort(cmp.Or(test.to, clusterPort)), corev1.ProtocolTCP}
			require.Equal(t, test.want, text(testWorld(test.settings, test.objects...).Verdict(p)))
			p.Protocol = corev1.ProtocolUDP
			require.NotEqual(t, Served, testWorld(test.settings, test.objects...).Verdict(p).Outcome, "a port is one of its protocol")
		})
	}
}

// withoutZone is node-1 without its label.
func withoutZone() *Node {
	n := newNode(1)
	n.Zone = ""
	return n
}

func TestSource(t *testing.T) {
	w := testWorld(all)
	for _, test := range []struct{ client, endpoint, want string }{
		{aPod, "10.10.1.12", aPod}, {aPod, "10.10.2.11", aPod}, {aPod, "192.168.77.1", aPod}, {aPod, "192.0.2.1", aPod}, {aPod, aPod, ""},
		{aGateway, "10.10.1.12", aGateway}, {aGateway, "10.10.2.11", aGateway}, {aGateway, "192.168.77.1", "169.254.0.253"},
		{outsider, "10.10.1.12", outsider}, {outsider, "10.10.2.11", aGateway}, {outsider, "192.168.77.2", "169.254.0.253"}, {outsider, "192.0.2.1", "169.254.0.253"},
		{"2001:db8:51::7", "fd00:10:10:1::c", "2001:db8:51::7"}, {"2001:db8:51::7", "fd00:10:10:2::c", "fd00:10:10:1::1"},
		{"2001:db8:51::7", "fd00:192:168:77::1", "fc01::aabb:ccdd:eeff"},
	} {
		c := clientOf(test.client)
		var want netip.Addr
		if test.want != "" {
			want = netip.MustParseAddr(test.want)
		}
		require.Equal(t, want, w.Source(&c, &Endpoint{Address: netip.AddrPortFrom(netip.MustParseAddr(test.endpoint), 80)}), "%s to %s", test.client, test.endpoint)
	}
}

func TestContinues(t *testing.T) {
	udp := func(s *corev1.Service) { s.Spec.Ports[0].Protocol = corev1.ProtocolUDP }
	inUDP := func(s *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
		s.Ports[0].Protocol = ptr.To(corev1.ProtocolUDP)
		return s
	}
	yes, no := true, false
	odd := inUDP(slice(podHere))
	odd.Endpoints[0].Conditions = discoveryv1.EndpointConditions{Ready: &no, Serving: &yes}
	for _, test := range []struct {
		name    string
		objects []any
		want    Continuation
	}{
		{"as before", []any{service(udp), inUDP(slice(podHere))}, Keeps},
		{"the Service has gone", []any{inUDP(slice(podHere))}, Moves},
		{"the port is another protocol's", []any{service(), slice(podHere)}, Moves},
		{"the Endpoint has gone", []any{service(udp), inUDP(slice(podThere))}, Moves},
		{"the Endpoint has another port", []any{service(udp), inUDP(sliceOf("web", "http", 8081, podHere))}, Moves},
		{"not ready", []any{service(udp), inUDP(slice(podHere + " notready"))}, Moves},
		{"terminating, serves", []any{service(udp), inUDP(slice(podHere+" serving", podThere))}, Keeps},
		{"terminating, serves no longer", []any{service(udp), inUDP(slice(podHere + " gone"))}, Moves},
		{"ready elsewhere than hints say", []any{service(udp), inUDP(slice(podHere+" zone=b", podThere+" zone=a"))}, Keeps},
		{"serves and is not ready", []any{service(udp), odd}, Either},
		{"left alone now", []any{service(udp, labeled("another")), inUDP(slice(podHere))}, Moves},
	} {
		w := testWorld(all, test.objects...)
		p := &Probe{clientOf(aPod), netip.MustParseAddrPort(clusterPort), corev1.ProtocolUDP}
		require.Equal(t, test.want, w.Continues(p, netip.MustParseAddrPort(here)), test.name)
		p.Protocol = corev1.ProtocolTCP
		require.Equal(t, Keeps, w.Continues(p, netip.MustParseAddrPort(here)), test.name)
	}
	restricted := service(udp, loadBalancer("VIP", "198.51.101.0/24"))
	p := &Probe{clientOf(outsider), netip.MustParseAddrPort(balancer), corev1.ProtocolUDP}
	require.Equal(t, Either, testWorld(all, restricted, inUDP(slice(podHere))).Continues(p, netip.MustParseAddrPort(here)), "refused later")
}
