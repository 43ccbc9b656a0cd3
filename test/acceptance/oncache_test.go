// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
)

// flows are the cache's entries of a Pod on its Node.
func (c *cluster) flows(t *testing.T, pod *corev1.Pod) (flows []api.FlowInfo) {
	t.Helper()
	out := c.antctl(t, c.agentOn(t, pod.Spec.NodeName), "get", "oncache", "flows", "--ip", pod.Status.PodIP, "-o", "json")
	require.NoError(t, json.Unmarshal([]byte(out), &flows), out)
	return flows
}

// packets are the packets that took the fast path between a Pod and an address, in both directions, as the Pod's Node has counted.
func (c *cluster) packets(t *testing.T, pod *corev1.Pod, protocol, address string) (egress, ingress uint64) {
	t.Helper()
	for _, f := range c.flows(t, pod) {
		switch {
		case f.Protocol != protocol:
		case f.Direction == "egress" && strings.HasPrefix(f.Destination, address+":"):
			egress += f.Packets
		case f.Direction == "ingress" && strings.HasPrefix(f.Source, address+":"):
			ingress += f.Packets
		}
	}
	return egress, ingress
}

// waitFast waits until packets between two Pods take the fast path on both Nodes and in both directions. If they cannot take it, with
// the gate off or with WireGuard, it waits until the client gets answers.
func (c *cluster) waitFast(t *testing.T, protocol string, client, server *corev1.Pod) {
	t.Helper()
	if !c.hits(client, server) {
		before := c.received(t, client)
		eventually(t, fastTimeout, func() error {
			if got := c.received(t, client) - before; got < 10 {
				return fmt.Errorf("%s has received %d packets, want 10", client.Name, got)
			}
			return nil
		})
		return
	}
	for _, end := range [][2]*corev1.Pod{{client, server}, {server, client}} {
		at, peer := end[0], end[1].Status.PodIP
		egressBefore, ingressBefore := c.packets(t, at, protocol, peer)
		eventually(t, fastTimeout, func() error {
			egress, ingress := c.packets(t, at, protocol, peer)
			if egress > egressBefore && ingress > ingressBefore {
				return nil
			}
			egressBefore, ingressBefore = min(egress, egressBefore), min(ingress, ingressBefore) // entries may have been replaced
			return fmt.Errorf("%s on Node %s: egress %d packets, ingress %d, before %d and %d", at.Name, at.Spec.NodeName, egress, ingress, egressBefore, ingressBefore)
		})
	}
}

// received is the number of packets that a Pod has received.
func (c *cluster) received(t *testing.T, pod *corev1.Pod) int {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimSpace(c.exec(t, pod, "", "cat", "/sys/class/net/eth0/statistics/rx_packets")))
	require.NoError(t, err)
	return n
}

// TestONCache contains cases of the fast path that upstream does not have. They also pass with the gate off.
func TestONCache(t *testing.T) {
	c := suite
	c.test(t, "deployment on two Nodes", c.testDeployment)
	c.test(t, "throughput during agent restarts", c.testThroughputDuringRestart)
	c.test(t, "request and response during agent restarts", c.testRequestsDuringRestart)
	c.test(t, "policy change during a stream", c.testPolicyDuringStream)
	c.test(t, "address of a deleted Pod is used again", c.testAddressReuse)
	c.test(t, "ClusterIP from a Pod", c.testClusterIPStream)
	c.test(t, "UDP after two idle minutes", c.testIdleUDP)
	c.test(t, "fragments", c.testFragments)
}

// stream are two Pods on different Nodes, the server with iperf3 on its port 5201.
func (c *cluster) stream(t *testing.T, namespace string) (client, server *corev1.Pod) {
	t.Helper()
	c.createPod(t, namespace, "client", c.nodes[0], podOptions{labels: map[string]string{"app": "client"}})
	c.createPod(t, namespace, "server", c.nodes[1], podOptions{command: []string{"iperf3", "-s"}, labels: map[string]string{"app": "server"}})
	return c.waitForPod(t, namespace, "client"), c.waitForPod(t, namespace, "server")
}

// modest is a rate that leaves a small Node's processor time for other programs.
var (
	modestMbit = 20 / float64(slowness)
	modest     = fmt.Sprintf("%.1fM", modestMbit)
)

