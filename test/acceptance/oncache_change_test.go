// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var requestTime = regexp.MustCompile(`100% +(\d+) \(longest request\)`)

// testPolicyDuringStream isolates the server of a stream: new connections are refused at once, the stream continues
// (networkPolicy.establishedConnections: keep).
func (c *cluster) testPolicyDuringStream(t *testing.T) {
	namespace := c.namespace(t)
	client, server := c.stream(t, namespace)
	web := c.pod(t, namespace, "web", c.nodes[1], podOptions{image: agnhostImage, args: []string{"netexec", "--http-port=8080"}, labels: map[string]string{"app": "server"}})
	end := c.iperfUntil(t, client, server.Status.PodIP, "--bitrate", modest)
	c.waitFast(t, "TCP", client, server)
	c.expect(t, true, client, web.Status.PodIP, 8080)
	servers := metav1.LabelSelector{MatchLabels: map[string]string{"app": "server"}}
	c.policy(t, namespace, "deny", networkingv1.NetworkPolicySpec{PodSelector: servers, PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}})
	c.expect(t, false, client, web.Status.PodIP, 8080)
	c.expect(t, false, client, server.Status.PodIP, 5201)
	c.waitFast(t, "TCP", client, server)
	require.NoError(t, c.client.NetworkingV1().NetworkPolicies(namespace).Delete(t.Context(), "deny", metav1.DeleteOptions{}))
	c.expect(t, true, client, web.Status.PodIP, 8080)
	c.waitFast(t, "TCP", client, server)
	report := end()
	t.Logf("longest interruption %s", longestGap(report))
	require.LessOrEqual(t, longestGap(report), limit(time.Second))
}

// leases is the directory with the addresses that are in use, in the agent's container.
const leases = "/var/run/antrea/cni/networks/antrea"

// reserveNext makes host-local give an address to the next Pod of a Node, which it would do anyway when all others have been used.
func (c *cluster) reserveNext(t *testing.T, node, address string) {
	t.Helper()
	last := netip.MustParseAddr(address).Prev()
	script := fmt.Sprintf("printf %s >%s/last_reserved_ip.0", last, leases)
	c.exec(t, c.agentOn(t, node), agentContainer, "sh", "-c", script)
}

// testAddressReuse deletes the server of a busy UDP flow and gives its address to an isolated Pod. The client continues
// to send with the same ports: its packets must not reach the Pod, packets of an allowed client must.
func (c *cluster) testAddressReuse(t *testing.T) {
	const port = 8081
	namespace, node := c.namespace(t), c.nodes[1]
	clients := map[string]*corev1.Pod{}
	for _, name := range []string{"old", "new"} {
		clients[name] = c.pod(t, namespace, name+"-client", c.nodes[0], podOptions{labels: map[string]string{"client": name}})
	}
	servers := func(name string) podOptions {
		return podOptions{image: agnhostImage, args: []string{"netexec", fmt.Sprintf("--udp-port=%d", port)}, labels: map[string]string{"server": name}}
	}
	first := c.pod(t, namespace, "first", node, servers("first"))
	// Its answers are the names of the Pods that were asked.
	script := fmt.Sprintf("{ sleep 3; while sleep 0.1; do echo hostname; done; } | timeout 70 nc -u -p 7000 -w 70 %s %d", first.Status.PodIP, port)
	wait := c.start(t, clients["old"], 2*time.Minute, "sh", "-c", script)
	c.waitFast(t, "UDP", clients["old"], first)

	c.policy(t, namespace, "isolated", networkingv1.NetworkPolicySpec{
		PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"server": "second"}},
		Ingress:     []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"client": "new"}}}}}},
	})
	c.deletePod(t, first, 1)
	c.reserveNext(t, node, first.Status.PodIP)
	second := c.pod(t, namespace, "second", node, servers("second"))
	require.Equal(t, first.Status.PodIP, second.Status.PodIP, "the address is used again")
	ask := fmt.Sprintf("for i in 1 2 3; do echo hostname; sleep 0.5; done | nc -u -w 2 %s %d", second.Status.PodIP, port)
	eventually(t, policyDelay, func() error {
		if out := c.exec(t, clients["new"], "", "sh", "-c", ask); !strings.Contains(out, "second") {
			return fmt.Errorf("the client that is allowed gets %q", out)
		}
		return nil
	})
	if c.gate {
		for _, f := range c.flows(t, second) {
			if strings.Contains(f.Source+f.Destination, clients["old"].Status.PodIP) {
				require.NotEqual(t, "active", f.State, "a flow of the deleted Pod: %+v", f)
			}
		}
	}
	r := wait()
	require.Contains(t, r.stdout, "first")
	require.NotContains(t, r.stdout, "second", "the isolated Pod has got packets of its predecessor's flow")
}

// testIdleUDP lets a UDP flow rest until conntrack has forgotten it, and uses it again from the same port.
func (c *cluster) testIdleUDP(t *testing.T) {
	const port, idle = 8081, 130
	namespace := c.namespace(t)
	client := c.pod(t, namespace, "client", c.nodes[0], podOptions{labels: map[string]string{"role": "client"}})
	server := c.pod(t, namespace, "server", c.nodes[1], podOptions{
		image: agnhostImage, args: []string{"netexec", fmt.Sprintf("--udp-port=%d", port)}, labels: map[string]string{"app": "nginx"},
	})
	c.policy(t, namespace, "allow", networkingv1.NetworkPolicySpec{
		PodSelector: nginxPods,
		Ingress:     []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"role": "client"}}}}}},
	})
	const busy = "for i in $(seq 50); do echo hostname; sleep 0.1; done"
	script := fmt.Sprintf("{ sleep 2; %[1]s; sleep %[2]d; %[1]s; } | timeout %[3]d nc -u -p 7000 -w %[3]d %[4]s %[5]d", busy, idle, idle+20, server.Status.PodIP, port)
	wait := c.start(t, client, (idle+60)*time.Second, "sh", "-c", script)
	c.waitFast(t, "UDP", client, server)
	r := wait()
	answers := strings.Count(r.stdout, "server")
	t.Logf("%d answers to 100 requests", answers)
	require.GreaterOrEqual(t, answers, 95, "%s%s", r.stdout, r.stderr)
}
