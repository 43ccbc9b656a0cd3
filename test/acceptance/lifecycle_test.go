// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	osexec "os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/pkg/version"
)

// Time limits and losses of the life of an installation. A stream is a TCP connection of 20 Mbit/s, and 25 UDP packets per second, for 150 s,
// between Pods of two Nodes; ACCEPTANCE_SLOWNESS multiplies
// the times and the losses.
var (
	// lifeInterruption is the time for which a TCP connection may stand still while an agent with its Open vSwitch is
	// replaced.
	lifeInterruption = limit(5 * time.Second)
	// lifeLoss is the number of UDP packets that may be lost: 2 s of 150 s, one for each Node.
	lifeLoss = 50 * slowness
	// nodeTimeout is for a Node to boot and run Pods.
	nodeTimeout = limit(4 * time.Minute)
	// cleanupTimeout is for the DaemonSet antrea-cleanup.
	cleanupTimeout = limit(3 * time.Minute)
)

// life is the cluster with what changes it from outside.
type life struct {
	*cluster
	// helm, tool and chart are the paths of helm, of the program that runs the cluster, and of the chart.
	helm, tool, chart string
	// next is the tag of images of another version.
	next string
	// bare is the state of each Node before the installation.
	bare map[string][]string
}

// TestLifecycle takes an installation from its beginning to its end, as hack/lifecycle.sh describes. The cases build on each other.
func TestLifecycle(t *testing.T) {
	l := &life{
		cluster: suite, helm: os.Getenv("HELM"), tool: os.Getenv("LIFECYCLE_TOOL"), chart: os.Getenv("LIFECYCLE_CHART"), next: os.Getenv("LIFECYCLE_NEXT"),
		bare: map[string][]string{},
	}
	if l.tool == "" {
		t.Skip("this takes a cluster of its own: make lifecycle")
	}
	l.mode = cmp.Or(os.Getenv("LIFECYCLE_MODE"), encap)
	require.Contains(t, modeValues, l.mode, "LIFECYCLE_MODE")
	for _, tc := range []struct {
		name string
		test func(*testing.T)
		// without is set when the plugin is not installed before the case.
		without bool
	}{
		{"installation", l.testInstallation, true},
		{"upgrade of one Node, then of the other", l.testUpgrade, false},
		{"rollback", l.testRollback, false},
		{"wrong configuration", l.testWrongConfiguration, false},
		{"gate off and on in the ConfigMap", l.testGate, false},
		{"traffic mode changed and back", l.testModes, false},
		{"Node drained", l.testDrain, false},
		{"Node rebooted", l.testReboot, false},
		{"Node added", l.testAddedNode, false},
		{"uninstallation", l.testUninstallation, true},
	} {
		ok := t.Run(tc.name, func(t *testing.T) {
			begun := time.Now()
			defer func() {
				if t.Failed() {
					l.diagnose(t)
				}
				l.tally.add(t, begun)
				t.Logf("%.1f s", time.Since(begun).Seconds())
			}()
			if !tc.without {
				l.waitForController(t)
				l.waitForAgents(t)
			}
			tc.test(t)
		})
		if !ok && tc.without {
			return // nothing after it makes sense
		}
	}
}

// command runs a program of this host and returns its output. It must succeed.
func (l *life) command(t *testing.T, program string, args ...string) string {
	t.Helper()
	out, err := osexec.CommandContext(t.Context(), program, args...).CombinedOutput()
	require.NoErrorf(t, err, "%s %s: %s", program, strings.Join(args, " "), out)
	return string(out)
}

// onNode runs a shell script on a Node and returns its output.
func (l *life) onNode(t *testing.T, node, script string) string {
	t.Helper()
	return l.command(t, l.tool, "exec", node, "--", "sh", "-c", script)
}

// upgrade is helm upgrade with more values.
func (l *life) upgrade(t *testing.T, values ...string) {
	t.Helper()
	args := []string{"upgrade", "--install", "antrea", l.chart, "--namespace", systemNamespace, "--reuse-values"}
	for _, v := range values {
		args = append(args, "--set", v)
	}
	l.command(t, l.helm, args...)
}