// seconds is a time for iperf3, ab or nc.
func seconds(n int) string { return fmt.Sprint(n * slowness) }

// testDeployment is the first thing that a new user tries: two replicas of a Deployment on two Nodes talk to each
// other.
func (c *cluster) testDeployment(t *testing.T) {
	namespace := c.namespace(t)
	pods := c.deployment(t, namespace, "web", agnhostImage, []string{"netexec", "--http-port=8080"}, len(c.nodes))
	nodes := map[string]bool{}
	for _, p := range pods {
		nodes[p.Spec.NodeName] = true
	}
	require.Len(t, nodes, len(c.nodes), "the replicas are on different Nodes")
	url := fmt.Sprintf("http://%s:8080/hostname?[1-2000]", pods[1].Status.PodIP)
	wait := c.start(t, pods[0], execTimeout, "curl", "-sf", "-o", "/dev/null", "--max-time", "50", "-w", "%{http_code}\\n", url)
	c.waitFast(t, "TCP", pods[0], pods[1])
	r := wait()
	require.NoError(t, r.err, r.stderr)
	require.Equal(t, 2000, strings.Count(r.stdout, "200"), r.stdout)
}

// testThroughputDuringRestart sends a stream between two Nodes while the agent of one, and then of the other, is replaced.
func (c *cluster) testThroughputDuringRestart(t *testing.T) {
	client, server := c.stream(t, c.namespace(t))
	wait := c.startIperf(t, client, server.Status.PodIP, "--time", seconds(150), "--bitrate", modest)
	c.waitFast(t, "TCP", client, server)
	c.restartAgent(t, client.Spec.NodeName)
	c.waitFast(t, "TCP", client, server)
	c.restartAgent(t, server.Spec.NodeName)
	c.waitFast(t, "TCP", client, server)
	report := wait()
	t.Logf("%.1f Mbit/s of %.1f, longest interruption %s", c.mbits(t, report), modestMbit, longestGap(report))
	require.LessOrEqual(t, longestGap(report), interruption)
	require.Greater(t, report.End.Received.BitsPerSecond, 0.8*modestMbit*1e6)
}

// testRequestsDuringRestart sends requests one after the other over one connection, while agents are replaced.
func (c *cluster) testRequestsDuringRestart(t *testing.T) {
	namespace := c.namespace(t)
	client := c.pod(t, namespace, "client", c.nodes[0], podOptions{})
	server := c.pod(t, namespace, "server", c.nodes[1], podOptions{image: agnhostImage, args: []string{"netexec", "--http-port=8080"}})
	url := fmt.Sprintf("http://%s:8080/hostname", server.Status.PodIP)
	c.connects(t, client, server.Status.PodIP, 8080) // ab ends if the server does not listen yet
	end := c.startUntil(t, client, "ab", "-k", "-c", "1", "-t", fmt.Sprint(untilTimeout.Seconds()), "-n", "1000000", url)
	c.waitFast(t, "TCP", client, server)
	c.restartAgent(t, client.Spec.NodeName)
	c.restartAgent(t, server.Spec.NodeName)
	c.waitFast(t, "TCP", client, server)
	r := end()
	code, ended := exitCode(r.err)
	require.True(t, ended && code == 1, "%v: ab was interrupted: %s%s", r.err, r.stdout, r.stderr)
	require.Regexp(t, `Failed requests: +0\n`, r.stdout)
	longest := requestTime.FindStringSubmatch(r.stdout)
	require.NotNil(t, longest, r.stdout)
	t.Logf("longest request %s ms\n%s", longest[1], r.stdout)
	ms, err := time.ParseDuration(longest[1] + "ms")
	require.NoError(t, err)
	require.LessOrEqual(t, ms, interruption)
}

// testFragments sends packets that have to be fragmented beside a connection on the fast path.
func (c *cluster) testFragments(t *testing.T) {
	client, server := c.stream(t, c.namespace(t))
	wait := c.startIperf(t, client, server.Status.PodIP, "--time", seconds(20), "--bitrate", modest)
	c.waitFast(t, "TCP", client, server)
	c.exec(t, client, "", "ping", "-c", "5", "-i", "0.2", "-s", "8000", server.Status.PodIP)
	c.exec(t, server, "", "ping", "-c", "5", "-i", "0.2", "-s", "8000", client.Status.PodIP)
	wait()
}
