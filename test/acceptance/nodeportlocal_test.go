// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const (
	nplService, nplPod = "nodeportlocal.antrea.io/enabled", "nodeportlocal.antrea.io"
	nplRange           = "61000-62000"
	// otherRange is beside it, and as large.
	otherRange = "62001-63001"
)

// nplPort is an element of the annotation of a Pod.
type nplPort struct {
	PodPort  int    `json:"podPort"`
	NodeIP   string `json:"nodeIP"`
	NodePort int    `json:"nodePort"`
	Protocol string `json:"protocol"`
	IPFamily string `json:"ipFamily"`
}

// TestNodePortLocal has upstream's cases, and our own about policies, addresses that are used again, and the end of the feature.
func TestNodePortLocal(t *testing.T) {
	c := suite
	c.configureNPL(t, true, nplRange)
	c.test(t, "testNPLAddPod/NPLTestMultiplePods", c.testNPLMultiplePods)
	c.test(t, "testNPLAddPod/NPLTestPodAddMultiPort", c.testNPLMultiPort)
	c.test(t, "testNPLAddPod/NPLTestPodAddMultiProtocol", c.testNPLMultiProtocol)
	c.test(t, "testNPLAddPod/NPLTestLocalAccess", c.testNPLLocalAccess)
	c.test(t, "policies", c.testNPLPolicies)
	c.test(t, "address used again", c.testNPLAddress)
	c.test(t, "testNPLMultiplePodsAgentRestart", c.testNPLRestart)
	c.test(t, "testNPLChangePortRangeAgentRestart", c.testNPLChangeRange)
}

// configureNPL switches the feature with the configuration file, and restarts agents.
func (c *cluster) configureNPL(t *testing.T, on bool, portRange string) {
	t.Helper()
	c.configure(t, func(files map[string]string) {
		files[agentConfigKey] = withNPL(t, files[agentConfigKey], on, portRange)
	})
}

func withNPL(t *testing.T, file string, on bool, portRange string) string {
	t.Helper()
	before, after, found := strings.Cut(file, "\nnodePortLocal:\n")
	require.True(t, found, file)
	lines := strings.Split(after, "\n")
	require.Contains(t, lines[0], "enable:")
	require.Contains(t, lines[1], "portRange:")
	lines[0], lines[1] = fmt.Sprintf("  enable: %t", on), fmt.Sprintf("  portRange: %q", portRange)
	return before + "\nnodePortLocal:\n" + strings.Join(lines, "\n")
}

// nplServers makes Pods with a web server and the label app=name on a Node, and a Service that asks for ports for them.
func (c *cluster) nplServers(t *testing.T, namespace, name, node string, pods int, ports ...corev1.ServicePort) (servers []*corev1.Pod) {
	t.Helper()
	_, err := c.client.CoreV1().Services(namespace).Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, Annotations: map[string]string{nplService: "true"}},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": name}, Ports: ports},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	for i := range pods {
		c.createPod(t, namespace, fmt.Sprintf("%s-%d", name, i), node, nplServer(name))
	}
	for i := range pods {
		servers = append(servers, c.waitForPod(t, namespace, fmt.Sprintf("%s-%d", name, i)))
	}
	return servers
}

// nplServer serves HTTP on the ports 8080 and 8081, and UDP on 8080.
func nplServer(name string) podOptions {
	return podOptions{image: agnhostImage, labels: map[string]string{"app": name}, command: []string{"/bin/sh", "-c"},
		args: []string{"/agnhost netexec --http-port=8081 --udp-port=-1 & exec /agnhost netexec --http-port=8080 --udp-port=8080"}}
}

func nplServicePort(port int, protocol corev1.Protocol) corev1.ServicePort {
	return corev1.ServicePort{Name: strings.ToLower(fmt.Sprint(protocol, port)), Port: int32(port), Protocol: protocol, TargetPort: intstr.FromInt(port)}
}

