// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestAntctl(t *testing.T) {
	c := suite
	for _, args := range []string{"", "-v", "version", "-v version"} {
		c.test(t, "testAntctlVerboseMode/antctl "+args, func(t *testing.T) { c.testVerbose(t, strings.Fields(args)) })
	}
	for _, command := range []string{
		"version", "log-level", "trace-packet", "supportbundle", "traceflow", "get networkpolicy", "get appliedtogroup", "get addressgroup",
		"get agentinfo", "get podinterface", "get ovsflows", "get featuregates", "get podmulticaststats", "get serviceexternalip", "get memberlist",
		"get bgppolicy", "get bgppeers", "get bgproutes", "get fqdncache", "get oncache", "get problems",
	} {
		c.test(t, "testAntctlAgentLocalAccess/"+command, func(t *testing.T) { c.testInAgent(t, command) })
	}
	c.testControllerRemoteAccess(t)
	c.test(t, "testAntctlProxy/controller", func(t *testing.T) { c.testProxy(t, "--controller") })
	c.test(t, "testAntctlProxy/agent", func(t *testing.T) { c.testProxy(t, "--agent-node", c.nodes[0]) })
	c.test(t, "antctl check performance", c.testPerformance)
	c.test(t, "antctl check installation", c.testInstallation)
}

// testInstallation asks as an administrator whether the installation works: nothing has failed.
func (c *cluster) testInstallation(t *testing.T) {
	pod := c.antctlPod(t, "antctl", "cluster-admin", podOptions{command: []string{"sleep", "3600"}})
	stdout, stderr, err := c.runUntil(t.Context(), pod, "", "antctl", "check", "installation", "--test-image", agnhostImage, "--patience=2m")
	require.NoError(t, err, stdout+stderr)
	t.Log(stdout)
	for _, check := range []string{"host", "node port", "kubernetes api", "network policy"} {
		require.Regexp(t, "(?m)^ok +"+check+" ", stdout)
	}
}

// testPerformance measures a little, as an administrator. The measurements are the Nodes' business; the table has all states, and the modes stay.
func (c *cluster) testPerformance(t *testing.T) {
	modes := func() (modes []string) {
		for _, node := range c.nodes[:2] {
			if c.gate {
				modes = append(modes, c.antctl(t, c.agentOn(t, node), "oncache", "mode"))
			}
		}
		return modes
	}
	before := modes()
	pod := c.antctlPod(t, "antctl", "cluster-admin", podOptions{command: []string{"sleep", "3600"}})
	stdout, stderr, err := c.runUntil(t.Context(), pod, "", "antctl", "check", "performance", "--nodes", c.nodes[0]+","+c.nodes[1], "--rounds=1", "--duration=100ms", "--patience=2m")
	require.NoError(t, err, stderr)
	t.Log(stdout)
	header := `(?m)^MEDIAN +HOST +SLOW +SLOW/HOST$`
	if c.gate {
		header = `(?m)^MEDIAN +HOST +SLOW +FAST +FAST/SLOW +FAST/HOST +SLOW/HOST$`
	}
	require.Regexp(t, header, stdout)
	require.Regexp(t, `(?m)^TCP throughput, Gbit/s +[0-9.]+ +[0-9.]+ `, stdout)
	require.Equal(t, before, modes())
}

// testVerbose: antctl writes to the standard error only if it is told to.
func (c *cluster) testVerbose(t *testing.T, args []string) {
	_, stderr, err := c.run(t.Context(), c.agentOn(t, c.nodes[0]), agentContainer, append([]string{"antctl"}, args...)...)
	require.NoError(t, err, stderr)
	if len(args) == 2 { // antctl -v alone prints its help
		require.NotEmpty(t, stderr)
	} else {
		require.Empty(t, stderr)
	}
}

// absent are commands of features that this version does not have, or that are off.
var absent = map[string]bool{
	"trace-packet": true, "get podmulticaststats": true, "get bgppolicy": true,
	"get bgppeers": true, "get bgproutes": true,
}

// testInAgent: a command succeeds. Commands of features that are not enabled print only that.
func (c *cluster) testInAgent(t *testing.T, command string) {
	_, stderr, err := c.run(t.Context(), c.agentOn(t, c.nodes[0]), agentContainer, append([]string{"antctl"}, strings.Fields(command)...)...)
	if absent[command] || command == "get oncache" && !c.gate {
		require.Error(t, err)
		require.True(t, strings.HasSuffix(stderr, "not enabled\n"), stderr)
		return
	}
	require.NoError(t, err, stderr)
}

// antctlPod makes a Pod from the agent's image with a service account of its own, which has a ClusterRole and no other rights.
func (c *cluster) antctlPod(t *testing.T, name, role string, o podOptions) *corev1.Pod {
	t.Helper()
	namespace := c.namespace(t)
	ds, err := c.client.AppsV1().DaemonSets(systemNamespace).Get(t.Context(), agentDaemonSet, metav1.GetOptions{})
	require.NoError(t, err)
	o.image, o.account = ds.Spec.Template.Spec.Containers[0].Image, c.account(t, namespace, role)
	return c.pod(t, namespace, name, c.nodes[0], o)
}

// testControllerRemoteAccess runs antctl outside the components, in a Pod on the Node's network.
func (c *cluster) testControllerRemoteAccess(t *testing.T) {
	const group = "testAntctlControllerRemoteAccess"
	for _, command := range []string{
		"version", "get networkpolicy", "get appliedtogroup", "get addressgroup", "get controllerinfo", "get featuregates", "supportbundle", "traceflow",
	} {
		c.test(t, group+"/"+command, func(t *testing.T) {
			pod := c.antctlPod(t, "antctl", antctlRole, podOptions{hostNetwork: true, command: []string{"sleep", "3600"}})
			_, stderr, err := c.run(t.Context(), pod, "", append([]string{"antctl"}, strings.Fields(command)...)...)
			require.NoError(t, err, stderr)
		})
	}
	c.test(t, group+"/supportbundle -d of the whole cluster", c.testClusterBundle)
	c.test(t, group+"/version --kubeconfig of a file that does not exist", func(t *testing.T) {
		pod := c.antctlPod(t, "antctl", antctlRole, podOptions{hostNetwork: true, command: []string{"sleep", "3600"}})
		_, _, err := c.run(t.Context(), pod, "", "antctl", "version", "--kubeconfig", "/xyz")
		code, ended := exitCode(err)
		require.True(t, ended, err)
		require.Equal(t, 1, code)
	})
}

// testProxy reads the API of a component through antctl proxy, from a container beside it.
func (c *cluster) testProxy(t *testing.T, args ...string) {
	const port = 8001
	pod := c.antctlPod(t, "antctl-proxy", antctlRole, podOptions{
		command: append([]string{"antctl", "proxy", "--address", "127.0.0.1", "--port", fmt.Sprint(port)}, args...),
		more:    []corev1.Container{{Name: "toolbox", Image: toolboxImage, ImagePullPolicy: corev1.PullIfNotPresent}},
	})
	for _, path := range []string{"apis", "metrics", "debug/pprof/"} {
		eventually(t, policyDelay, func() error {
			stdout, stderr, err := c.run(t.Context(), pod, "toolbox", "curl", "-sSf", fmt.Sprintf("http://127.0.0.1:%d/%s", port, path))
			if err != nil {
				return fmt.Errorf("/%s: %w: %s%s", path, err, stdout, stderr)
			}
			return nil
		})
	}
}
