// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	"github.com/antrea-oncache/antrea/pkg/agent/proxy"
)

// Marks of connections in the pipeline (docs of package openflow).
const (
	fromPodMark = 0x3
	serviceMark = 0x10
	snatMark    = 0x20
	hairpinMark = 0x40
	// established connections of a Pod to a Service
	podToService = fromPodMark | serviceMark
)

const clientPort = "10.0.0.1:4000"

var (
	remoteEndpoint = openflow.Endpoint{Address: netip.MustParseAddrPort("10.0.1.1:8080"), PodNetwork: true}
	localEndpoint  = openflow.Endpoint{Address: netip.MustParseAddrPort("10.0.0.2:8080"), PodNetwork: true, OnThisNode: true}
	besideEndpoint = openflow.Endpoint{Address: netip.MustParseAddrPort("10.0.0.3:8080"), PodNetwork: true, OnThisNode: true}
	ownEndpoint    = openflow.Endpoint{Address: netip.MustParseAddrPort("10.0.0.1:8080"), PodNetwork: true, OnThisNode: true}
	hostEndpoint   = openflow.Endpoint{Address: netip.MustParseAddrPort("192.168.0.9:8080")}
	unknownNode    = openflow.Endpoint{Address: netip.MustParseAddrPort("10.0.7.1:8080"), PodNetwork: true}
)

// fakeServices has one Service, ns/web.
type fakeServices struct{ proxy.Frontend }

func webService(endpoints ...openflow.Endpoint) *fakeServices {
	return &fakeServices{proxy.Frontend{Frontend: openflow.Frontend{Address: netip.MustParseAddrPort("10.96.0.1:80")}, Service: "ns/web",
		Protocol: corev1.ProtocolTCP, Endpoints: endpoints}}
}

func (s *fakeServices) FrontendAt(protocol corev1.Protocol, address netip.AddrPort) (proxy.Frontend, bool) {
	if protocol != s.Protocol || address != s.Address {
		return proxy.Frontend{}, false
	}
	return s.Frontend, true
}

func (s *fakeServices) FrontendsOf(namespace, name string) []proxy.Frontend {
	if namespace+"/"+name != s.Service {
		return nil
	}
	return []proxy.Frontend{s.Frontend}
}

// fakeConnections is a connection tracking table.
type fakeConnections []*conntrack.Connection

func (c fakeConnections) List(yield func(*conntrack.Connection) bool) error {
	for _, one := range c {
		if !yield(one) {
			break
		}
	}
	return nil
}

// tracked is a TCP connection from clientPort to the Service.
func tracked(endpoint openflow.Endpoint, mark uint32, established bool) *conntrack.Connection {
	client, service := netip.MustParseAddrPort(clientPort), netip.MustParseAddrPort("10.96.0.1:80")
	return &conntrack.Connection{
		Mark: mark, Established: established,
		Original: conntrack.Tuple{Source: client.Addr(), SourcePort: client.Port(), Destination: service.Addr(), DestinationPort: service.Port(), Protocol: 6},
		Reply: conntrack.Tuple{Source: endpoint.Address.Addr(), SourcePort: endpoint.Address.Port(), Destination: client.Addr(), DestinationPort: client.Port(),
			Protocol: 6},
	}
}

// serviceFlows are the two halves of the connection to the remote Endpoint in the cache.
func serviceFlows(state string) []api.FlowInfo {
	const service, endpoint = "10.96.0.1:80", "10.0.1.1:8080"
	return []api.FlowInfo{
		{Direction: "egress", Protocol: "TCP", Source: clientPort, Destination: service, Translated: endpoint, State: state},
		{Direction: "ingress", Protocol: "TCP", Source: endpoint, Destination: clientPort, Translated: service, State: state},
	}
}