// versions are the versions of agents, by Node.
func (l *life) versions(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, node := range l.nodes {
		text := l.exec(t, l.agentOn(t, node), agentContainer, "antrea-agent", "--version")
		rest, found := strings.CutPrefix(text, "antrea-agent version "+version.Product+" ")
		require.True(t, found, text)
		out[node] = strings.Fields(rest)[0]
	}
	return out
}

func (l *life) testInstallation(t *testing.T) {
	for _, node := range l.nodes {
		// It sets a sysctl when it starts, before its rules.
		eventually(t, fastTimeout, func() error {
			if rules := l.onNode(t, node, "iptables-save -t nat"); !strings.Contains(rules, ":KUBE-SERVICES") {
				return fmt.Errorf("kube-proxy has no chain KUBE-SERVICES on Node %s", node)
			}
			return nil
		})
		l.bare[node] = l.state(t, node)
	}
	l.upgrade(t, append([]string{"featureGates.ONCache=true"}, modeValues[l.mode]...)...)
	begun := time.Now()
	l.waitForController(t)
	l.waitForAgents(t)
	t.Logf("installed after %.1f s", time.Since(begun).Seconds())
	l.gate = true
	client, server := l.pair(t)
	l.duringTraffic(t, client, server, time.Minute, func() { l.waitFast(t, "TCP", client, server) })
	l.requireWay(t)
	require.NotEqual(t, l.bare[l.nodes[0]], l.state(t, l.nodes[0]), "the comparison sees nothing")
}

// testUpgrade upgrades one Node to images of another version, whose maps have another layout, uses the cluster with both versions, then upgrades
// the other Node.
func (l *life) testUpgrade(t *testing.T) {
	if l.next == "" {
		t.Skip("LIFECYCLE_NEXT does not name the tag of images of another version")
	}
	before := l.versions(t)
	client, server := l.pair(t)
	l.duringTraffic(t, client, server, 150*time.Second, func() {
		l.waitFast(t, "TCP", client, server)
		l.upgrade(t, "agentImage.tag="+l.next, "controllerImage.tag="+l.next, "oncache.maxFlows=131072", "agent.updateStrategy.type=OnDelete",
			"agent.updateStrategy.rollingUpdate=null")
		l.waitForController(t)
		l.replaceAgent(t, l.nodes[0])
		mixed := l.versions(t)
		require.NotEqual(t, before[l.nodes[0]], mixed[l.nodes[0]])
		require.Equal(t, before[l.nodes[1]], mixed[l.nodes[1]])
		l.waitFast(t, "TCP", client, server) // between an old and a new agent
		l.checkMesh(t)
		l.replaceAgent(t, l.nodes[1])
		l.waitFast(t, "TCP", client, server)
	})
	after := l.versions(t)
	require.Equal(t, after[l.nodes[0]], after[l.nodes[1]])
	require.True(t, strings.HasPrefix(after[l.nodes[0]], l.next), after)
}

// replaceAgent deletes the agent of a Node and waits until its successor is ready.
func (l *life) replaceAgent(t *testing.T, node string) {
	t.Helper()
	l.deletePod(t, l.agentOn(t, node), 30)
	eventually(t, rolloutTimeout, func() error { return l.allReady(t.Context(), agentLabels, len(l.nodes)) })
}

// testRollback goes back to the first revision, Node by Node.
func (l *life) testRollback(t *testing.T) {
	client, server := l.pair(t)
	l.duringTraffic(t, client, server, 150*time.Second, func() {
		l.waitFast(t, "TCP", client, server)
		l.command(t, l.helm, "rollback", "antrea", "1", "--namespace", systemNamespace)
		l.waitForController(t)
		l.waitForAgents(t)
		l.waitFast(t, "TCP", client, server)
	})
	for node, version := range l.versions(t) {
		require.False(t, strings.HasPrefix(version, l.next), "Node %s has version %s", node, version)
	}
}

