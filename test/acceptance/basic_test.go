// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestBasic(t *testing.T) {
	c := suite
	c.test(t, "testPodAssignIP", c.testPodAssignIP)
	c.test(t, "testDeletePod", c.testDeletePod)
	c.test(t, "testAntreaGracefulExit", c.testGracefulExit)
	c.test(t, "testIPAMRestart", c.testIPAMRestart)
	c.test(t, "testDeletePreviousRoundFlowsOnStartup", c.testPreviousRound)
	c.test(t, "testGratuitousARP", c.testGratuitousARP)
	c.test(t, "testLogRotate", c.testLogRotate)
	c.test(t, "testConfigForwardCompatibility", c.testUnknownKeys)
	c.test(t, "testClusterIdentity", c.testClusterIdentity)
}

// testPodAssignIP: a Pod's address is one of its Node's Pod network.
func (c *cluster) testPodAssignIP(t *testing.T) {
	pod := c.pod(t, c.namespace(t), "test-pod", c.nodes[1], podOptions{})
	require.NotEmpty(t, pod.Status.PodIP)
	out := c.exec(t, pod, "", "ip", "-4", "-o", "addr", "show", "dev", "eth0")
	require.Contains(t, out, "inet "+pod.Status.PodIP+"/")
}

// testDeletePod: what a Pod had on its Node goes with it.
func (c *cluster) testDeletePod(t *testing.T) {
	namespace, node := c.namespace(t), c.nodes[1]
	pod := c.pod(t, namespace, "test-pod", node, podOptions{image: agnhostImage, args: []string{"pause"}})
	agent := c.agentOn(t, node)
	var interfaces []struct {
		InterfaceName string `json:"interfaceName"`
	}
	out := c.antctl(t, agent, "get", "podinterface", pod.Name, "-n", namespace, "-o", "json")
	require.NoError(t, json.Unmarshal([]byte(out), &interfaces), out)
	require.Len(t, interfaces, 1, out)
	name := interfaces[0].InterfaceName
	lease := "/var/run/antrea/cni/networks/antrea/" + pod.Status.PodIP
	c.exec(t, agent, agentContainer, "ip", "link", "show", name)
	c.exec(t, agent, agentContainer, "test", "-f", lease)
	c.exec(t, agent, ovsContainer, "ovs-vsctl", "port-to-br", name)

	c.deletePod(t, pod, 1)
	for _, gone := range []struct {
		container, says string
		command         []string
	}{
		{agentContainer, "does not exist", []string{"ip", "link", "show", name}},
		{agentContainer, "", []string{"test", "-f", lease}},
		{ovsContainer, "no port named", []string{"ovs-vsctl", "port-to-br", name}},
	} {
		_, stderr, err := c.run(t.Context(), agent, gone.container, gone.command...)
		code, ended := exitCode(err)
		require.Truef(t, ended && code != 0, "%v: %v", gone.command, err)
		require.Contains(t, stderr, gone.says)
	}
}

// testGracefulExit: an agent ends within 20 seconds.
func (c *cluster) testGracefulExit(t *testing.T) {
	agent := c.agentOn(t, c.nodes[0])
	begun := time.Now()
	c.deletePod(t, agent, 60)
	require.Less(t, time.Since(begun), gracefulExit)
	c.waitForAgents(t)
}

// testIPAMRestart: an agent that starts again knows which addresses are in use.
func (c *cluster) testIPAMRestart(t *testing.T) {
	namespace, node := c.namespace(t), c.nodes[1]
	first := c.pod(t, namespace, "test-pod-0", node, podOptions{})
	c.restartAgent(t, node)
	second := c.pod(t, namespace, "test-pod-1", node, podOptions{})
	require.NotEqual(t, first.Status.PodIP, second.Status.PodIP)
	c.exec(t, second, "", "ping", "-c", "1", first.Status.PodIP)
}

var packetCount = regexp.MustCompile(`n_packets=(\d+)`)

// testGratuitousARP: the agent announces a new Pod's address three times.
func (c *cluster) testGratuitousARP(t *testing.T) {
	pod := c.pod(t, c.namespace(t), "test-pod", c.nodes[1], podOptions{})
	agent := c.agentOn(t, c.nodes[1])
	eventually(t, policyDelay, func() error {
		out := c.exec(t, agent, ovsContainer, "ovs-ofctl", "dump-flows", bridge, "table=ARPSpoofGuard,arp,arp_spa="+pod.Status.PodIP)
		found := packetCount.FindStringSubmatch(out)
		if found == nil {
			return fmt.Errorf("no flow: %s", out)
		}
		if n, err := strconv.Atoi(found[1]); err != nil || n < 3 {
			return fmt.Errorf("%d packets, want at least 3: %s", n, out)
		}
		return nil
	})
}

// testLogRotate: the logs of Open vSwitch can be rotated.
func (c *cluster) testLogRotate(t *testing.T) {
	agent := c.agentOn(t, c.nodes[0])
	c.exec(t, agent, ovsContainer, "logrotate", "-vf", "/etc/logrotate.d/openvswitch-switch")
	out := c.exec(t, agent, ovsContainer, "ls", "/var/log/openvswitch")
	require.Regexp(t, `ovs-vswitchd\.log\.1(\.gz)?`, out)
}

// testClusterIdentity: the cluster has a UUID.
func (c *cluster) testClusterIdentity(t *testing.T) {
	var identity *corev1.ConfigMap
	eventually(t, policyDelay, func() (err error) {
		identity, err = c.client.CoreV1().ConfigMaps(systemNamespace).Get(t.Context(), "antrea-cluster-identity", metav1.GetOptions{})
		return err
	})
	require.Regexp(t, `^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`, strings.TrimSpace(identity.Data["uuid"]))
}
