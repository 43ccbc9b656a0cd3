// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package nodeportlocal

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/antrea-oncache/antrea/pkg/agent/problem"
	"github.com/antrea-oncache/antrea/pkg/agent/route"
)

// sockets stands for the ports of a Node.
type sockets struct {
	foreign map[nodePort]bool
	open    map[nodePort]bool
}

func newSockets(foreign ...nodePort) *sockets {
	s := &sockets{map[nodePort]bool{}, map[nodePort]bool{}}
	for _, p := range foreign {
		s.foreign[p] = true
	}
	return s
}

type closer func()

func (c closer) Close() error { c(); return nil }

func (s *sockets) bind(p nodePort) (io.Closer, error) {
	if s.foreign[p] || s.open[p] {
		return nil, errors.New("address already in use")
	}
	s.open[p] = true
	return closer(func() { delete(s.open, p) }), nil
}

func somePod(name string, change func(*corev1.Pod), addresses ...string) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name), Labels: map[string]string{"app": "web"}, Annotations: map[string]string{}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}, {Name: "dns", ContainerPort: 53, Protocol: corev1.ProtocolUDP}}}}},
	}
	for _, a := range addresses {
		p.Status.PodIPs = append(p.Status.PodIPs, corev1.PodIP{IP: a})
	}
	if change != nil {
		change(p)
	}
	return p
}

func port(number int32, protocol corev1.Protocol, target any) corev1.ServicePort {
	p := corev1.ServicePort{Port: number, Protocol: protocol}
	switch t := target.(type) {
	case int:
		p.TargetPort = intstr.FromInt(t)
	case string:
		p.TargetPort = intstr.FromString(t)
	}
	return p
}

func someService(change func(*corev1.Service), ports ...corev1.ServicePort) *corev1.Service {
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", Annotations: map[string]string{ServiceAnnotation: "true"}},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, Selector: map[string]string{"app": "web"}, Ports: ports},
	}
	if change != nil {
		change(s)
	}
	return s
}

// of makes a world in which interfaces have the addresses of Pods.
func of(services []*corev1.Service, pods ...*corev1.Pod) *world {
	w := &world{pods: pods, services: services, holders: map[netip.Addr]types.NamespacedName{},
		nodeIPs: map[string]netip.Addr{familyIPv4: netip.MustParseAddr("192.168.77.101"), familyIPv6: netip.MustParseAddr("fd01::101")}}
	for _, p := range pods {
		for _, a := range p.Status.PodIPs {
			if addr, err := netip.ParseAddr(a.IP); err == nil && !p.Spec.HostNetwork {
				w.holders[addr] = nameOf(p)
			}
		}
	}
	return w
}

func newRange(t *testing.T) Range {
	t.Helper()
	return Range{First: 61000, Last: 61009}
}

// TestAnnotation: the text is Antrea's, to the letter.
func TestAnnotation(t *testing.T) {
	web := []*corev1.Service{someService(nil, port(80, corev1.ProtocolTCP, 8080))}
	p := decide(of(web, somePod("a", nil, "10.10.0.5", "fd00::5")), newPorts(newRange(t), newSockets().bind))
	entries := p.entries[types.NamespacedName{Namespace: "ns", Name: "a"}]
	require.Equal(t, `[{"podPort":8080,"nodeIP":"192.168.77.101","nodePort":61000,"protocol":"tcp","ipFamily":"IPv4"},`+
		`{"podPort":8080,"nodeIP":"fd01::101","nodePort":61000,"protocol":"tcp","ipFamily":"IPv6"}]`, format(entries))
	require.True(t, says(`[{"podPort":8080,"nodeIP":"fd01::101","nodePort":61000,"protocol":"tcp","ipFamily":"IPv6"},`+
		`{"podPort":8080,"nodeIP":"192.168.77.101","nodePort":61000,"protocol":"tcp"}]`, entries), "another order, and without IPv4")
	for _, other := range []string{"", "[]", "x", `[{"podPort":8080}]`, `[{"podPort":99999999}]`} {
		require.False(t, says(other, entries))
	}
	require.Empty(t, format(nil))
}