// flowsWithin is serviceFlows for besideEndpoint.
func flowsWithin(state string) []api.FlowInfo {
	return []api.FlowInfo{
		{Direction: "egress", Protocol: "TCP", Source: clientPort, Destination: "10.96.0.1:80", Translated: "10.0.0.3:8080", Pod: "ns/here", Peer: "ns/beside", State: state},
		{Direction: "egress", Protocol: "TCP", Source: "10.0.0.3:8080", Destination: clientPort, Translated: "10.96.0.1:80", Pod: "ns/beside", Peer: "ns/here", State: state},
	}
}

// half is one direction of serviceFlows.
func half(i int, state string) []api.FlowInfo { return serviceFlows(state)[i : i+1] }

type serviceTest struct {
	name      string
	endpoints []openflow.Endpoint
	change    func(*Explainer, *fakeServices, *fakeCache)
	tracked   []*conntrack.Connection
	flows     []api.FlowInfo
	rules     fakePolicies
	protocol  string
	// want is path, reason and a part of the detail; connection is the same for the only connection, if there is one.
	want, connection [3]string
}

var serviceTests = []serviceTest{
	{name: "cached", endpoints: []openflow.Endpoint{remoteEndpoint}, tracked: []*conntrack.Connection{tracked(remoteEndpoint, podToService, true)},
		flows: serviceFlows("active"), want: [3]string{"fast", "active"}, connection: [3]string{"fast", "active"}},
	{name: "no connection", endpoints: []openflow.Endpoint{remoteEndpoint}, want: [3]string{"slow", "no_connection", "takes the fast path"}},
	{name: "not cached yet", endpoints: []openflow.Endpoint{remoteEndpoint}, tracked: []*conntrack.Connection{tracked(remoteEndpoint, podToService, true)},
		want: [3]string{"slow", "no_entry"}, connection: [3]string{"slow", "no_entry"}},
	{name: "not answered", endpoints: []openflow.Endpoint{remoteEndpoint}, tracked: []*conntrack.Connection{tracked(remoteEndpoint, podToService, false)},
		want: [3]string{"slow", "not_established", "not answered"}, connection: [3]string{"slow", "not_established"}},
	{name: "refused by policies", endpoints: []openflow.Endpoint{remoteEndpoint}, tracked: []*conntrack.Connection{tracked(remoteEndpoint, serviceMark, false)},
		want: [3]string{"slow", "not_established", "policies"}, connection: [3]string{"slow", "not_established", "policies"}},
	{name: "half proved", endpoints: []openflow.Endpoint{remoteEndpoint}, tracked: []*conntrack.Connection{tracked(remoteEndpoint, podToService, true)},
		flows: half(0, "not_proved"), want: [3]string{"slow", "not_proved", "only the egress direction"}, connection: [3]string{"slow", "not_proved"}},
	{name: "one half was evicted", endpoints: []openflow.Endpoint{remoteEndpoint}, tracked: []*conntrack.Connection{tracked(remoteEndpoint, podToService, true)},
		flows: half(1, "active"), want: [3]string{"fast", "active", "only the ingress direction"}, connection: [3]string{"fast", "active"}},
	{name: "lease over", endpoints: []openflow.Endpoint{remoteEndpoint}, tracked: []*conntrack.Connection{tracked(remoteEndpoint, podToService, true)},
		flows: serviceFlows("lease"), want: [3]string{"slow", "lease"}, connection: [3]string{"slow", "lease"}},
	{name: "conntrack has forgotten it", endpoints: []openflow.Endpoint{remoteEndpoint}, flows: serviceFlows("active"),
		want: [3]string{"fast", "active", "conntrack has no entry"}, connection: [3]string{"fast", "active"}},
	{name: "share", endpoints: []openflow.Endpoint{remoteEndpoint}, tracked: []*conntrack.Connection{tracked(remoteEndpoint, podToService, true)},
		change: func(_ *Explainer, _ *fakeServices, c *fakeCache) { c.fullShare = true },
		want:   [3]string{"slow", "share"}, connection: [3]string{"slow", "share"}},
	{name: "cut", endpoints: []openflow.Endpoint{remoteEndpoint}, tracked: []*conntrack.Connection{tracked(remoteEndpoint, podToService|openflow.CutMark, true)},
		want: [3]string{"denied", "policy"}, connection: [3]string{"denied", "policy", "cut"}},

	{name: "no Endpoint is a Pod", endpoints: []openflow.Endpoint{hostEndpoint}, want: [3]string{"slow", "not_remote", "no Endpoint is a Pod"}},
	{name: "Endpoint on this Node that stays on Open vSwitch", endpoints: []openflow.Endpoint{localEndpoint, remoteEndpoint},
		tracked: []*conntrack.Connection{tracked(localEndpoint, podToService, true)}, want: [3]string{"slow", "same_node", "not announced"},
		connection: [3]string{"slow", "same_node"}},
	{name: "Endpoint on this Node", endpoints: []openflow.Endpoint{besideEndpoint}, tracked: []*conntrack.Connection{tracked(besideEndpoint, podToService, true)},
		flows: flowsWithin("active"), want: [3]string{"fast", "active"}, connection: [3]string{"fast", "active"}},
	{name: "Endpoint on this Node, half proved", endpoints: []openflow.Endpoint{besideEndpoint},
		tracked: []*conntrack.Connection{tracked(besideEndpoint, podToService, true)}, flows: flowsWithin("not_proved")[1:],
		want: [3]string{"slow", "not_proved", "only what ns/beside sends"}, connection: [3]string{"slow", "not_proved"}},
	{name: "Endpoint on this Node, not cached yet", endpoints: []openflow.Endpoint{besideEndpoint},
		tracked: []*conntrack.Connection{tracked(besideEndpoint, podToService, true)}, want: [3]string{"slow", "no_entry"}, connection: [3]string{"slow", "no_entry"}},
	{name: "hairpin", endpoints: []openflow.Endpoint{ownEndpoint, remoteEndpoint},
		tracked: []*conntrack.Connection{tracked(ownEndpoint, podToService|snatMark|hairpinMark, true)}, want: [3]string{"slow", "hairpin"},
		connection: [3]string{"slow", "hairpin"}},
	{name: "host network", endpoints: []openflow.Endpoint{hostEndpoint, remoteEndpoint}, tracked: []*conntrack.Connection{tracked(hostEndpoint, podToService, true)},
		want: [3]string{"slow", "outside"}, connection: [3]string{"slow", "outside"}},
	{name: "Node that the cache does not know", endpoints: []openflow.Endpoint{unknownNode}, tracked: []*conntrack.Connection{tracked(unknownNode, podToService, true)},
		want: [3]string{"slow", "not_remote", "no Node with the Endpoint's Pod network"}, connection: [3]string{"slow", "not_remote"}},
	{name: "source is also translated", endpoints: []openflow.Endpoint{remoteEndpoint}, tracked: []*conntrack.Connection{tracked(remoteEndpoint, podToService|snatMark, true)},
		want: [3]string{"slow", "snat"}, connection: [3]string{"slow", "snat"}},
	{name: "Endpoint was removed, TCP continues", endpoints: []openflow.Endpoint{unknownNode}, tracked: []*conntrack.Connection{tracked(remoteEndpoint, podToService, true)},
		flows: serviceFlows("active"), want: [3]string{"fast", "active"}, connection: [3]string{"fast", "active"}},
	{name: "Service is gone", change: func(_ *Explainer, s *fakeServices, _ *fakeCache) { s.Address = netip.AddrPort{} },
		tracked: []*conntrack.Connection{tracked(remoteEndpoint, podToService, true)}, want: [3]string{"slow", "kube_proxy", "no Service at this address"},
		connection: [3]string{"slow", "not_remote", "any more"}},
	{name: "older than the Service", endpoints: []openflow.Endpoint{remoteEndpoint}, tracked: []*conntrack.Connection{tracked(remoteEndpoint, fromPodMark, true)},
		want: [3]string{"slow", "kube_proxy"}, connection: [3]string{"slow", "kube_proxy", "older"}},
	{name: "kube-proxy's Service", change: func(_ *Explainer, s *fakeServices, _ *fakeCache) { s.Protocol = corev1.ProtocolUDP },
		tracked: []*conntrack.Connection{tracked(remoteEndpoint, fromPodMark, true)}, want: [3]string{"slow", "kube_proxy", "no Service at this address"},
		connection: [3]string{"slow", "kube_proxy"}},
	{name: "AntreaProxy off", change: func(e *Explainer, _ *fakeServices, _ *fakeCache) { e.Services = nil }, want: [3]string{"slow", "kube_proxy", "AntreaProxy is off"}},
	{name: "NodePort", endpoints: []openflow.Endpoint{remoteEndpoint}, tracked: []*conntrack.Connection{tracked(remoteEndpoint, podToService, true)},
		change: func(_ *Explainer, s *fakeServices, _ *fakeCache) { s.NodePort = true },
		want:   [3]string{"slow", "node_port"}, connection: [3]string{"slow", "node_port"}},

	{name: "outside, with an Egress", change: withEgress("n2", true), want: [3]string{"slow", "not_remote", "leaves as 192.0.2.1 of Egress web on Node n2"}},
	{name: "outside, with an Egress that no Node has", change: withEgress("", true), want: [3]string{"slow", "not_remote", "leaves as 192.0.2.1 of Egress web, which no Node has"}},
	{name: "a Service's Endpoint needs no Egress", endpoints: []openflow.Endpoint{remoteEndpoint}, change: withEgress("n2", false), want: [3]string{"slow", "no_connection"}},

	{name: "no Endpoint", want: [3]string{"denied", "rejected"}},
	{name: "Endpoints elsewhere only", change: func(_ *Explainer, s *fakeServices, _ *fakeCache) { s.Elsewhere = true },
		want: [3]string{"denied", "dropped", "Local"}},
	{name: "source ranges", endpoints: []openflow.Endpoint{remoteEndpoint}, want: [3]string{"denied", "source_ranges", "10.9.0.0/16"},
		change: func(_ *Explainer, s *fakeServices, _ *fakeCache) {
			s.Restricted, s.SourceRanges = true, []netip.Prefix{netip.MustParsePrefix("10.9.0.0/16")}
		}},
	{name: "admitted by the source ranges", endpoints: []openflow.Endpoint{remoteEndpoint}, want: [3]string{"slow", "no_connection"},
		change: func(_ *Explainer, s *fakeServices, _ *fakeCache) {
			s.Restricted, s.SourceRanges = true, []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24")}
		}},
	{name: "policies allow no Endpoint", endpoints: []openflow.Endpoint{remoteEndpoint, localEndpoint}, rules: fakePolicies{rule(policy.Egress)},
		want: [3]string{"denied", "policy"}},
	{name: "policies allow one Endpoint", endpoints: []openflow.Endpoint{remoteEndpoint, localEndpoint},
		rules: fakePolicies{rule(policy.Egress, "10.0.1.0/24")}, want: [3]string{"slow", "no_connection"}},
	{name: "a Pod may reach itself", endpoints: []openflow.Endpoint{ownEndpoint}, rules: fakePolicies{rule(policy.Ingress)},
		want: [3]string{"slow", "no_connection"}},

	{name: "gate off", endpoints: []openflow.Endpoint{remoteEndpoint}, change: func(e *Explainer, _ *fakeServices, _ *fakeCache) { e.Cache = nil },
		tracked: []*conntrack.Connection{tracked(remoteEndpoint, podToService, true)},
		want:    [3]string{"slow", "not enabled"}, connection: [3]string{"slow", "not enabled"}},
	{name: "suspended", endpoints: []openflow.Endpoint{remoteEndpoint}, change: func(_ *Explainer, _ *fakeServices, c *fakeCache) { c.state = api.StateSuspended },
		want: [3]string{"slow", "suspended"}},
	{name: "Pod is kept on Open vSwitch", endpoints: []openflow.Endpoint{remoteEndpoint},
		change: func(_ *Explainer, _ *fakeServices, c *fakeCache) { c.onOVS = "a capture" }, want: [3]string{"slow", "no_endpoint", "a capture"}},
	{name: "SCTP", protocol: "SCTP", endpoints: []openflow.Endpoint{remoteEndpoint},
		change: func(_ *Explainer, s *fakeServices, _ *fakeCache) { s.Protocol = corev1.ProtocolSCTP }, want: [3]string{"slow", "protocol"}},
}

