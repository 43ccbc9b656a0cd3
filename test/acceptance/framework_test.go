// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// cluster is the cluster under test.
type cluster struct {
	config *rest.Config
	client kubernetes.Interface
	// nodes are the names of the Nodes, the control plane's first.
	nodes []string
	// agentConfig is antrea-agent.conf at the start of the tests.
	agentConfig string
}

// open connects to the cluster that $KUBECONFIG names.
func open(ctx context.Context) (*cluster, error) {
	path := os.Getenv("KUBECONFIG")
	if path == "" {
		return nil, errors.New("KUBECONFIG is not set: it must name the kubeconfig of a cluster with Antrea (make acceptance does that)")
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = 100, 200
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	c := &cluster{config: config, client: client}
	if err := c.findNodes(ctx); err != nil {
		return nil, err
	}
	maps, err := client.CoreV1().ConfigMaps(systemNamespace).Get(ctx, configMap, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading the plugin's configuration: %w", err)
	}
	c.agentConfig = maps.Data[agentConfigKey]
	return c, nil
}

func (c *cluster) findNodes(ctx context.Context) error {
	list, err := c.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, n := range list.Items {
		if _, first := n.Labels["node-role.kubernetes.io/control-plane"]; first {
			c.nodes = append([]string{n.Name}, c.nodes...)
		} else {
			c.nodes = append(c.nodes, n.Name)
		}
	}
	if len(c.nodes) < 2 {
		return fmt.Errorf("the cluster has %d Nodes, these tests need 2", len(c.nodes))
	}
	return nil
}

// gateIsOn tells whether the gate ONCache is on.
func (c *cluster) gateIsOn(t *testing.T) bool {
	out := c.antctl(t, c.agentOn(t, c.nodes[0]), "get", "featuregates")
	for line := range strings.Lines(out) {
		if fields := strings.Fields(line); len(fields) >= 2 && fields[0] == "ONCache" {
			return fields[1] == "Enabled"
		}
	}
	require.Fail(t, "antctl get featuregates does not list ONCache", out)
	return false
}

// namespace makes a Namespace that goes with the test.
func (c *cluster) namespace(t *testing.T) string {
	t.Helper()
	name := "acceptance-" + rand.String(6)
	_, err := c.client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() {
		err := c.client.CoreV1().Namespaces().Delete(context.Background(), name, metav1.DeleteOptions{})
		require.NoError(t, err)
	})
	return name
}

// agentOn returns the agent's Pod on a Node.
func (c *cluster) agentOn(t *testing.T, node string) *corev1.Pod {
	t.Helper()
	list, err := c.client.CoreV1().Pods(systemNamespace).List(t.Context(), metav1.ListOptions{
		LabelSelector: "app=antrea,component=" + agentDaemonSet, FieldSelector: "spec.nodeName=" + node,
	})
	require.NoError(t, err)
	for i := range list.Items {
		if p := &list.Items[i]; p.DeletionTimestamp == nil && isReady(p) {
			return p
		}
	}
	require.Failf(t, "no agent", "Node %s has no agent that is ready, among %d", node, len(list.Items))
	return nil
}

// waitForAgents waits until each Node has exactly one agent, which is ready.
func (c *cluster) waitForAgents(t *testing.T) {
	t.Helper()
	eventually(t, rolloutTimeout, func() error {
		list, err := c.client.CoreV1().Pods(systemNamespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app=antrea,component=" + agentDaemonSet})
		if err != nil {
			return err
		}
		if len(list.Items) != len(c.nodes) {
			return fmt.Errorf("there are %d agents for %d Nodes", len(list.Items), len(c.nodes))
		}
		for i := range list.Items {
			if p := &list.Items[i]; p.DeletionTimestamp != nil || !isReady(p) {
				return fmt.Errorf("%s is not ready, or ends: %v", p.Name, p.Status.ContainerStatuses)
			}
		}
		return nil
	})
}

// antctl runs antctl in an agent and returns its standard output.
func (c *cluster) antctl(t *testing.T, agent *corev1.Pod, args ...string) string {
	t.Helper()
	return c.exec(t, agent, agentContainer, append([]string{"antctl"}, args...)...)
}

// eventually calls check until it returns nil.
func eventually(t *testing.T, timeout time.Duration, check func() error) {
	t.Helper()
	deadline := time.Now().Add(timeout)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) || t.Context().Err() != nil {
			require.NoErrorf(t, err, "after %s", timeout)
		}
		time.Sleep(pollInterval)
	}
}