// testGate switches the gate by the arguments of agents and controller, as users without Helm do.
func (l *life) testGate(t *testing.T) {
	client, server := l.pair(t)
	l.duringTraffic(t, client, server, 200*time.Second, func() {
		l.waitFast(t, "TCP", client, server)
		l.setGate(t, "false")
		for _, node := range l.nodes {
			require.Empty(t, strings.TrimSpace(l.onNode(t, node, "ls -d /sys/fs/bpf/antrea/oncache 2>/dev/null || :")), "Node %s", node)
		}
		l.setGate(t, "true")
		l.waitFast(t, "TCP", client, server)
	})
}

// testWrongConfiguration replaces an agent by one that refuses its configuration: the init container reports the error
// before anything on the Node is changed, and open connections continue.
func (l *life) testWrongConfiguration(t *testing.T) {
	client, server := l.pair(t)
	node := server.Spec.NodeName
	l.duringTraffic(t, client, server, 100*time.Second, func() {
		l.waitFast(t, "TCP", client, server)
		former := l.editAgentConfig(t, func(text string) string {
			return strings.Replace(text, `tunnelType: "geneve"`, `tunnelType: "ipip"`, 1)
		})
		l.deletePod(t, l.agentOn(t, node), 30)
		before := l.state(t, node)
		eventually(t, rolloutTimeout, func() error {
			return l.initSays(t, node, `tunnelType: "ipip" is not a valid value; allowed: geneve`, "Nothing on the Node has been changed")
		})
		require.Empty(t, gocmp.Diff(before, l.state(t, node)), "Node %s", node)
		l.editAgentConfig(t, func(string) string { return former })
		eventually(t, rolloutTimeout, func() error { return l.allReady(t.Context(), agentLabels, len(l.nodes)) })
	})
}

// initSays fails until the init container of a Node's agent has said all parts and failed.
func (l *life) initSays(t *testing.T, node string, parts ...string) error {
	list, err := l.client.CoreV1().Pods(systemNamespace).List(t.Context(), metav1.ListOptions{LabelSelector: agentLabels, FieldSelector: "spec.nodeName=" + node})
	if err != nil {
		return err
	}
	if len(list.Items) != 1 {
		return fmt.Errorf("Node %s has %d agents", node, len(list.Items))
	}
	log := l.containerLog(t.Context(), &list.Items[0], "install-cni")
	for _, part := range parts {
		if !strings.Contains(log, part) {
			return fmt.Errorf("install-cni on Node %s has not said %q (%s):\n%s", node, part, containerStates(&list.Items[0]), log)
		}
	}
	return nil
}

// editAgentConfig changes antrea-agent.conf and returns what it was. Agents read it when they start.
func (l *life) editAgentConfig(t *testing.T, change func(string) string) (former string) {
	t.Helper()
	maps := l.client.CoreV1().ConfigMaps(systemNamespace)
	config, err := maps.Get(t.Context(), configMap, metav1.GetOptions{})
	require.NoError(t, err)
	former = config.Data[agentConfigKey]
	config.Data[agentConfigKey] = change(former)
	_, err = maps.Update(t.Context(), config, metav1.UpdateOptions{})
	require.NoError(t, err)
	return former
}

func (l *life) setGate(t *testing.T, value string) {
	t.Helper()
	for _, object := range []string{"deployment/" + controller, "daemonset/" + agentDaemonSet} {
		path := "jsonpath={.spec.template.spec.containers[0].args}"
		var args []string
		require.NoError(t, json.Unmarshal([]byte(l.command(t, l.kubectl, "-n", systemNamespace, "get", object, "-o", path)), &args))
		i := slices.IndexFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "--feature-gates=ONCache=") })
		require.GreaterOrEqual(t, i, 0, "%s has the arguments %v", object, args)
		patch := fmt.Sprintf(`[{"op": "replace", "path": "/spec/template/spec/containers/0/args/%d", "value": "--feature-gates=ONCache=%s"}]`, i, value)
		l.command(t, l.kubectl, "-n", systemNamespace, "patch", object, "--type=json", "-p", patch)
	}
	l.waitForController(t)
	l.waitForAgents(t)
}