// withEgress gives the client an Egress. The address in the question is outside the cluster, or the Service's.
func withEgress(node string, outside bool) func(*Explainer, *fakeServices, *fakeCache) {
	return func(e *Explainer, s *fakeServices, _ *fakeCache) {
		if outside {
			s.Address = netip.AddrPort{}
		}
		e.Egress = func(pod, _ netip.Addr) (name, addr, on string) {
			if pod != netip.MustParseAddr("10.0.0.1") {
				return "", "", ""
			}
			return "web", "192.0.2.1", node
		}
	}
}

func explainerOf(test *serviceTest) *Explainer {
	store := interfacestore.NewInterfaceStore()
	for name, ips := range map[string][]netip.Addr{
		"here": {netip.MustParseAddr("fd00::1"), netip.MustParseAddr("10.0.0.1")}, "neighbor": {netip.MustParseAddr("10.0.0.2")},
		"beside": {netip.MustParseAddr("10.0.0.3")},
	} {
		store.AddInterface(&interfacestore.InterfaceConfig{
			Type: interfacestore.ContainerInterface, InterfaceName: name, IPs: ips,
			ContainerInterfaceConfig: &interfacestore.ContainerInterfaceConfig{PodNamespace: "ns", PodName: name},
		})
	}
	services, cache := webService(test.endpoints...), &fakeCache{state: api.StateActive, flows: test.flows}
	e := &Explainer{Interfaces: store, Policies: test.rules, Cache: cache, Services: services, Connections: fakeConnections(test.tracked)}
	e.FindPod = func(context.Context, string, string) (*corev1.Pod, error) {
		return &corev1.Pod{Status: corev1.PodStatus{PodIP: "10.0.1.9"}}, nil
	}
	if test.change != nil {
		test.change(e, services, cache)
	}
	return e
}

