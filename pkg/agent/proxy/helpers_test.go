// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/antrea-oncache/antrea/pkg/agent/controller/noderoute"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
)

// The cluster of the tests has the Nodes n1 (this one, in zone a) and n2.
const (
	thisNode  = "n1"
	otherNode = "n2"
	testZone  = "a"
)

var testConfig = Config{
	NodeName: thisNode, IPv4: true, IPv6: true, LoadBalancerIPs: true, NodeHints: true, EndUDP: true,
	PodNetworks: []netip.Prefix{netip.MustParsePrefix("10.0.1.0/24"), netip.MustParsePrefix("fd00:1::/64")},
}

func testNode(name, zone string, podCIDRs ...string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
	if zone != "" {
		n.Labels[corev1.LabelTopologyZone] = zone
	}
	n.Spec.PodCIDRs = podCIDRs
	return n
}

// testService makes a Service of Namespace ns. Ports are written 80, 80/UDP or http:80/TCP.
func testService(name, clusterIPs string, ports string, change ...func(*corev1.Service)) *corev1.Service {
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name), CreationTimestamp: metav1.Unix(1000, 0)}}
	s.Spec.Type = corev1.ServiceTypeClusterIP
	s.Spec.ClusterIPs = strings.Fields(clusterIPs)
	s.Spec.ClusterIP = s.Spec.ClusterIPs[0]
	for _, text := range strings.Fields(ports) {
		number, protocol, _ := strings.Cut(text, "/")
		var p corev1.ServicePort
		if portName, rest, ok := strings.Cut(number, ":"); ok {
			p.Name, number = portName, rest
		}
		p.Protocol = corev1.Protocol(cmp.Or(protocol, "TCP"))
		if _, err := fmt.Sscan(number, &p.Port); err != nil {
			panic(err)
		}
		s.Spec.Ports = append(s.Spec.Ports, p)
	}
	for _, f := range change {
		f(s)
	}
	return s
}

