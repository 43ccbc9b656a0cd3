// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha2"
)

// Ports of the Pods of web.
const webPodPort, webPodUDPPort = 8080, 8081

// podNetwork is the network of all Pods of a cluster.
func (m *member) podNetwork(t *testing.T) string {
	t.Helper()
	var network netip.Prefix
	for _, name := range m.nodes {
		node, err := m.client.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
		require.NoError(t, err)
		own, err := netip.ParsePrefix(node.Spec.PodCIDR)
		require.NoError(t, err)
		if !network.IsValid() {
			network = netip.PrefixFrom(own.Addr(), 16).Masked()
		}
		require.True(t, network.Contains(own.Addr()), "%v is not in %v", own, network)
	}
	return network.String()
}

// tellPods sets the Pod network that a cluster tells others, none if it is empty.
func (m *member) tellPods(t *testing.T, network string) {
	t.Helper()
	const key, setting = "controller_manager_config.yaml", "podCIDRs:"
	configMaps := m.client.CoreV1().ConfigMaps(systemNamespace)
	require.NoError(t, retryOnConflict(func() error {
		found, err := configMaps.Get(t.Context(), mcController+"-config", metav1.GetOptions{})
		if err != nil {
			return err
		}
		lines := strings.Split(found.Data[key], "\n")
		at := slices.Index(lines, setting)
		require.True(t, at >= 0 && at+1 < len(lines), found.Data[key])
		lines[at+1] = fmt.Sprintf("  - %q", network)
		found.Data[key] = strings.Join(lines, "\n")
		_, err = configMaps.Update(t.Context(), found, metav1.UpdateOptions{})
		return err
	}))
	m.restartController(t)
}

// waitForPods waits until a cluster knows the other cluster's Pod network, and its Nodes send there what is for it.
func (s *clusterSet) waitForPods(t *testing.T, m *member) {
	t.Helper()
	other := s.other(m)
	network := other.podNetwork(t)
	eventually(t, joinTimeout, func() error {
		i, err := read[v1alpha1.ClusterInfoImport](t, m, v1alpha1.ClusterInfoImports, systemNamespace, v1alpha1.ClusterInfoName(other.id))
		if err == nil && !slices.Equal(i.Spec.PodCIDRs, []string{network}) {
			err = fmt.Errorf("%s knows the Pod networks %v of %s, want %s", m.name, i.Spec.PodCIDRs, other.id, network)
		}
		return err
	})
	for i, node := range m.nodes[:2] {
		to := m.address(t, m.nodes[0])
		if i == 0 {
			to = s.seenAs(t, other, other.nodes[0])
		}
		eventually(t, exchangeTimeout, func() error { return m.leads(t, node, network, to) })
	}
}

// testPods: Pods reach Pods of the other cluster by their addresses. Servers and their policies see the gateway, the client's policies see the
// server's address, and nothing takes the fast path.
func (s *clusterSet) testPods(t *testing.T) {
	// A network that this cluster has itself: Services stay connected, Pods are not.
	s.b.tellPods(t, s.a.podNetwork(t))
	eventually(t, joinTimeout, func() error {
		set, err := read[v1alpha2.ClusterSet](t, s.a, v1alpha2.ClusterSets, systemNamespace, setName)
		if err == nil && !slices.ContainsFunc(set.Status.Conditions, func(c v1alpha2.ClusterSetCondition) bool {
			return strings.Contains(c.Message, s.b.id+"-clusterinfo: its Pod networks have no effect: ")
		}) {
			err = fmt.Errorf("the overlap is not reported: %+v", set.Status)
		}
		return err
	})
	clients := s.mcClients(t, s.a)
	s.a.expectAnswers(t, clients[0], s.webAddress(t, s.b), "west-0", "west-1")
	s.a.expect(t, true, clients[0], s.webPod(t, s.a, 1).Status.PodIP, webPodPort)
	for _, m := range s.members() {
		m.tellPods(t, m.podNetwork(t))
	}
	for _, m := range s.members() {
		s.waitForPods(t, m)
	}
	for _, m := range s.members() {
		for _, client := range s.mcClients(t, m) {
			for i := range s.other(m).nodes[:2] {
				s.reachesPod(t, m, client, s.webPod(t, s.other(m), i))
			}
		}
	}
	s.podPolicies(t, clients)
	for i, client := range clients {
		s.notFast(t, s.a, client, clients[1-i], s.webPod(t, s.b, i).Status.PodIP)
	}
}