func requireTreatment(t *testing.T, want [3]string, got api.Treatment) {
	t.Helper()
	require.Equal(t, want[:2], []string{got.Path, got.Reason}, got.Detail)
	require.Contains(t, got.Detail, want[2])
}

func TestExplainService(t *testing.T) {
	for _, test := range serviceTests {
		t.Run(test.name, func(t *testing.T) {
			q := Question{From: "ns/here", To: "10.96.0.1", Protocol: "tcp", Port: 80}
			if test.protocol != "" {
				q.Protocol = test.protocol
			}
			answer, err := explainerOf(&test).Explain(t.Context(), q)
			require.NoError(t, err)
			requireTreatment(t, test.want, answer.Treatment)
			require.Equal(t, "10.96.0.1:80", answer.Service.Address)
			require.Equal(t, api.ExplainedPod{Pod: "ns/here", IP: "10.0.0.1", Local: true}, answer.From)
			require.Len(t, answer.Service.Endpoints, len(test.endpoints))
			if test.connection[0] == "" {
				require.Empty(t, answer.Service.Connections)
				return
			}
			require.Len(t, answer.Service.Connections, 1)
			requireTreatment(t, test.connection, answer.Service.Connections[0].Treatment)
			require.Equal(t, clientPort, answer.Service.Connections[0].Client)
			require.Equal(t, test.flows, answer.Service.Connections[0].Flows)
		})
	}
}

