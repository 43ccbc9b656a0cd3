// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	mcs "github.com/antrea-oncache/antrea/multicluster/apis/mcs/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
)

// The Service web of both clusters.
const (
	webName   = "web"
	webPort   = 80
	iperfPort = 5201
	// requests is the number of connections in which both of a Service's two Endpoints are surely chosen.
	requests = 30
)

// serve makes the Service web with a Pod on each Node, and exports it.
func (s *clusterSet) serve(t *testing.T, m *member) {
	t.Helper()
	for i, node := range m.nodes[:2] {
		m.createPod(t, s.namespace, fmt.Sprintf("%s-%d", m.id, i), node, podOptions{
			image: agnhostImage, args: []string{"netexec", "--http-port=8080", "--udp-port=8081"},
			labels: map[string]string{"app": webName, "server": fmt.Sprintf("%s-%d", m.id, i)},
			more:   []corev1.Container{{Name: "iperf", Image: toolboxImage, ImagePullPolicy: corev1.PullIfNotPresent, Command: []string{"iperf3", "-s"}}},
		})
	}
	m.service(t, s.namespace, webName, webPort, 8080, func(spec *corev1.ServiceSpec) {
		spec.Ports[0].Name = "http"
		spec.Ports = append(spec.Ports, corev1.ServicePort{Name: "udp", Protocol: corev1.ProtocolUDP, Port: webPort, TargetPort: intstr.FromInt32(8081)})
	})
	for i := range m.nodes[:2] {
		m.waitForPod(t, s.namespace, fmt.Sprintf("%s-%d", m.id, i))
	}
	s.export(t, m)
}

func (s *clusterSet) createExport(t *testing.T, m *member, name string) {
	t.Helper()
	object := crd.NewOf(mcs.SchemeGroupVersion.WithKind(mcs.ServiceExportKind), s.namespace, name)
	_, err := m.dynamic.Resource(mcs.ServiceExports).Namespace(s.namespace).Create(t.Context(), object, metav1.CreateOptions{})
	require.NoError(t, err)
}

func (s *clusterSet) export(t *testing.T, m *member) {
	t.Helper()
	s.createExport(t, m, webName)
	eventually(t, exchangeTimeout, func() error {
		e, err := read[mcs.ServiceExport](t, m, mcs.ServiceExports, s.namespace, webName)
		if err == nil && (len(e.Status.Conditions) != 1 || e.Status.Conditions[0].Status != metav1.ConditionTrue) {
			err = fmt.Errorf("the ServiceExport of %s has the status %+v", m.name, e.Status)
		}
		return err
	})
}

// mcClients are Pods of a cluster, one on each Node: the first is on the gateway Node at first.
func (s *clusterSet) mcClients(t *testing.T, m *member) (pods []*corev1.Pod) {
	t.Helper()
	for i, node := range m.nodes[:2] {
		name := fmt.Sprintf("client-%d", i)
		if _, err := m.client.CoreV1().Pods(s.namespace).Get(t.Context(), name, metav1.GetOptions{}); apierrors.IsNotFound(err) {
			m.createPod(t, s.namespace, name, node, podOptions{})
		}
	}
	for i := range m.nodes[:2] {
		pods = append(pods, m.waitForPod(t, s.namespace, fmt.Sprintf("client-%d", i)))
	}
	return pods
}

// imported waits until a cluster has the Service web of the set with the ClusterIPs of these clusters, and returns its address.
func (s *clusterSet) imported(t *testing.T, m *member, from ...*member) (address string) {
	t.Helper()
	return s.importedWithin(t, exchangeTimeout, m, from...)
}

func (s *clusterSet) importedWithin(t *testing.T, timeout time.Duration, m *member, from ...*member) (address string) {
	t.Helper()
	var want []string
	for _, exporter := range from {
		service, err := exporter.client.CoreV1().Services(s.namespace).Get(t.Context(), webName, metav1.GetOptions{})
		require.NoError(t, err)
		want = append(want, service.Spec.ClusterIP)
	}
	slices.Sort(want)
	eventually(t, timeout, func() error {
		service, err := m.client.CoreV1().Services(s.namespace).Get(t.Context(), v1alpha1.ImportedName(webName), metav1.GetOptions{})
		if err != nil {
			return err
		}
		address = service.Spec.ClusterIP
		i, err := read[mcs.ServiceImport](t, m, mcs.ServiceImports, s.namespace, webName)
		if err != nil {
			return err
		}
		if !slices.Equal(i.Spec.IPs, []string{address}) {
			return fmt.Errorf("the ServiceImport has the addresses %v, the Service %s", i.Spec.IPs, address)
		}
		found, err := m.client.DiscoveryV1().EndpointSlices(s.namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "kubernetes.io/service-name=" + service.Name})
		if err != nil {
			return err
		}
		got := map[string]bool{}
		for _, slice := range found.Items {
			for _, e := range slice.Endpoints {
				got[e.Addresses[0]] = true
			}
		}
		if have := slices.Sorted(maps.Keys(got)); !slices.Equal(have, want) {
			return fmt.Errorf("%s has the Endpoints %v, want %v", m.name, have, want)
		}
		return nil
	})
	return address
}