// testSlice makes an EndpointSlice of a Service. Ports are written as in testService; Endpoints are written
// ADDRESS[@NODE][:STATE...], where the states are notready, terminating, notserving, zone=Z and node=N.
func testSlice(name, service, ports string, endpoints ...string) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name)}}
	s.Labels = map[string]string{discoveryv1.LabelServiceName: service}
	s.AddressType = discoveryv1.AddressTypeIPv4
	for _, p := range testService("", "-", ports).Spec.Ports {
		s.Ports = append(s.Ports, discoveryv1.EndpointPort{Name: &p.Name, Protocol: &p.Protocol, Port: &p.Port})
	}
	for _, text := range endpoints {
		fields := strings.Fields(text)
		address, node, onNode := strings.Cut(fields[0], "@")
		e := discoveryv1.Endpoint{Addresses: []string{address}}
		if onNode {
			e.NodeName = &node
		}
		if strings.Contains(address, ":") {
			s.AddressType = discoveryv1.AddressTypeIPv6
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
	what, value, _ := strings.Cut(state, "=")
	switch what {
	case "ready":
		e.Conditions.Ready = &yes
	case "notready":
		e.Conditions.Ready = &no
	case "terminating":
		e.Conditions.Ready, e.Conditions.Terminating = &no, &yes
	case "notserving":
		e.Conditions.Ready, e.Conditions.Serving = &no, &no
	case "zone":
		e.Hints.ForZones = append(e.Hints.ForZones, discoveryv1.ForZone{Name: value})
	case "node":
		e.Hints.ForNodes = append(e.Hints.ForNodes, discoveryv1.ForNode{Name: value})
	default:
		panic(state)
	}
}

// fakeSwitch is the switch. It notices what the switch's client does not accept.
type fakeSwitch struct {
	t     *testing.T
	ports map[string]openflow.ServicePort
	held  map[frontendKey]string
	// log has the operations since the last call of take.
	log []string
	// refuse says which ports are refused.
	refuse func(openflow.ServicePort) bool
	// real, if any, is asked for the same; it must not refuse what this one accepts.
	real FlowClient
}

func newFakeSwitch(t *testing.T) *fakeSwitch {
	return &fakeSwitch{t: t, ports: map[string]openflow.ServicePort{}, held: map[frontendKey]string{}}
}

var errRefused = errors.New("the switch has refused it")

func (s *fakeSwitch) InstallService(p openflow.ServicePort) error {
	if s.refuse != nil && s.refuse(p) {
		return errRefused
	}
	require.NotEmpty(s.t, p.Frontends)
	require.LessOrEqual(s.t, p.Affinity, 65535*time.Second)
	s.release(p.Name)
	for _, f := range p.Frontends {
		require.Empty(s.t, s.held[keyOf(p.Protocol, f)], "%s: another port has frontend %v", p.Name, f)
		s.held[keyOf(p.Protocol, f)] = p.Name
	}
	s.ports[p.Name] = p
	s.log = append(s.log, "+ "+describe(p))
	if s.real != nil {
		require.NoError(s.t, s.real.InstallService(p))
	}
	return nil
}

func (s *fakeSwitch) UninstallService(name string) error {
	require.Contains(s.t, s.ports, name)
	s.release(name)
	delete(s.ports, name)
	s.log = append(s.log, "- "+name)
	if s.real != nil {
		require.NoError(s.t, s.real.UninstallService(name))
	}
	return nil
}

func (s *fakeSwitch) release(name string) {
	for _, f := range s.ports[name].Frontends {
		delete(s.held, keyOf(s.ports[name].Protocol, f))
	}
}

// take returns the operations since its last call.
func (s *fakeSwitch) take() []string {
	log := s.log
	s.log = nil
	return log
}

// describe writes a port like ns/web:80/TCP 10.96.0.1:80 192.0.2.1:80(external,local) = 10.0.1.1:8080(here,pod) | 10.0.1.1:8080(here,pod)
// affinity=3h. The second list is Local.
func describe(p openflow.ServicePort) string {
	words := []string{p.Name}
	flags := func(address netip.AddrPort, flags ...string) string {
		flags = slices.DeleteFunc(flags, func(f string) bool { return f == "" })
		if len(flags) == 0 {
			return address.String()
		}
		return fmt.Sprintf("%s(%s)", address, strings.Join(flags, ","))
	}
	flag := func(set bool, name string) string {
		if set {
			return name
		}
		return ""
	}
	for _, f := range p.Frontends {
		words = append(words, flags(f.Address, flag(f.External, "external"), flag(f.Local, "local"), flag(f.NodePort, "nodeport"), flag(f.Restricted, "restricted")))
	}
	words = append(words, "=")
	for i, list := range [][]openflow.Endpoint{p.Cluster, p.Local} {
		if i == 1 && len(list) > 0 {
			words = append(words, "|")
		}
		for _, e := range list {
			words = append(words, flags(e.Address, flag(e.OnThisNode, "here"), flag(e.PodNetwork, "pod")))
		}
	}
	if len(p.SourceRanges) > 0 {
		words = append(words, fmt.Sprint("sources=", p.SourceRanges))
	}
	if p.Affinity > 0 {
		words = append(words, "affinity="+p.Affinity.String())
	}
	return strings.Join(words, " ")
}

// bench runs core and state by hand.
type bench struct {
	t     *testing.T
	core  *core
	state *switchState
	flows *fakeSwitch
	dirty changes
	noted map[key][]finding
	// routes are the addresses of each port that the Node leads to the switch, health has the answers of Services to load balancers.
	routes map[string][]netip.Addr
	health map[key]healthCheck
	nodes  *noderoute.Reader
	// after is called after each operation that has succeeded, settled with the frontends that have been changed when none is left.
	after   func()
	settled func(map[frontendKey]bool)
}

func newBench(t *testing.T, config Config) *bench {
	b := &bench{t: t, core: newCore(config), state: newSwitchState(), flows: newFakeSwitch(t), dirty: changes{}, noted: map[key][]finding{}, routes: map[string][]netip.Addr{}, health: map[key]healthCheck{}, after: func() {}, settled: func(map[frontendKey]bool) {}, nodes: noderoute.NewReader()}
	b.nodes.Watch(func(node string, now noderoute.Accepted) { b.mark(b.core.setNode(node, now)) })
	b.set(testNode(thisNode, testZone, "10.0.1.0/24", "fd00:1::/64"), testNode(otherNode, "b", "10.0.2.0/24", "fd00:2::/64"))
	return b
}

func (b *bench) mark(services []key) {
	for _, k := range services {
		b.dirty.add(k)
	}
}

// set tells the core about objects, remove that they are gone.
func (b *bench) set(objects ...any) {
	for _, o := range objects {
		switch o := o.(type) {
		case *corev1.Service:
			b.mark(b.core.setService(o))
		case *discoveryv1.EndpointSlice:
			b.mark(b.core.setSlice(nil, o))
		case *corev1.Node:
			b.nodes.Set(o)
			if o.Name == thisNode {
				b.mark(b.core.setZone(o.Labels[corev1.LabelTopologyZone]))
			}
		default:
			b.t.Fatalf("%T", o)
		}
	}
}

func (b *bench) remove(objects ...any) {
	for _, o := range objects {
		switch o := o.(type) {
		case *corev1.Service:
			b.mark(b.core.deleteService(key{Namespace: o.Namespace, Name: o.Name}))
		case *discoveryv1.EndpointSlice:
			b.mark(b.core.deleteSlice(o))
		case *corev1.Node:
			b.nodes.Delete(o.Name)
			if o.Name == thisNode {
				b.mark(b.core.setZone(""))
			}
		default:
			b.t.Fatalf("%T", o)
		}
	}
}

// settle handles what is dirty, in order, until nothing is, and returns the operations. Refused Services stay dirty.
func (b *bench) settle() []string {
	refused := changes{}
	for len(b.dirty) > 0 {
		k := b.dirty.list()[0]
		delete(b.dirty, k)
		e := b.core.evaluate(k)
		b.noted[k], b.health[k] = e.findings, e.health
		for _, op := range b.state.plan(k, e.ports) {
			if b.execute(op) != nil {
				refused.add(k)
				continue
			}
			b.mark(b.state.done(op))
			b.after()
		}
	}
	b.dirty = refused
	b.settled(b.state.settle())
	return b.flows.take()
}

func (b *bench) execute(op operation) error {
	if op.now == nil {
		delete(b.routes, op.name)
		return b.flows.UninstallService(op.name)
	}
	err := b.flows.InstallService(op.now.ServicePort)
	if err == nil {
		b.routes[op.name] = slices.Concat(op.now.routes, op.now.external)
	}
	return err
}

// findings returns what was found wrong, as REASON NAME: TEXT, in order.
func (b *bench) findings() (texts []string) {
	for _, list := range b.noted {
		for _, f := range list {
			texts = append(texts, fmt.Sprintf("%s %s: %s", f.reason, f.about.Name, f.text))
		}
	}
	slices.Sort(texts)
	return slices.Compact(texts)
}

func keysOf[V any](m map[string]V) (keys []string) {
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
