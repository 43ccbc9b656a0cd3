// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func TestNetworkPolicy(t *testing.T) {
	c := suite
	c.test(t, "testDifferentNamedPorts", c.testDifferentNamedPorts)
	c.test(t, "testDefaultDenyIngressPolicy", c.testDefaultDenyIngress)
	c.test(t, "testDefaultDenyEgressPolicy", c.testDefaultDenyEgress)
	c.test(t, "testIngressPolicyWithoutPortNumber", c.testIngressWithoutPort)
	c.test(t, "testIngressPolicyWithEndPort", c.testIngressWithEndPort)
	c.test(t, "testNetworkPolicyResyncAfterRestart", c.testResync)
	c.test(t, "testNetworkPolicyAfterAgentRestart", c.testPoliciesAfterRestart)
	c.test(t, "testNetworkPolicyStats", c.testPolicyStats)
}

func (c *cluster) policy(t *testing.T, namespace, name string, spec networkingv1.NetworkPolicySpec) {
	t.Helper()
	policy := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}, Spec: spec}
	_, err := c.client.NetworkingV1().NetworkPolicies(namespace).Create(t.Context(), policy, metav1.CreateOptions{})
	require.NoError(t, err)
}

// reaches reports whether a new TCP connection from a Pod succeeds. One that is only slow must not be taken for a denied one.
func (c *cluster) reaches(t *testing.T, from *corev1.Pod, address string, port int) bool {
	t.Helper()
	stdout, stderr, err := c.run(t.Context(), from, "", "nc", "-vz", "-w", seconds(2), address, fmt.Sprint(port))
	code, ended := exitCode(err)
	require.Truef(t, ended, "nc in %s: %v: %s%s", from.Name, err, stdout, stderr)
	return code == 0
}

// expect waits until connections from a Pod succeed, or fail, and then tries three more, at the same time, because one that fails takes
// seconds.
func (c *cluster) expect(t *testing.T, want bool, from *corev1.Pod, address string, port int) {
	t.Helper()
	eventually(t, policyDelay, func() error {
		if got := c.reaches(t, from, address, port); got != want {
			return fmt.Errorf("%s reaches %s port %d: %t, want %t", from.Name, address, port, got, want)
		}
		return nil
	})
	const more = 3
	script := fmt.Sprintf("for i in $(seq %d); do { nc -z -w %s %s %d; echo code=$?; } & done; wait", more, seconds(2), address, port)
	outcome := map[bool]string{true: "code=0\n", false: "code=1\n"}[want]
	require.Equalf(t, strings.Repeat(outcome, more), c.exec(t, from, "", "sh", "-c", script), "%s reaches %s port %d", from.Name, address, port)
}

func (c *cluster) nginx(t *testing.T, namespace, node string) *corev1.Pod {
	return c.pod(t, namespace, "server", node, podOptions{image: nginxImage, labels: map[string]string{"app": "nginx"}})
}

var nginxPods = metav1.LabelSelector{MatchLabels: map[string]string{"app": "nginx"}}

// testDefaultDenyIngress: only its own Node reaches an isolated Pod, also through a port of the Nodes.
func (c *cluster) testDefaultDenyIngress(t *testing.T) {
	namespace := c.namespace(t)
	server := c.nginx(t, namespace, c.nodes[1])
	same := c.pod(t, namespace, "client-same", c.nodes[1], podOptions{})
	other := c.pod(t, namespace, "client-other", c.nodes[0], podOptions{})
	node := c.pod(t, namespace, "client-node", c.nodes[1], podOptions{hostNetwork: true})
	otherNode := c.pod(t, namespace, "client-other-node", c.nodes[0], podOptions{hostNetwork: true})
	all := []*corev1.Pod{same, other, node, otherNode}
	service := c.service(t, namespace, "nginx", 80, 80, func(s *corev1.ServiceSpec) { s.Type = corev1.ServiceTypeNodePort })
	nodePort := int(service.Spec.Ports[0].NodePort)
	c.expect(t, true, otherNode, otherNode.Status.HostIP, nodePort)
	c.expect(t, true, node, otherNode.Status.HostIP, nodePort)
	for _, client := range all {
		c.expect(t, true, client, server.Status.PodIP, 80)
	}
	c.policy(t, namespace, "deny", networkingv1.NetworkPolicySpec{PodSelector: nginxPods, PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}})
	for _, client := range all {
		c.expect(t, client == node, client, server.Status.PodIP, 80)
	}
	// Through the other Node the connection comes from that Node's address.
	c.expect(t, false, otherNode, otherNode.Status.HostIP, nodePort)
	c.expect(t, false, node, otherNode.Status.HostIP, nodePort)
}