// nplPorts waits until a Pod tells ports of its Node for these ports and protocols, such as "8080/tcp", until each has its rule and its socket, and
// returns them.
func (c *cluster) nplPorts(t *testing.T, pod *corev1.Pod, want ...string) map[string]nplPort {
	t.Helper()
	var ports map[string]nplPort
	eventually(t, podTimeout, func() (err error) {
		now, err := c.client.CoreV1().Pods(pod.Namespace).Get(t.Context(), pod.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if ports, err = parseNPL(now.Annotations[nplPod]); err != nil {
			return err
		}
		if got := slices.Sorted(maps.Keys(ports)); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
			return fmt.Errorf("Pod %s tells ports for %v, want %v", pod.Name, got, want)
		}
		return nil
	})
	for _, p := range ports {
		require.Equal(t, pod.Status.HostIP, p.NodeIP)
		require.Equal(t, "IPv4", p.IPFamily)
		c.expectNPL(t, pod.Spec.NodeName, p, pod.Status.PodIP, true)
	}
	return ports
}

// parseNPL reads the annotation, and expects upstream's fields and no others.
func parseNPL(annotation string) (map[string]nplPort, error) {
	if annotation == "" {
		return nil, nil
	}
	decoder := json.NewDecoder(strings.NewReader(annotation))
	decoder.DisallowUnknownFields()
	var list []nplPort
	if err := decoder.Decode(&list); err != nil {
		return nil, fmt.Errorf("%s: %w", annotation, err)
	}
	ports := map[string]nplPort{}
	for _, p := range list {
		ports[fmt.Sprintf("%d/%s", p.PodPort, p.Protocol)] = p
	}
	if len(ports) != len(list) {
		return nil, errors.New("a port twice: " + annotation)
	}
	return ports, nil
}

// expectNPL waits until a Node has, or no longer has, the rule and the socket of a port.
func (c *cluster) expectNPL(t *testing.T, node string, p nplPort, podIP string, want bool) {
	t.Helper()
	agent := c.agentOn(t, node)
	rule := fmt.Sprintf("-A ANTREA-NODE-PORT-LOCAL -p %[1]s -m %[1]s --dport %[2]d -j DNAT --to-destination %[3]s:%[4]d\n", p.Protocol, p.NodePort, podIP, p.PodPort)
	socket := fmt.Sprintf(": 00000000:%04X 00000000:0000 ", p.NodePort)
	eventually(t, podTimeout, func() error {
		rules := c.exec(t, agent, agentContainer, "/bin/sh", "-c", "iptables-nft-save -t nat; iptables-legacy-save -t nat 2>/dev/null || true")
		sockets := c.exec(t, agent, agentContainer, "cat", "/proc/net/"+p.Protocol)
		if strings.Contains(rules, rule) != want || strings.Contains(sockets, socket) != want {
			return fmt.Errorf("Node %s: rule and socket of %+v: want %t: %s%s", node, p, want, rules, sockets)
		}
		return nil
	})
}

// nplAnswers returns the source address that a server sees of a request to a port of its Node.
func (c *cluster) nplAnswers(t *testing.T, from *corev1.Pod, p nplPort) (string, error) {
	t.Helper()
	command := askClientIP(p.NodeIP, p.NodePort)
	if p.Protocol == "udp" {
		command = []string{"/bin/sh", "-c", fmt.Sprintf("printf clientip | nc -u -w 2 %s %d", p.NodeIP, p.NodePort)}
	}
	return c.source(t, from, command...)
}

// expectSource waits until a server answers, and expects it to see a source, unless that is empty.
func (c *cluster) expectSource(t *testing.T, want string, from *corev1.Pod, p nplPort) {
	t.Helper()
	var source string
	eventually(t, policyDelay, func() (err error) {
		source, err = c.nplAnswers(t, from, p)
		return err
	})
	if want != "" {
		require.Equal(t, want, source)
	}
}

// nplClients are the networks of both Nodes, and a Pod on each.
func (c *cluster) nplClients(t *testing.T, namespace string) (hosts, pods [2]*corev1.Pod) {
	t.Helper()
	for i, node := range c.nodes[:2] {
		c.createPod(t, namespace, fmt.Sprintf("host-%d", i), node, podOptions{hostNetwork: true})
		c.createPod(t, namespace, fmt.Sprintf("client-%d", i), node, podOptions{})
	}
	for i := range c.nodes[:2] {
		hosts[i], pods[i] = c.waitForPod(t, namespace, fmt.Sprintf("host-%d", i)), c.waitForPod(t, namespace, fmt.Sprintf("client-%d", i))
	}
	return hosts, pods
}