// A rule that names the Service decides about connections to it, and about no others.
func TestExplainServiceThatAPolicyNames(t *testing.T) {
	named := rule(policy.Egress)
	named.Effect, named.PeerServices = policy.Effect{Order: policy.OrderOf(250, 5, 0), Action: policy.Drop}, []uint32{8, 9}
	for group, want := range map[uint32][3]string{8: {"denied", "policy"}, 9: {"denied", "policy"}, 3: {"slow", "no_connection"}} {
		test := serviceTest{endpoints: []openflow.Endpoint{remoteEndpoint}, rules: fakePolicies{named}, change: func(e *Explainer, _ *fakeServices, _ *fakeCache) {
			e.GroupsOf = func(protocol uint8, dialed netip.AddrPort) []uint32 {
				require.Equal(t, "6 10.96.0.1:80", fmt.Sprint(protocol, " ", dialed))
				return []uint32{group}
			}
		}}
		answer, err := explainerOf(&test).Explain(t.Context(), Question{From: "ns/here", To: "10.96.0.1", Protocol: "tcp", Port: 80})
		require.NoError(t, err)
		requireTreatment(t, want, answer.Treatment)
	}
}

// A rule that is applied to the Service decides about connections to its NodePort, and about no others.
func TestExplainNodePortThatAPolicyIsAppliedTo(t *testing.T) {
	applied := rule(policy.Ingress, "10.0.0.0/16")
	applied.Effect, applied.AppliedTo, applied.AppliedToServices = policy.Effect{Order: policy.OrderOf(250, 5, 0), Action: policy.Drop}, nil, []uint32{8}
	for nodePort, want := range map[bool][3]string{true: {"denied", "policy"}, false: {"slow", "no_connection"}} {
		test := serviceTest{endpoints: []openflow.Endpoint{remoteEndpoint}, rules: fakePolicies{applied}, change: func(e *Explainer, s *fakeServices, _ *fakeCache) {
			s.NodePort = nodePort
			e.GroupsOf = func(uint8, netip.AddrPort) []uint32 { return []uint32{8} }
		}}
		answer, err := explainerOf(&test).Explain(t.Context(), Question{From: "ns/here", To: "10.96.0.1", Protocol: "tcp", Port: 80})
		require.NoError(t, err)
		requireTreatment(t, want, answer.Treatment)
	}
}