// answers returns the Pods that answer to requests of a Pod, with the number of answers, and "" for requests without an answer.
func (m *member) answers(t *testing.T, from *corev1.Pod, address, path string) map[string]int {
	t.Helper()
	script := fmt.Sprintf(`for i in $(seq %d); do curl -sS --max-time 5 http://%s:%d/%s || date +%%T >&2; echo; done`, requests, address, webPort, path)
	stdout, stderr, err := m.run(t.Context(), from, "", "sh", "-c", script)
	require.NoError(t, err, stderr)
	if stderr != "" {
		t.Logf("%s on %s of %s: %s", from.Name, from.Spec.NodeName, m.name, stderr)
	}
	return count(stdout)
}

// policy makes a NetworkPolicy. It does not outlive the case, which may fail: the next one uses the same namespace.
func (m *member) policy(t *testing.T, namespace, name string, spec networkingv1.NetworkPolicySpec) {
	t.Helper()
	m.cluster.policy(t, namespace, name, spec)
	t.Cleanup(func() {
		_ = m.client.NetworkingV1().NetworkPolicies(namespace).Delete(context.WithoutCancel(t.Context()), name, metav1.DeleteOptions{})
	})
}

// udpAnswers is answers over UDP, in fewer attempts. nc ends after one answer.
func (m *member) udpAnswers(t *testing.T, from *corev1.Pod, address string) map[string]int {
	t.Helper()
	script := fmt.Sprintf(`for i in $(seq %d); do echo hostname | nc -u -W 1 -w 2 %s %d; echo; done`, requests/3, address, webPort)
	return count(m.exec(t, from, "", "sh", "-c", script))
}

func count(output string) map[string]int {
	counts := map[string]int{}
	for line := range strings.Lines(output) {
		counts[strings.TrimSpace(line)]++
	}
	return counts
}

// expectAnswers waits until exactly these Pods answer, and no request is lost.
func (m *member) expectAnswers(t *testing.T, from *corev1.Pod, address string, want ...string) {
	t.Helper()
	eventually(t, exchangeTimeout, func() error {
		if got := slices.Sorted(maps.Keys(m.answers(t, from, address, "hostname"))); !slices.Equal(got, want) {
			return fmt.Errorf("%s on %s of %s gets answers of %q, want %q", from.Name, from.Spec.NodeName, m.name, got, want)
		}
		return nil
	})
}

// testConnectivity: Pods on each Node of one cluster reach Pods on each Node of the other cluster, over TCP and UDP, with much data in both
// directions. The servers see the gateway's address.
func (s *clusterSet) testConnectivity(t *testing.T) {
	s.serve(t, s.b)
	address := s.imported(t, s.a, s.b)
	gateway := s.seenAs(t, s.a, s.a.nodes[0])
	clients := s.mcClients(t, s.a)
	for i, client := range clients {
		s.a.expectAnswers(t, client, address, "west-0", "west-1")
		for source := range s.a.answers(t, client, address, "clientip") {
			require.Truef(t, strings.HasPrefix(source, gateway+":"), "the server sees %q, want the gateway %s", source, gateway)
		}
		udp := s.a.udpAnswers(t, client, address)
		require.NotContains(t, slices.Collect(maps.Keys(udp)), "", "%v", udp)
		single := s.single(t, s.b)
		s.a.waitForIperf(t, client, single)
		for _, direction := range [][]string{nil, {"--reverse"}} {
			require.Positive(t, s.a.mbits(t, s.a.iperf(t, client, single, append([]string{"--bytes", "1M"}, direction...)...)))
		}
		s.notFast(t, s.a, client, clients[1-i], single)
	}
}

// singleName is a Service with one Pod of web.
const singleName = "single"

// single makes that Service in a cluster, which iperf3 needs for its two connections. It is not exported: other clusters reach it by its ClusterIP.
func (s *clusterSet) single(t *testing.T, m *member) string {
	t.Helper()
	return s.serviceOf(t, m, singleName, iperfPort, iperfPort, m.id+"-0")
}