func (c *cluster) testNPLMultiplePods(t *testing.T) {
	namespace := c.namespace(t)
	hosts, clients := c.nplClients(t, namespace)
	servers := c.nplServers(t, namespace, "web", c.nodes[1], 4, nplServicePort(8080, corev1.ProtocolTCP))
	seen := map[int]bool{}
	for _, server := range servers {
		p := c.nplPorts(t, server, "8080/tcp")["8080/tcp"]
		seen[p.NodePort] = true
		c.expectSource(t, hosts[0].Status.HostIP, hosts[0], p)
		c.expectSource(t, "", clients[0], p)
	}
	require.Len(t, seen, len(servers))
	gone := c.nplPorts(t, servers[0], "8080/tcp")["8080/tcp"]
	c.deletePod(t, servers[0], 1)
	c.expectNPL(t, c.nodes[1], gone, servers[0].Status.PodIP, false)
	require.NoError(t, c.client.CoreV1().Services(namespace).Delete(t.Context(), "web", metav1.DeleteOptions{}))
	c.nplPorts(t, servers[1])
}

func (c *cluster) testNPLMultiPort(t *testing.T) {
	namespace := c.namespace(t)
	hosts, clients := c.nplClients(t, namespace)
	server := c.nplServers(t, namespace, "web", c.nodes[1], 1, nplServicePort(8080, corev1.ProtocolTCP), nplServicePort(8081, corev1.ProtocolTCP))[0]
	for _, p := range c.nplPorts(t, server, "8080/tcp", "8081/tcp") {
		c.expectSource(t, hosts[0].Status.HostIP, hosts[0], p)
		c.expectSource(t, "", clients[0], p)
	}
}

func (c *cluster) testNPLMultiProtocol(t *testing.T) {
	namespace := c.namespace(t)
	hosts, clients := c.nplClients(t, namespace)
	server := c.nplServers(t, namespace, "web", c.nodes[1], 1, nplServicePort(8080, corev1.ProtocolTCP), nplServicePort(8080, corev1.ProtocolUDP))[0]
	for _, p := range c.nplPorts(t, server, "8080/tcp", "8080/udp") {
		c.expectSource(t, hosts[0].Status.HostIP, hosts[0], p)
		c.expectSource(t, "", clients[0], p)
	}
}

// testNPLLocalAccess connects from the Node of the server, and from a Pod there.
func (c *cluster) testNPLLocalAccess(t *testing.T) {
	namespace := c.namespace(t)
	hosts, clients := c.nplClients(t, namespace)
	server := c.nplServers(t, namespace, "web", c.nodes[1], 1, nplServicePort(8080, corev1.ProtocolTCP), nplServicePort(8080, corev1.ProtocolUDP))[0]
	for _, p := range c.nplPorts(t, server, "8080/tcp", "8080/udp") {
		c.expectSource(t, "", hosts[1], p)
		c.expectSource(t, clients[1].Status.PodIP, clients[1], p)
	}
}

// testNPLPolicies: a policy of the Pod decides who may use its port of the Node, by the client's own address.
func (c *cluster) testNPLPolicies(t *testing.T) {
	namespace := c.namespace(t)
	hosts, clients := c.nplClients(t, namespace)
	server := c.nplServers(t, namespace, "web", c.nodes[1], 1, nplServicePort(8080, corev1.ProtocolTCP))[0]
	p := c.nplPorts(t, server, "8080/tcp")["8080/tcp"]
	c.expectSource(t, "", hosts[0], p)
	policy := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: networkingv1.NetworkPolicySpec{
		PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}}}
	policies := c.client.NetworkingV1().NetworkPolicies(namespace)
	_, err := policies.Create(t.Context(), policy, metav1.CreateOptions{})
	require.NoError(t, err)
	c.expect(t, false, hosts[0], p.NodeIP, p.NodePort)
	c.expect(t, false, clients[1], p.NodeIP, p.NodePort)
	policy.Spec.Ingress = []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: hosts[0].Status.HostIP + "/32"}}}}}
	_, err = policies.Update(t.Context(), policy, metav1.UpdateOptions{})
	require.NoError(t, err)
	c.expect(t, true, hosts[0], p.NodeIP, p.NodePort)
	c.expect(t, false, clients[1], p.NodeIP, p.NodePort)
}

