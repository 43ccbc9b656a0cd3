// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"fmt"
	osexec "os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestConnectivity(t *testing.T) {
	c := suite
	c.test(t, "testPodConnectivityOnSameNode", func(t *testing.T) { c.testMesh(t, c.nodes[1], c.nodes[1]) })
	c.test(t, "testPodConnectivityDifferentNodes", func(t *testing.T) { c.testMesh(t, c.nodes...) })
	c.test(t, "testHostPortPodConnectivity", c.testHostPort)
	c.test(t, "testPodConnectivityAfterAntreaRestart", c.testReinstallation)
	c.test(t, "testPingLargeMTU", c.testLargePing)
	c.test(t, "testOVSFlowReplay", c.testFlowReplay)
	c.test(t, "testOVSRestartSameNode", c.testOVSRestart)
}

// testMesh pings between all Pods, one on each of the Nodes, with packets that fill the Pods' MTU and must not be fragmented.
func (c *cluster) testMesh(t *testing.T, nodes ...string) {
	namespace := c.namespace(t)
	var pods []*corev1.Pod
	for i, node := range nodes {
		c.createPod(t, namespace, fmt.Sprintf("test-pod-%d", i), node, podOptions{})
	}
	for i := range nodes {
		pods = append(pods, c.waitForPod(t, namespace, fmt.Sprintf("test-pod-%d", i)))
	}
	for _, from := range pods {
		mtu, err := strconv.Atoi(strings.TrimSpace(c.exec(t, from, "", "cat", "/sys/class/net/eth0/mtu")))
		require.NoError(t, err)
		for _, to := range pods {
			if from != to {
				// 20 bytes of IPv4 and 8 of ICMP.
				c.exec(t, from, "", "ping", "-c", "1", "-M", "do", "-s", strconv.Itoa(mtu-28), to.Status.PodIP)
			}
		}
	}
}

// testHostPort connects from a Pod to a port of a Node that leads to a Pod there.
func (c *cluster) testHostPort(t *testing.T) {
	const port, hostPort = 8080, 29999
	namespace := c.namespace(t)
	client := c.pod(t, namespace, "client", c.nodes[0], podOptions{})
	server := c.pod(t, namespace, "server", c.nodes[1], podOptions{
		image: agnhostImage, args: []string{"netexec", fmt.Sprintf("--http-port=%d", port)},
		ports: []corev1.ContainerPort{{ContainerPort: port, HostPort: hostPort, Protocol: corev1.ProtocolTCP}},
	})
	c.connects(t, client, server.Status.HostIP, hostPort)
}

// connects checks that a TCP connection from a Pod succeeds, within five attempts of four seconds.
func (c *cluster) connects(t *testing.T, from *corev1.Pod, address string, port int) {
	t.Helper()
	const script = `for i in $(seq 1 5); do nc -vz -w 4 %[1]s %[2]d && exit 0 || sleep 1; done; exit 1`
	c.exec(t, from, "", "/bin/sh", "-c", fmt.Sprintf(script, address, port))
}

// settled is the time that containers must run without being started again.
const settled = 20 * time.Second

// testReinstallation deletes the DaemonSet with its Pods and installs the plugin again, with Pods there.
func (c *cluster) testReinstallation(t *testing.T) {
	if c.manifest == "" {
		t.Skip("ACCEPTANCE_MANIFEST does not name the manifest from which the plugin was installed")
	}
	namespace := c.namespace(t)
	var pods []*corev1.Pod
	for i, node := range c.nodes {
		pods = append(pods, c.pod(t, namespace, fmt.Sprintf("test-pod-%d", i), node, podOptions{}))
	}
	foreground := metav1.DeletePropagationForeground
	daemonSets := c.client.AppsV1().DaemonSets(systemNamespace)
	require.NoError(t, daemonSets.Delete(t.Context(), agentDaemonSet, metav1.DeleteOptions{PropagationPolicy: &foreground}))
	eventually(t, podTimeout, func() error {
		if _, err := daemonSets.Get(t.Context(), agentDaemonSet, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("the DaemonSet is still there (%v)", err)
		}
		return nil
	})
	out, err := osexec.CommandContext(t.Context(), c.kubectl, "apply", "-f", c.manifest).CombinedOutput()
	require.NoError(t, err, string(out))
	c.waitForController(t)
	c.waitForAgents(t)
	for _, from := range pods {
		for _, to := range pods {
			if from != to {
				c.exec(t, from, "", "ping", "-c", "1", to.Status.PodIP)
			}
		}
	}
	for end := time.Now().Add(settled); time.Now().Before(end); time.Sleep(time.Second) {
		require.Zero(t, c.restarts(t))
	}
}