// TestWhoGetsPorts has a row for each kind of Pod and Service; want are the ports of the Pod with the ports of the Node, + marks a rule.
func TestWhoGetsPorts(t *testing.T) {
	http := port(80, corev1.ProtocolTCP, 8080)
	hostPorts := func(host int32, ip string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.Containers[0].Ports[0].HostPort, p.Spec.Containers[0].Ports[0].HostIP = host, ip
		}
	}
	for _, tc := range []struct {
		name     string
		services []*corev1.Service
		pod      func(*corev1.Pod)
		want     []string
		problem  string
	}{
		{"number", []*corev1.Service{someService(nil, http)}, nil, []string{"8080/tcp 61000+"}, ""},
		{"no target port", []*corev1.Service{someService(nil, port(80, "", nil))}, nil, []string{"80/tcp 61000+"}, ""},
		{"names, two protocols of a port", []*corev1.Service{someService(nil, port(53, corev1.ProtocolUDP, "dns"), port(53, corev1.ProtocolTCP, 53), port(80, corev1.ProtocolTCP, "http"))}, nil,
			[]string{"53/tcp 61000+", "53/udp 61001+", "8080/tcp 61002+"}, ""},
		{"name of another protocol", []*corev1.Service{someService(nil, port(53, corev1.ProtocolTCP, "dns"))}, nil, nil, ""},
		{"name of a sidecar", []*corev1.Service{someService(nil, port(90, corev1.ProtocolTCP, "proxy"))}, func(p *corev1.Pod) {
			always := corev1.ContainerRestartPolicyAlways
			p.Spec.InitContainers = []corev1.Container{{Ports: []corev1.ContainerPort{{Name: "proxy", ContainerPort: 1}}},
				{RestartPolicy: &always, Ports: []corev1.ContainerPort{{Name: "proxy", ContainerPort: 15000}}}}
		}, []string{"15000/tcp 61000+"}, ""},
		{"two Services, one port", []*corev1.Service{someService(nil, http), someService(func(s *corev1.Service) { s.Name = "web2" }, http)}, nil, []string{"8080/tcp 61000+"}, ""},
		{"LoadBalancer", []*corev1.Service{someService(func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeLoadBalancer }, http)}, nil, []string{"8080/tcp 61000+"}, ""},
		{"NodePort", []*corev1.Service{someService(func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeNodePort }, http)}, nil, nil, "type NodePort"},
		{"no selector", []*corev1.Service{someService(func(s *corev1.Service) { s.Spec.Selector = nil }, http)}, nil, nil, "no selector"},
		{"another selector", []*corev1.Service{someService(func(s *corev1.Service) { s.Spec.Selector["x"] = "y" }, http)}, nil, nil, ""},
		{"another Namespace", []*corev1.Service{someService(func(s *corev1.Service) { s.Namespace = "other" }, http)}, nil, nil, ""},
		{"annotation True", []*corev1.Service{someService(func(s *corev1.Service) { s.Annotations[ServiceAnnotation] = "True" }, http)}, nil, nil, `is "True"`},
		{"annotation false", []*corev1.Service{someService(func(s *corev1.Service) { s.Annotations[ServiceAnnotation] = "false" }, http)}, nil, nil, ""},
		{"SCTP", []*corev1.Service{someService(nil, port(80, corev1.ProtocolSCTP, 80), http)}, nil, []string{"8080/tcp 61000+"}, "port 80 has the protocol SCTP"},
		{"ended", []*corev1.Service{someService(nil, http)}, func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }, nil, ""},
		{"failed", []*corev1.Service{someService(nil, http)}, func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, nil, ""},
		{"no address", []*corev1.Service{someService(nil, http)}, func(p *corev1.Pod) { p.Status.PodIPs = nil }, nil, ""},
		{"not an address", []*corev1.Service{someService(nil, http)}, func(p *corev1.Pod) { p.Status.PodIPs[0].IP = "x" }, nil, ""},
		{"address twice", []*corev1.Service{someService(nil, http)}, func(p *corev1.Pod) { p.Status.PodIPs = append(p.Status.PodIPs, p.Status.PodIPs[0]) }, []string{"8080/tcp 61000+"}, ""},
		{"network of the host", []*corev1.Service{someService(nil, http)}, func(p *corev1.Pod) { p.Spec.HostNetwork = true }, []string{"8080/tcp 8080"}, ""},
		{"hostPort", []*corev1.Service{someService(nil, http)}, hostPorts(80, ""), []string{"8080/tcp 80"}, ""},
		{"hostPort of the Node's address", []*corev1.Service{someService(nil, http)}, hostPorts(80, "192.168.77.101"), []string{"8080/tcp 80"}, ""},
		{"hostPort of all addresses", []*corev1.Service{someService(nil, http)}, hostPorts(80, "0.0.0.0"), []string{"8080/tcp 80"}, ""},
		{"hostPort of another address", []*corev1.Service{someService(nil, http)}, hostPorts(80, "127.0.0.1"), []string{"8080/tcp 61000+"}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			pod := somePod("a", tc.pod, "10.10.0.5")
			w := of(tc.services, pod)
			p := decide(w, newPorts(newRange(t), newSockets().bind))
			ruled := map[uint16]bool{}
			for _, r := range p.rules {
				require.Equal(t, netip.MustParseAddr("10.10.0.5"), r.Pod.Addr())
				ruled[r.NodePort] = true
			}
			var got []string
			for _, e := range p.entries[nameOf(pod)] {
				text := fmt.Sprintf("%d/%s %d", e.PodPort, e.Protocol, e.NodePort)
				if ruled[e.NodePort] {
					text += "+"
				}
				got = append(got, text)
			}
			require.Equal(t, tc.want, got)
			recorder := problem.NewRecorder()
			r := newReports(recorder)
			r.report(w, p)
			problems, _ := recorder.List()
			if tc.problem == "" {
				require.Empty(t, problems)
				return
			}
			require.Contains(t, problems[0].Message, tc.problem)
			r.report(of(nil), p)
			problems, _ = recorder.List()
			require.Empty(t, problems, "the Service is gone")
		})
	}
}