// The Endpoints of a Service are described one by one.
func TestExplainEndpoints(t *testing.T) {
	test := serviceTest{endpoints: []openflow.Endpoint{remoteEndpoint, localEndpoint, ownEndpoint, hostEndpoint, unknownNode},
		rules: fakePolicies{rule(policy.Egress, "10.0.0.0/16")}}
	answer, err := explainerOf(&test).Explain(t.Context(), Question{From: "ns/here", Service: "ns/web", Protocol: "TCP", Port: 80})
	require.NoError(t, err)
	require.Equal(t, "ns/web", answer.Service.Service)
	allowed := &api.ExplainedVerdict{Allowed: true, Isolated: true, FlowID: 7, Policy: "ns/np", Action: "Allow", AppliedTo: []string{"ns/np"}}
	refused := &api.ExplainedVerdict{Isolated: true, AppliedTo: []string{"ns/np"}}
	require.Equal(t, []api.ExplainedEndpoint{
		{Address: "10.0.1.1:8080", Node: "n2", Treatment: api.Treatment{Path: "fast", Reason: "active"}, Egress: allowed},
		{Address: "10.0.0.2:8080", Pod: "ns/neighbor", Treatment: slow("same_node", "the other Pod, on this Node, is not announced to the cache"), Egress: allowed,
			Ingress: &api.ExplainedVerdict{Allowed: true}},
		{Address: "10.0.0.1:8080", Pod: "ns/here", Egress: allowed,
			Treatment: slow("hairpin", "the Pod is its own Endpoint: it gets its packets back from another address")},
		{Address: "192.168.0.9:8080", Treatment: api.Treatment{Path: "denied", Reason: "policy"}, Egress: refused},
		{Address: "10.0.7.1:8080", Treatment: slow("not_remote", "the cache knows no Node with the Endpoint's Pod network"), Egress: allowed},
	}, answer.Service.Endpoints)
}