// serviceOf returns the address of a Service with one Pod of web, which it makes if need be.
func (s *clusterSet) serviceOf(t *testing.T, m *member, name string, port, target int, server string) string {
	t.Helper()
	service, err := m.client.CoreV1().Services(s.namespace).Get(t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return m.service(t, s.namespace, name, port, target, func(spec *corev1.ServiceSpec) {
			spec.Selector = map[string]string{"server": server}
		}).Spec.ClusterIP
	}
	require.NoError(t, err)
	return service.Spec.ClusterIP
}

// notFast: nothing of a Pod that crosses clusters, such as a stream to address, takes the fast path. At the same time a stream to a Pod of its own
// cluster takes it on both Nodes, so the cache works and its entries are seen.
func (s *clusterSet) notFast(t *testing.T, m *member, pod, neighbor *corev1.Pod, address string) {
	t.Helper()
	if !m.gate {
		return
	}
	server := m.startUntil(t, neighbor, "iperf3", "-s")
	defer server()
	m.waitForIperf(t, pod, neighbor.Status.PodIP)
	within := m.iperfUntil(t, pod, neighbor.Status.PodIP, "--bitrate", modest)
	defer within()
	m.waitFast(t, "TCP", pod, neighbor)
	require.Positive(t, m.mbits(t, m.iperf(t, pod, address, "--bitrate", modest, "--time", seconds(5))))
	egress, ingress := m.packets(t, pod, "TCP", neighbor.Status.PodIP)
	require.True(t, egress > 0 && ingress > 0, "the stream within the cluster is not fast any more: %d packets to %s, %d from there", egress, neighbor.Name, ingress)
	i, err := read[v1alpha1.ClusterInfoImport](t, m, v1alpha1.ClusterInfoImports, systemNamespace, v1alpha1.ClusterInfoName(s.other(m).id))
	require.NoError(t, err)
	gateway := netip.MustParseAddr(i.Spec.GatewayInfos[0].GatewayIP)
	var remote []netip.Prefix
	for _, text := range append([]string{i.Spec.ServiceCIDR}, i.Spec.PodCIDRs...) {
		remote = append(remote, netip.MustParsePrefix(text))
	}
	for _, f := range m.flows(t, pod) {
		for _, end := range []string{f.Source, f.Destination} {
			address, err := netip.ParseAddrPort(end)
			require.NoError(t, err)
			crosses := slices.ContainsFunc(remote, func(n netip.Prefix) bool { return n.Contains(address.Addr()) })
			require.Falsef(t, crosses || address.Addr() == gateway, "%+v crosses clusters", f)
		}
	}
}

// testBothExport: with web in both clusters, Pods of both reach all of its Pods.
func (s *clusterSet) testBothExport(t *testing.T) {
	s.serve(t, s.a)
	for _, m := range s.members() {
		address := s.imported(t, m, s.a, s.b)
		for _, client := range s.mcClients(t, m) {
			m.expectAnswers(t, client, address, "north-0", "north-1", "west-0", "west-1")
		}
	}
}

// testPolicies: a server's NetworkPolicy sees the gateway of the client's cluster.
func (s *clusterSet) testPolicies(t *testing.T) {
	gateway := s.seenAs(t, s.a, s.a.nodes[0])
	service, err := s.b.client.CoreV1().Services(s.namespace).Get(t.Context(), webName, metav1.GetOptions{})
	require.NoError(t, err)
	web, address := metav1.LabelSelector{MatchLabels: map[string]string{"app": webName}}, service.Spec.ClusterIP
	s.b.policy(t, s.namespace, "gateway", networkingv1.NetworkPolicySpec{
		PodSelector: web, PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
		Ingress: []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: gateway + "/32"}}}}},
	})
	clients := s.mcClients(t, s.a)
	s.b.expect(t, false, s.mcClients(t, s.b)[1], address, webPort)
	for _, client := range clients {
		s.a.expectAnswers(t, client, address, "west-0", "west-1")
	}
	policies := s.b.client.NetworkingV1().NetworkPolicies(s.namespace)
	require.NoError(t, policies.Delete(t.Context(), "gateway", metav1.DeleteOptions{}))
	s.b.policy(t, s.namespace, "none", networkingv1.NetworkPolicySpec{PodSelector: web, PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}})
	for _, client := range clients {
		s.a.expect(t, false, client, address, webPort)
	}
	require.NoError(t, policies.Delete(t.Context(), "none", metav1.DeleteOptions{}))
	for _, client := range clients {
		s.a.expectAnswers(t, client, address, "west-0", "west-1")
	}
}