// TestAddressesOfOthers: a status alone does not lead a port to an address.
func TestAddressesOfOthers(t *testing.T) {
	web := []*corev1.Service{someService(nil, port(80, corev1.ProtocolTCP, 8080))}
	liar, victim := somePod("liar", nil, "10.10.0.6"), somePod("victim", func(p *corev1.Pod) { p.Labels = nil }, "10.10.0.6")
	require.Empty(t, decide(of(web, liar, victim), newPorts(newRange(t), newSockets().bind)).rules)
	w := of(web, liar)
	w.holders = nil
	require.Empty(t, decide(w, newPorts(newRange(t), newSockets().bind)).rules, "no interface")
}

// TestExhausted: the Pods that find no port say so, the others have theirs, and a port that becomes free is used.
func TestExhausted(t *testing.T) {
	web := []*corev1.Service{someService(nil, port(80, corev1.ProtocolTCP, 8080))}
	a, b, c := somePod("a", nil, "10.10.0.5"), somePod("b", nil, "10.10.0.6"), somePod("c", nil, "10.10.0.7")
	s := newSockets(nodePort{familyIPv4, "tcp", 61001})
	from := newPorts(Range{First: 61000, Last: 61003, Reserved: []uint16{61002}}, s.bind)
	w := of(web, a, b, c)
	p := decide(w, from)
	require.Len(t, p.rules, 2)
	require.ErrorContains(t, p.refused[nameOf(c)], "all IPv4 tcp ports of nodePortLocal.portRange 61000-61003 are in use on the Node: want a larger range")
	recorder := problem.NewRecorder()
	r := newReports(recorder)
	r.report(w, p)
	problems, _ := recorder.List()
	require.Len(t, problems, 1)
	require.Equal(t, "Pod ns/c", problems[0].Subject.String())

	w = of(web, b, c)
	p = decide(w, from)
	from.keep(p.owners)
	p = decide(w, from)
	require.Equal(t, []route.PodPort{{Protocol: "tcp", NodePort: 61003, Pod: netip.MustParseAddrPort("10.10.0.6:8080")}, {Protocol: "tcp", NodePort: 61000, Pod: netip.MustParseAddrPort("10.10.0.7:8080")}}, p.rules)
	require.Len(t, s.open, 2)
	r.report(w, p)
	problems, _ = recorder.List()
	require.Empty(t, problems)
}

// TestPortsAfterARestart: rules decide before annotations, and nothing that another program has taken, or that is out of range, is used.
func TestPortsAfterARestart(t *testing.T) {
	web := []*corev1.Service{someService(nil, port(80, corev1.ProtocolTCP, 8080))}
	tells := func(number int) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Annotations[PodAnnotation] = fmt.Sprintf(`[{"podPort":8080,"nodeIP":"192.168.77.101","nodePort":%d,"protocol":"tcp"}]`, number)
		}
	}
	pods := []*corev1.Pod{
		somePod("a-thief", tells(61004), "10.10.0.5"), somePod("b", tells(61004), "10.10.0.6"), somePod("c-lost-its-rule", tells(61005), "10.10.0.7"),
		somePod("d-out-of-range", tells(62000), "10.10.0.8"), somePod("e-taken", tells(61006), "10.10.0.9"), somePod("f-new", nil, "10.10.0.10"),
		somePod("g-bad", func(p *corev1.Pod) { p.Annotations[PodAnnotation] = "{" }, "10.10.0.11"),
	}
	w := of(web, pods...)
	from := newPorts(newRange(t), newSockets(nodePort{familyIPv4, "tcp", 61006}).bind)
	restore(w, from, []route.PodPort{{Protocol: "tcp", NodePort: 61004, Pod: netip.MustParseAddrPort("10.10.0.6:8080")},
		{Protocol: "udp", NodePort: 61007, Pod: netip.MustParseAddrPort("10.10.0.5:8080")}})
	got := map[string]uint16{}
	p := decide(w, from)
	for name, entries := range p.entries {
		got[name.Name] = entries[0].NodePort
	}
	require.Equal(t, map[string]uint16{"a-thief": 61000, "b": 61004, "c-lost-its-rule": 61005, "d-out-of-range": 61001, "e-taken": 61002, "f-new": 61003, "g-bad": 61007}, got)
}

func TestNodeAddresses(t *testing.T) {
	node := &corev1.Node{Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{
		{Type: corev1.NodeHostName, Address: "10.0.0.9"}, {Type: corev1.NodeInternalIP, Address: "x"}, {Type: corev1.NodeInternalIP, Address: "10.0.0.1"},
		{Type: corev1.NodeInternalIP, Address: "10.0.0.2"}, {Type: corev1.NodeInternalIP, Address: "fd00::1"}, {Type: corev1.NodeExternalIP, Address: "203.0.113.1"},
	}}}
	require.Equal(t, map[string]netip.Addr{familyIPv4: netip.MustParseAddr("203.0.113.1"), familyIPv6: netip.MustParseAddr("fd00::1")}, nodeAddresses(node))
}