// testLargePing sends packets that have to be fragmented.
func (c *cluster) testLargePing(t *testing.T) {
	namespace := c.namespace(t)
	first := c.pod(t, namespace, "test-pod-0", c.nodes[0], podOptions{})
	second := c.pod(t, namespace, "test-pod-1", c.nodes[1], podOptions{})
	c.exec(t, first, "", "ping", "-c", "3", "-s", "2000", second.Status.PodIP)
}

// testFlowReplay deletes all flows and groups, restarts Open vSwitch, and expects the agent to bring them back.
func (c *cluster) testFlowReplay(t *testing.T) {
	namespace, node := c.namespace(t), c.nodes[1]
	first := c.pod(t, namespace, "test-pod-0", node, podOptions{})
	second := c.pod(t, namespace, "test-pod-1", node, podOptions{})
	ping := func() { c.exec(t, first, "", "ping", "-c", "1", second.Status.PodIP) }
	ping()
	agent := c.agentOn(t, node)
	count := func(what string) int {
		return strings.Count(c.exec(t, agent, ovsContainer, "ovs-ofctl", "-O", "OpenFlow15", "dump-"+what, bridge), "\n")
	}
	c.waitForOthers(t, namespace)
	flows, groups := count("flows"), count("groups")
	c.exec(t, agent, ovsContainer, "ovs-ofctl", "del-flows", bridge)
	c.exec(t, agent, ovsContainer, "ovs-ofctl", "-O", "OpenFlow15", "del-groups", bridge)
	c.exec(t, agent, ovsContainer, "/usr/share/openvswitch/scripts/ovs-ctl", "--system-id=random", "restart", "--db-file=/var/run/openvswitch/conf.db")
	eventually(t, podTimeout, func() error {
		f, g := count("flows"), count("groups")
		if f != flows || g != groups {
			return fmt.Errorf("there are %d flows and %d groups, there were %d and %d", f, g, flows, groups)
		}
		return nil
	})
	ping()
}

// testOVSRestart expects no lost packet between two Pods of a Node while its agent, with Open vSwitch, is replaced.
func (c *cluster) testOVSRestart(t *testing.T) {
	namespace, node := c.namespace(t), c.nodes[1]
	first := c.pod(t, namespace, "test-pod-0", node, podOptions{})
	second := c.pod(t, namespace, "test-pod-1", node, podOptions{})
	// While Open vSwitch is away only those packets pass for which the kernel has a flow, which it forgets within seconds.
	c.exec(t, first, "", "arping", "-c", "3", "-i", "eth0", second.Status.PodIP)
	wait := c.start(t, first, execTimeout, "sh", "-c", "touch /tmp/begun; exec arping -c 25 -i eth0 "+second.Status.PodIP)
	eventually(t, execTimeout, func() error {
		_, _, err := c.run(t.Context(), first, "", "test", "-e", "/tmp/begun")
		return err
	})
	c.deletePod(t, c.agentOn(t, node), 30)
	r := wait()
	require.NoError(t, r.err, r.stdout+r.stderr)
	require.Contains(t, r.stdout, " 0% unanswered")
	c.waitForAgents(t)
}