// testNPLAddress: a Pod with the address of a former one cannot be reached by its port, by new connections and by a busy UDP flow.
func (c *cluster) testNPLAddress(t *testing.T) {
	namespace := c.namespace(t)
	client := c.pod(t, namespace, "host", c.nodes[0], podOptions{hostNetwork: true})
	server := c.nplServers(t, namespace, "web", c.nodes[1], 1, nplServicePort(8080, corev1.ProtocolTCP), nplServicePort(8080, corev1.ProtocolUDP))[0]
	ports := c.nplPorts(t, server, "8080/tcp", "8080/udp")
	for _, p := range ports {
		c.expectSource(t, "", client, p)
	}
	// The answers are the names of the Pods that were asked.
	script := fmt.Sprintf("while sleep 0.1; do echo hostname; done | timeout 40 nc -u -p 7000 -w 60 %s %d >/tmp/answers", ports["8080/udp"].NodeIP, ports["8080/udp"].NodePort)
	wait := c.start(t, client, 2*time.Minute, "sh", "-c", script)
	eventually(t, podTimeout, func() error {
		if stdout, _, _ := c.run(t.Context(), client, "", "cat", "/tmp/answers"); !strings.Contains(stdout, server.Name) {
			return fmt.Errorf("answers %q, want the name of Pod %s", stdout, server.Name)
		}
		return nil
	})
	c.deletePod(t, server, 1)
	c.reserveNext(t, c.nodes[1], server.Status.PodIP)
	other := c.pod(t, namespace, "other", c.nodes[1], nplServer("other"))
	require.Equal(t, server.Status.PodIP, other.Status.PodIP)
	c.connects(t, client, other.Status.PodIP, 8080)
	for _, p := range ports {
		_, err := c.nplAnswers(t, client, p)
		require.Error(t, err, "%+v", p)
	}
	wait()
	require.NotContains(t, c.exec(t, client, "", "cat", "/tmp/answers"), other.Name)
}

// testNPLRestart deletes a rule and restarts the agent: all rules and ports are as before.
func (c *cluster) testNPLRestart(t *testing.T) {
	namespace := c.namespace(t)
	client := c.pod(t, namespace, "host", c.nodes[0], podOptions{hostNetwork: true})
	servers := c.nplServers(t, namespace, "web", c.nodes[1], 4, nplServicePort(8080, corev1.ProtocolTCP))
	before := map[string]nplPort{}
	for _, server := range servers {
		before[server.Name] = c.nplPorts(t, server, "8080/tcp")["8080/tcp"]
	}
	agent := c.agentOn(t, c.nodes[1])
	c.exec(t, agent, agentContainer, "/bin/sh", "-c", "for i in iptables-nft iptables-legacy; do $i -t nat -D ANTREA-NODE-PORT-LOCAL 1 2>/dev/null; done; true")
	c.restartAgent(t, c.nodes[1])
	for _, server := range servers {
		p := c.nplPorts(t, server, "8080/tcp")["8080/tcp"]
		require.Equal(t, before[server.Name], p)
		c.expectSource(t, "", client, p)
	}
}

// testNPLChangeRange: after a change of the range, ports are in the new one, and the former ones are gone. After the feature has been switched off,
// nothing of it is left.
func (c *cluster) testNPLChangeRange(t *testing.T) {
	namespace := c.namespace(t)
	client := c.pod(t, namespace, "host", c.nodes[0], podOptions{hostNetwork: true})
	servers := c.nplServers(t, namespace, "web", c.nodes[1], 2, nplServicePort(8080, corev1.ProtocolTCP))
	before := map[string]nplPort{}
	for _, server := range servers {
		before[server.Name] = c.nplPorts(t, server, "8080/tcp")["8080/tcp"]
	}
	c.configureNPL(t, true, otherRange)
	for _, server := range servers {
		c.expectNPL(t, c.nodes[1], before[server.Name], server.Status.PodIP, false)
		var p nplPort
		eventually(t, podTimeout, func() error {
			if p = c.nplPorts(t, server, "8080/tcp")["8080/tcp"]; p.NodePort < 62001 || p.NodePort > 63001 {
				return fmt.Errorf("%+v is not in %s", p, otherRange)
			}
			return nil
		})
		c.expectSource(t, "", client, p)
	}
	c.configureNPL(t, false, otherRange)
	for _, server := range servers {
		c.nplPorts(t, server)
	}
	rules := c.exec(t, c.agentOn(t, c.nodes[1]), agentContainer, "/bin/sh", "-c", "iptables-nft-save -t nat; iptables-legacy-save -t nat 2>/dev/null || true")
	require.NotContains(t, rules, "NODE-PORT-LOCAL")
}