// testDrain drains a Node: its Pods go, the agent stays, and Pods that come back are connected.
func (l *life) testDrain(t *testing.T) {
	namespace, node := l.namespace(t), l.nodes[1]
	away := l.pod(t, namespace, "away", node, podOptions{})
	stays := l.pod(t, namespace, "stays", l.nodes[0], podOptions{})
	l.command(t, l.kubectl, "drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--force", "--timeout=90s")
	t.Cleanup(func() {
		out, err := osexec.CommandContext(context.WithoutCancel(t.Context()), l.kubectl, "uncordon", node).CombinedOutput()
		require.NoError(t, err, string(out))
	})
	_, err := l.client.CoreV1().Pods(namespace).Get(t.Context(), away.Name, metav1.GetOptions{})
	require.Error(t, err, "the Pod is still on the drained Node")
	require.NoError(t, l.allReady(t.Context(), agentLabels, len(l.nodes)))
	require.Empty(t, l.antctlPodInterfaces(t, node, namespace))
	l.command(t, l.kubectl, "uncordon", node)
	back := l.pod(t, namespace, "back", node, podOptions{})
	l.exec(t, back, "", "ping", "-c", "1", "-w", "10", stays.Status.PodIP)
}

// antctlPodInterfaces are the lines of antctl get podinterface about a namespace.
func (l *life) antctlPodInterfaces(t *testing.T, node, namespace string) (lines []string) {
	t.Helper()
	for line := range strings.Lines(l.antctl(t, l.agentOn(t, node), "get", "podinterface")) {
		if strings.Contains(line, namespace) {
			lines = append(lines, line)
		}
	}
	return lines
}

// testReboot cuts a Node's power: its Pods come back, on the same Node, and reach others over the fast path.
func (l *life) testReboot(t *testing.T) {
	node := l.nodes[1]
	l.command(t, l.tool, "reboot", node)
	begun := time.Now()
	eventually(t, nodeTimeout, func() error { return l.nodeReady(t.Context(), node) })
	eventually(t, nodeTimeout, func() error { return l.allReady(t.Context(), agentLabels, len(l.nodes)) })
	t.Logf("Node and agent are ready %.1f s after the boot", time.Since(begun).Seconds())
	client, server := l.pair(t)
	l.duringTraffic(t, client, server, time.Minute, func() { l.waitFast(t, "TCP", client, server) })
}

func (l *life) nodeReady(ctx context.Context, name string) error {
	node, err := l.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
			return nil
		}
	}
	return fmt.Errorf("Node %s is not ready: %v", name, node.Status.Conditions)
}

// testAddedNode adds a Node, which is connected with the others, and takes it out again.
func (l *life) testAddedNode(t *testing.T) {
	added := strings.TrimSpace(l.command(t, l.tool, "add-node"))
	begun := time.Now()
	former := l.nodes
	// Not in a Cleanup: these run when the test's context has ended, and nothing can be waited for any more.
	defer func() {
		l.nodes = former
		l.command(t, l.kubectl, "delete", "node", added)
		eventually(t, podTimeout, func() error { return l.allReady(t.Context(), agentLabels, len(former)) })
	}()
	eventually(t, nodeTimeout, func() error { return l.nodeReady(t.Context(), added) })
	t.Logf("%s is ready %.1f s after the boot", added, time.Since(begun).Seconds())
	l.nodes = append(l.nodes[:len(l.nodes):len(l.nodes)], added)
	l.waitForAgents(t)
	l.checkMesh(t)
}

// checkMesh makes a Pod on each Node and lets each reach the others.
func (l *life) checkMesh(t *testing.T) {
	t.Helper()
	namespace := l.namespace(t)
	var pods []*corev1.Pod
	for i, node := range l.nodes {
		pods = append(pods, l.pod(t, namespace, fmt.Sprintf("mesh-%d", i), node, podOptions{}))
	}
	for _, from := range pods {
		for _, to := range pods {
			if from != to {
				l.exec(t, from, "", "ping", "-c", "1", "-w", "10", to.Status.PodIP)
			}
		}
	}
}
