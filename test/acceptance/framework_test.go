// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"cmp"
	"context"
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
	"k8s.io/client-go/util/retry"
)

// cluster is the cluster under test.
type cluster struct {
	config *rest.Config
	client kubernetes.Interface
	// nodes are the names of the Nodes, the control plane's first.
	nodes []string
	// gate reports whether the gate ONCache is on.
	gate bool
	// mode is the mode of traffic between Nodes.
	mode string
	// manifest is the file from which the plugin was installed, kubectl the program, logs the directory for diagnoses.
	manifest, kubectl, logs string
	tally                   tally
}

// open connects to a cluster.
func open(ctx context.Context, kubeconfig string) (*cluster, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = 100, 200
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	c := &cluster{
		config: config, client: client, manifest: os.Getenv("ACCEPTANCE_MANIFEST"),
		kubectl: cmp.Or(os.Getenv("KUBECTL"), "kubectl"), logs: cmp.Or(os.Getenv("ACCEPTANCE_LOGS"), "acceptance-logs"),
	}
	if err := c.findNodes(ctx); err != nil {
		return nil, err
	}
	if os.Getenv("LIFECYCLE_TOOL") != "" {
		return c, nil // nothing is installed yet
	}
	if c.mode, err = c.modeOf(ctx); err != nil {
		return nil, err
	}
	c.gate, err = c.gateIsOn(ctx, "ONCache")
	return c, err
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

// gateIsOn asks an agent whether a feature gate is on.
func (c *cluster) gateIsOn(ctx context.Context, gate string) (bool, error) {
	agent, err := c.agentPod(ctx, c.nodes[0])
	if err != nil {
		return false, err
	}
	out, stderr, err := c.run(ctx, agent, agentContainer, "antctl", "get", "featuregates")
	if err != nil {
		return false, fmt.Errorf("antctl get featuregates: %w: %s", err, stderr)
	}
	for line := range strings.Lines(out) {
		if fields := strings.Fields(line); len(fields) >= 2 && fields[0] == gate {
			return fields[1] == "Enabled", nil
		}
	}
	return false, fmt.Errorf("antctl get featuregates does not list %s: %s", gate, out)
}

// namespace makes a Namespace that goes with the test.
func (c *cluster) namespace(t *testing.T) string {
	t.Helper()
	name := namespacePrefix + rand.String(6)
	_, err := c.client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() {
		err := c.client.CoreV1().Namespaces().Delete(context.Background(), name, metav1.DeleteOptions{})
		require.NoError(t, err)
	})
	return name
}

// waitForOthers waits until nothing of former cases is left.
func (c *cluster) waitForOthers(t *testing.T, namespace string) {
	t.Helper()
	eventually(t, podTimeout, func() error {
		list, err := c.client.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, n := range list.Items {
			// One that is not being deleted is of a run that was interrupted.
			if strings.HasPrefix(n.Name, namespacePrefix) && n.Name != namespace && n.DeletionTimestamp != nil {
				return fmt.Errorf("Namespace %s is still there", n.Name)
			}
		}
		return nil
	})
}

// agentOn returns the agent's Pod on a Node.
func (c *cluster) agentOn(t *testing.T, node string) *corev1.Pod {
	t.Helper()
	pod, err := c.agentPod(t.Context(), node)
	require.NoError(t, err)
	return pod
}

func (c *cluster) agentPod(ctx context.Context, node string) (*corev1.Pod, error) {
	list, err := c.client.CoreV1().Pods(systemNamespace).List(ctx, metav1.ListOptions{
		LabelSelector: agentLabels, FieldSelector: "spec.nodeName=" + node,
	})
	if err != nil {
		return nil, err
	}
	for i := range list.Items {
		if p := &list.Items[i]; p.DeletionTimestamp == nil && p.Status.Phase == corev1.PodRunning {
			return p, nil
		}
	}
	return nil, fmt.Errorf("Node %s has no agent that runs, among %d", node, len(list.Items))
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

// withoutCancel is the test's context for what is done at its end.
func withoutCancel(t *testing.T) context.Context { return context.WithoutCancel(t.Context()) }

// retryOnConflict calls update again when the object was changed in between.
func retryOnConflict(update func() error) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, update)
}