// testDefaultDenyEgress: an isolated Pod reaches nothing.
func (c *cluster) testDefaultDenyEgress(t *testing.T) {
	namespace := c.namespace(t)
	server := c.nginx(t, namespace, c.nodes[1])
	client := c.pod(t, namespace, "client", c.nodes[0], podOptions{labels: map[string]string{"role": "client"}})
	c.expect(t, true, client, server.Status.PodIP, 80)
	c.policy(t, namespace, "deny", networkingv1.NetworkPolicySpec{
		PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"role": "client"}}, PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeEgress},
	})
	c.expect(t, false, client, server.Status.PodIP, 80)
}

// testIngressWithoutPort: a rule with a protocol and no port allows all ports of that protocol.
func (c *cluster) testIngressWithoutPort(t *testing.T) {
	namespace := c.namespace(t)
	server := c.nginx(t, namespace, c.nodes[1])
	allowed := c.pod(t, namespace, "client-allowed", c.nodes[0], podOptions{labels: map[string]string{"role": "client"}})
	denied := c.pod(t, namespace, "client-denied", c.nodes[0], podOptions{})
	tcp := corev1.ProtocolTCP
	c.policy(t, namespace, "allow", networkingv1.NetworkPolicySpec{
		PodSelector: nginxPods,
		Ingress: []networkingv1.NetworkPolicyIngressRule{{
			Ports: []networkingv1.NetworkPolicyPort{{Protocol: &tcp}},
			From:  []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"role": "client"}}}},
		}},
	})
	c.expect(t, false, denied, server.Status.PodIP, 80)
	c.expect(t, true, allowed, server.Status.PodIP, 80)
}

// testIngressWithEndPort: a range of ports is allowed, and the ports beside it are not.
func (c *cluster) testIngressWithEndPort(t *testing.T) {
	const first, last = 8081, 8083
	namespace := c.namespace(t)
	server := c.pod(t, namespace, "server", c.nodes[1], podOptions{
		image: agnhostImage, labels: map[string]string{"app": "nginx"}, command: []string{"/bin/bash", "-c"},
		args: []string{fmt.Sprintf("for i in $(seq %d %d); do /agnhost netexec --http-port=$i --udp-port=$i & done; wait", first-1, last+1)},
	})
	client := c.pod(t, namespace, "client", c.nodes[0], podOptions{})
	for port := first - 1; port <= last+1; port++ {
		c.expect(t, true, client, server.Status.PodIP, port)
	}
	tcp, from, to := corev1.ProtocolTCP, intstr.FromInt32(first), int32(last)
	c.policy(t, namespace, "allow", networkingv1.NetworkPolicySpec{
		PodSelector: nginxPods,
		Ingress:     []networkingv1.NetworkPolicyIngressRule{{Ports: []networkingv1.NetworkPolicyPort{{Protocol: &tcp, Port: &from, EndPort: &to}}}},
	})
	for _, port := range []int{first - 1, last + 1, first, first + 1, last} {
		c.expect(t, port >= first && port <= last, client, server.Status.PodIP, port)
	}
}

// testDifferentNamedPorts: a port's name means another number in each Pod.
func (c *cluster) testDifferentNamedPorts(t *testing.T) {
	namespace := c.namespace(t)
	ports := map[string]int{"server-80": 80, "server-81": 81}
	servers := map[string]*corev1.Pod{}
	for name, port := range ports {
		servers[name] = c.pod(t, namespace, name, c.nodes[1], podOptions{
			image: agnhostImage, args: []string{"netexec", fmt.Sprintf("--http-port=%d", port)}, labels: map[string]string{"app": "nginx"},
			ports: []corev1.ContainerPort{{Name: "http", ContainerPort: int32(port), Protocol: corev1.ProtocolTCP}},
		})
	}
	allowed := c.pod(t, namespace, "client-allowed", c.nodes[0], podOptions{labels: map[string]string{"role": "client"}})
	denied := c.pod(t, namespace, "client-denied", c.nodes[0], podOptions{})
	for name, port := range ports {
		c.expect(t, true, allowed, servers[name].Status.PodIP, port)
		c.expect(t, true, denied, servers[name].Status.PodIP, port)
	}
	tcp, http := corev1.ProtocolTCP, intstr.FromString("http")
	c.policy(t, namespace, "allow", networkingv1.NetworkPolicySpec{
		PodSelector: nginxPods,
		Ingress: []networkingv1.NetworkPolicyIngressRule{{
			Ports: []networkingv1.NetworkPolicyPort{{Protocol: &tcp, Port: &http}},
			From:  []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"role": "client"}}}},
		}},
	})
	for name, port := range ports {
		c.expect(t, false, denied, servers[name].Status.PodIP, port)
		c.expect(t, true, allowed, servers[name].Status.PodIP, port)
	}
}
