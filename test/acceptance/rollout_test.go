// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// waitForAgents waits until each Node has exactly one agent, which is ready.
func (c *cluster) waitForAgents(t *testing.T) {
	t.Helper()
	eventually(t, rolloutTimeout, func() error {
		ds, err := c.client.AppsV1().DaemonSets(systemNamespace).Get(t.Context(), agentDaemonSet, metav1.GetOptions{})
		switch {
		case err != nil:
			return err
		case ds.Status.ObservedGeneration < ds.Generation:
			return fmt.Errorf("the DaemonSet controller has not seen generation %d", ds.Generation)
		case int(ds.Status.UpdatedNumberScheduled) < len(c.nodes):
			return fmt.Errorf("%d of %d agents are updated", ds.Status.UpdatedNumberScheduled, len(c.nodes))
		}
		return c.allReady(t.Context(), agentLabels, len(c.nodes))
	})
}

// waitForController waits until there is exactly one controller, which is ready.
func (c *cluster) waitForController(t *testing.T) {
	t.Helper()
	eventually(t, rolloutTimeout, func() error {
		d, err := c.client.AppsV1().Deployments(systemNamespace).Get(t.Context(), controller, metav1.GetOptions{})
		switch {
		case err != nil:
			return err
		case d.Status.ObservedGeneration < d.Generation:
			return fmt.Errorf("the Deployment controller has not seen generation %d", d.Generation)
		case d.Status.UpdatedReplicas < 1:
			return fmt.Errorf("the controller is not updated")
		}
		return c.allReady(t.Context(), controllerLabels, 1)
	})
}

// allReady returns an error unless exactly n Pods have the labels and are ready.
func (c *cluster) allReady(ctx context.Context, labels string, n int) error {
	list, err := c.client.CoreV1().Pods(systemNamespace).List(ctx, metav1.ListOptions{LabelSelector: labels})
	if err != nil {
		return err
	}
	if len(list.Items) != n {
		return fmt.Errorf("there are %d Pods with %s, want %d", len(list.Items), labels, n)
	}
	for i := range list.Items {
		if p := &list.Items[i]; p.DeletionTimestamp != nil || !isReady(p) {
			return fmt.Errorf("%s is not ready, or ends: %s", p.Name, containerStates(p))
		}
	}
	return nil
}

// restart replaces agents and controller as `kubectl rollout restart` does.
func (c *cluster) restart(t *testing.T) {
	t.Helper()
	disrupts(t)
	patch := fmt.Appendf(nil, `{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":%q}}}}}`, time.Now().Format(time.RFC3339Nano))
	_, err := c.client.AppsV1().Deployments(systemNamespace).Patch(t.Context(), controller, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	require.NoError(t, err)
	_, err = c.client.AppsV1().DaemonSets(systemNamespace).Patch(t.Context(), agentDaemonSet, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	require.NoError(t, err)
	c.waitForController(t)
	c.waitForAgents(t)
}

// restartAgent deletes the agent of a Node and returns when there is another one that is ready.
func (c *cluster) restartAgent(t *testing.T, node string) {
	t.Helper()
	disrupts(t)
	c.deletePod(t, c.agentOn(t, node), 30)
	c.waitForAgents(t)
}

// restartController deletes the controller and returns when there is another one that is ready.
func (c *cluster) restartController(t *testing.T) {
	t.Helper()
	disrupts(t)
	list, err := c.client.CoreV1().Pods(systemNamespace).List(t.Context(), metav1.ListOptions{LabelSelector: controllerLabels})
	require.NoError(t, err)
	for i := range list.Items {
		c.deletePod(t, &list.Items[i], 30)
	}
	c.waitForController(t)
}

// scaleController changes the number of controllers, and waits until there are so many.
func (c *cluster) scaleController(t *testing.T, replicas int) {
	t.Helper()
	disrupts(t)
	deployments := c.client.AppsV1().Deployments(systemNamespace)
	scale, err := deployments.GetScale(t.Context(), controller, metav1.GetOptions{})
	require.NoError(t, err)
	scale.Spec.Replicas = int32(replicas)
	_, err = deployments.UpdateScale(t.Context(), controller, scale, metav1.UpdateOptions{})
	require.NoError(t, err)
	eventually(t, rolloutTimeout, func() error { return c.allReady(t.Context(), controllerLabels, replicas) })
}

// configure changes the configuration files and restarts agents and controller, as a user would. The former files come back with the end of
// the test.
func (c *cluster) configure(t *testing.T, change func(map[string]string)) {
	t.Helper()
	c.editConfiguration(t, change)
	c.restart(t)
}

func (c *cluster) editConfiguration(t *testing.T, change func(map[string]string)) {
	t.Helper()
	disrupts(t)
	maps := c.client.CoreV1().ConfigMaps(systemNamespace)
	before, err := maps.Get(t.Context(), configMap, metav1.GetOptions{})
	require.NoError(t, err)
	after := before.DeepCopy()
	change(after.Data)
	t.Cleanup(func() {
		ctx := context.Background()
		now, err := maps.Get(ctx, configMap, metav1.GetOptions{})
		require.NoError(t, err)
		now.Data = before.Data
		_, err = maps.Update(ctx, now, metav1.UpdateOptions{})
		require.NoError(t, err)
		for _, labels := range []string{agentLabels, controllerLabels} {
			err := c.client.CoreV1().Pods(systemNamespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: labels})
			require.NoError(t, err)
		}
	})
	_, err = maps.Update(t.Context(), after, metav1.UpdateOptions{})
	require.NoError(t, err)
}

// restarts is the number of times that containers of the agents have been started again.
func (c *cluster) restarts(t *testing.T) (sum int) {
	t.Helper()
	list, err := c.client.CoreV1().Pods(systemNamespace).List(t.Context(), metav1.ListOptions{LabelSelector: agentLabels})
	require.NoError(t, err)
	for _, pod := range list.Items {
		for _, status := range pod.Status.ContainerStatuses {
			sum += int(status.RestartCount)
		}
	}
	return sum
}

func containerStates(pod *corev1.Pod) string {
	text := string(pod.Status.Phase)
	for _, s := range append(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses...) {
		switch {
		case s.State.Waiting != nil:
			text += fmt.Sprintf(", %s waits: %s %s", s.Name, s.State.Waiting.Reason, s.State.Waiting.Message)
		case s.State.Terminated != nil:
			text += fmt.Sprintf(", %s has ended: %s, exit code %d %s", s.Name, s.State.Terminated.Reason, s.State.Terminated.ExitCode, s.State.Terminated.Message)
		case !s.Ready:
			text += fmt.Sprintf(", %s runs and is not ready", s.Name)
		}
	}
	return text
}