// Other connections and flows of the Pod, and of other Pods, are left out.
func TestExplainOnlyWhatIsAskedAbout(t *testing.T) {
	other := func(change func(*conntrack.Connection)) *conntrack.Connection {
		c := tracked(remoteEndpoint, podToService, true)
		change(c)
		return c
	}
	foreign := serviceFlows("active")
	foreign[0].Source, foreign[1].Destination = "10.0.0.2:4000", "10.0.0.2:4000"
	direct := []api.FlowInfo{{Direction: "egress", Protocol: "TCP", Source: clientPort, Destination: "10.96.0.1:80", State: "active"}}
	udp := half(0, "active")
	udp[0].Protocol = "UDP"
	test := serviceTest{endpoints: []openflow.Endpoint{remoteEndpoint}, tracked: []*conntrack.Connection{
		other(func(c *conntrack.Connection) { c.Original.Protocol = 17 }),
		other(func(c *conntrack.Connection) { c.Original.DestinationPort = 81 }),
		other(func(c *conntrack.Connection) { c.Original.Source = netip.MustParseAddr("10.0.0.2") }),
	}, flows: append(append(foreign, direct...), udp...)}
	answer, err := explainerOf(&test).Explain(t.Context(), Question{From: "ns/here", To: "10.96.0.1", Protocol: "TCP", Port: 80})
	require.NoError(t, err)
	require.Empty(t, answer.Service.Connections)
}

func TestBadQuestionsAboutServices(t *testing.T) {
	test := serviceTest{endpoints: []openflow.Endpoint{remoteEndpoint}}
	for _, c := range []struct {
		q    Question
		off  bool
		want string
		is   error
	}{
		{q: Question{From: "ns/there", To: "10.96.0.1"}, want: "translated on the Node of the client", is: ErrNotHere},
		{q: Question{From: "ns/here", Service: "web"}, want: `Service "web": must be NAMESPACE/NAME`, is: ErrBadQuestion},
		{q: Question{From: "ns/here", Service: "ns/absent"}, want: "Service ns/absent: not found", is: ErrNoService},
		{q: Question{From: "ns/here", Service: "ns/web", Port: 81}, want: "port 81/TCP", is: ErrNoService},
		{q: Question{From: "ns/here", Service: "ns/web"}, off: true, want: "which is off", is: ErrNoService},
		{q: Question{From: "10.0.1.7", To: "10.96.0.1"}, want: "translated on the Node of the client", is: ErrNotHere},
		{q: Question{From: "10.0.1.7", To: "10.0.1.8"}, want: "neither Pod is on this Node", is: ErrNotHere},
		{q: Question{From: "here", To: "10.0.1.8"}, want: "NAMESPACE/NAME or an address", is: ErrBadQuestion},
		{q: Question{From: "ns/neighbor", To: "fd00:96::1"}, want: "no IP version in common", is: ErrBadQuestion},
	} {
		e := explainerOf(&test)
		if c.off {
			e.Services = nil
		}
		if c.q.Protocol = "TCP"; c.q.Port == 0 {
			c.q.Port = 80
		}
		_, err := e.Explain(t.Context(), c.q)
		require.ErrorContains(t, err, c.want)
		require.ErrorIs(t, err, c.is)
	}
	e := explainerOf(&test)
	e.Connections = brokenConnections{}
	_, err := e.Explain(t.Context(), Question{From: "ns/here", To: "10.96.0.1", Protocol: "TCP", Port: 80})
	require.ErrorContains(t, err, "netlink")
}

type brokenConnections struct{}

func (brokenConnections) List(func(*conntrack.Connection) bool) error { return errors.New("netlink") }
