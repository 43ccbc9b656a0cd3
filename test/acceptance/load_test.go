// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// batch is the number of Pods that are made at once.
const batch = 20

func TestBatchCreatePods(t *testing.T) {
	suite.test(t, "batch", suite.testBatch)
}

// testBatch makes many Pods on a Node and deletes them, and expects the agent to have no more files open than before.
func (c *cluster) testBatch(t *testing.T) {
	namespace, node := c.namespace(t), c.nodes[1]
	agent := c.agentOn(t, node)
	pid := strings.TrimSpace(c.exec(t, agent, agentContainer, "pgrep", "-o", "antrea-agent"))
	files := func() string {
		return c.exec(t, agent, agentContainer, "ls", "-l", "--time-style", "+", "/proc/"+pid+"/fd/")
	}
	count := func(list string) int { return strings.Count(list, " -> ") }
	c.waitForOthers(t, namespace)
	before := files()
	for i := range batch {
		c.createPod(t, namespace, fmt.Sprintf("test-pod-%d", i), node, podOptions{})
	}
	for i := range batch {
		c.waitForPod(t, namespace, fmt.Sprintf("test-pod-%d", i))
	}
	// With a grace of 0 they would be gone before the agent has heard of it.
	grace := int64(1)
	err := c.client.CoreV1().Pods(namespace).DeleteCollection(t.Context(), metav1.DeleteOptions{GracePeriodSeconds: &grace}, metav1.ListOptions{})
	require.NoError(t, err)
	eventually(t, podTimeout, func() error {
		list, err := c.client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
		if err == nil && len(list.Items) > 0 {
			err = fmt.Errorf("%d Pods are still there", len(list.Items))
		}
		return err
	})
	eventually(t, limit(2*time.Second), func() error {
		if after := files(); count(after) > count(before) {
			return fmt.Errorf("the agent has %d files open, it had %d; before:\n%s\nafter:\n%s", count(after), count(before), before, after)
		}
		return nil
	})
}

// TestBenchmarkBandwidth prints the throughput between two Pods; no value is expected of it.
func TestBenchmarkBandwidth(t *testing.T) {
	c := suite
	for _, tt := range []struct {
		name       string
		serverNode string
		service    bool
	}{
		{"IntraNode", c.nodes[0], false},
		{"InterNode", c.nodes[1], false},
		{"ServiceLocalAccess", c.nodes[0], true},
		{"ServiceRemoteAccess", c.nodes[1], true},
	} {
		c.test(t, tt.name, func(t *testing.T) {
			namespace := c.namespace(t)
			client := c.pod(t, namespace, "client", c.nodes[0], podOptions{})
			server := c.pod(t, namespace, "server", tt.serverNode, podOptions{command: []string{"iperf3", "-s"}, labels: map[string]string{"app": "server"}})
			address := server.Status.PodIP
			if tt.service {
				address = c.service(t, namespace, "server", 5201, 5201, nil).Spec.ClusterIP
			}
			c.expect(t, true, client, address, 5201)
			require.Positive(t, c.mbits(t, c.iperf(t, client, address, "--time", "5")))
		})
	}
}

// limitsTraffic tries what the plugin bandwidth needs; modprobe does not know what is built into the kernel.
const limitsTraffic = `ip link add probe-ifb type ifb && trap 'ip link del probe-ifb' EXIT &&
	tc qdisc add dev probe-ifb root tbf rate 1mbit burst 10k latency 1ms && tc qdisc add dev probe-ifb ingress`

// tokensMbit is sent or received by a Pod at first without a limit from containerd: 2^32 bits.
const tokensMbit = 4295

func TestBandwidth(t *testing.T) {
	c := suite
	for _, tt := range []struct {
		name                              string
		clientMbit, serverMbit, expecting int
	}{
		{"testPodTrafficShaping/the sender's limit is lower", 100, 200, 100},
		{"testPodTrafficShaping/the receiver's limit is lower", 200, 100, 100},
	} {
		c.test(t, tt.name, func(t *testing.T) {
			namespace, node := c.namespace(t), c.nodes[1]
			if _, stderr, err := c.run(t.Context(), c.agentOn(t, node), agentContainer, "sh", "-c", limitsTraffic); err != nil {
				t.Skipf("the Node's kernel cannot limit traffic: %s", stderr)
			}
			client := c.pod(t, namespace, "client", node, podOptions{annotations: map[string]string{"kubernetes.io/egress-bandwidth": fmt.Sprintf("%dM", tt.clientMbit)}})
			server := c.pod(t, namespace, "server", node, podOptions{
				command: []string{"iperf3", "-s"}, annotations: map[string]string{"kubernetes.io/ingress-bandwidth": fmt.Sprintf("%dM", tt.serverMbit)},
			})
			unlimited := c.pod(t, namespace, "unlimited", node, podOptions{command: []string{"iperf3", "-s"}})
			plain := c.pod(t, namespace, "plain", node, podOptions{})
			// The capacity of this machine.
			most := c.mbits(t, c.iperf(t, plain, unlimited.Status.PodIP, "-t", "3"))
			if most < 300 {
				t.Skipf("two Pods without limits reach %.0f Mbit/s, the case needs 300", most)
			}
			// Tokens are not measured: they are used up in the first seconds, for which iperf3 does not count.
			used := 2 + int(1.5*tokensMbit/(most-float64(tt.expecting)))
			got := c.mbits(t, c.iperf(t, client, server.Status.PodIP, "-t", "5", "-O", fmt.Sprint(used)))
			require.InEpsilon(t, tt.expecting, got, 0.1)
		})
	}
}