// webAddress is the ClusterIP of the Service web in its own cluster.
func (s *clusterSet) webAddress(t *testing.T, m *member) string {
	t.Helper()
	service, err := m.client.CoreV1().Services(s.namespace).Get(t.Context(), webName, metav1.GetOptions{})
	require.NoError(t, err)
	return service.Spec.ClusterIP
}

// webPod is the Pod of web on a Node.
func (s *clusterSet) webPod(t *testing.T, m *member, node int) *corev1.Pod {
	t.Helper()
	return m.waitForPod(t, s.namespace, fmt.Sprintf("%s-%d", m.id, node))
}

// reachesPod: TCP, UDP, and packets as large as the Pod's device sends, which must not be fragmented.
func (s *clusterSet) reachesPod(t *testing.T, m *member, client, server *corev1.Pod) {
	t.Helper()
	address, gateway := server.Status.PodIP, s.seenAs(t, m, m.nodes[0])
	script := fmt.Sprintf(`for i in $(seq 5); do curl -s --max-time 5 http://%s:%d/clientip; echo; done`, address, webPodPort)
	for source := range count(m.exec(t, client, "", "sh", "-c", script)) {
		require.Truef(t, strings.HasPrefix(source, gateway+":"), "%s of %s sees %q, want the gateway %s", server.Name, s.other(m).name, source, gateway)
	}
	script = fmt.Sprintf(`for i in $(seq 5); do echo hostname | nc -u -W 1 -w 2 %s %d; echo; done`, address, webPodUDPPort)
	require.Equal(t, []string{server.Name}, slices.Collect(maps.Keys(count(m.exec(t, client, "", "sh", "-c", script)))))
	mtu, err := strconv.Atoi(strings.TrimSpace(m.exec(t, client, "", "cat", "/sys/class/net/eth0/mtu")))
	require.NoError(t, err)
	// 20 bytes of IPv4 and 8 of ICMP.
	m.exec(t, client, "", "ping", "-c", "1", "-W", "5", "-M", "do", "-s", strconv.Itoa(mtu-28), address)
}

// podPolicies are about traffic from Pods of a to Pods of b.
func (s *clusterSet) podPolicies(t *testing.T, clients []*corev1.Pod) {
	t.Helper()
	near, far := s.webPod(t, s.b, 0).Status.PodIP, s.webPod(t, s.b, 1).Status.PodIP
	own := s.mcClients(t, s.b)[1]
	ingress := func(name string, rules []networkingv1.NetworkPolicyIngressRule) {
		s.b.policy(t, s.namespace, name, networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": webName}}, PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}, Ingress: rules,
		})
	}
	from := func(peers ...networkingv1.NetworkPolicyPeer) []networkingv1.NetworkPolicyIngressRule {
		return []networkingv1.NetworkPolicyIngressRule{{From: peers}}
	}
	remove := func(m *member, name string) {
		require.NoError(t, m.client.NetworkingV1().NetworkPolicies(s.namespace).Delete(t.Context(), name, metav1.DeleteOptions{}))
	}
	expect := func(want bool) {
		t.Helper()
		for _, client := range clients {
			s.a.expect(t, want, client, near, webPodPort)
			s.a.expect(t, want, client, far, webPodPort)
		}
	}
	ingress("gateway", from(networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: s.seenAs(t, s.a, s.a.nodes[0]) + "/32"}}))
	s.b.expect(t, false, own, near, webPodPort)
	expect(true)
	remove(s.b, "gateway")
	// All Pods of all Namespaces, and the clients' own addresses: the server sees another address.
	ingress("pods", from(networkingv1.NetworkPolicyPeer{NamespaceSelector: &metav1.LabelSelector{}}, networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: s.a.podNetwork(t)}}))
	expect(false)
	s.b.expect(t, true, own, near, webPodPort)
	remove(s.b, "pods")
	expect(true)
	s.a.policy(t, s.namespace, "egress", networkingv1.NetworkPolicySpec{
		PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeEgress},
		Egress: []networkingv1.NetworkPolicyEgressRule{{To: []networkingv1.NetworkPolicyPeer{
			{IPBlock: &networkingv1.IPBlock{CIDR: "0.0.0.0/0", Except: []string{near + "/32"}}},
		}}},
	})
	for _, client := range clients {
		s.a.expect(t, false, client, near, webPodPort)
		s.a.expect(t, true, client, far, webPodPort)
	}
	remove(s.a, "egress")
	expect(true)
}
