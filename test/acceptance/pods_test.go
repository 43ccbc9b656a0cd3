// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/util/exec"
)

// execTimeout is upstream's limit for a command in a Pod.
const execTimeout = time.Minute

// podOptions say how a Pod differs from a toolbox.
type podOptions struct {
	image       string // "" is the toolbox
	command     []string
	args        []string
	labels      map[string]string
	annotations map[string]string
	ports       []corev1.ContainerPort
	hostNetwork bool
}

// pod makes a Pod on a Node, and returns it when it has an address and is ready.
func (c *cluster) pod(t *testing.T, namespace, name, node string, o podOptions) *corev1.Pod {
	t.Helper()
	c.createPod(t, namespace, name, node, o)
	return c.waitForPod(t, namespace, name)
}

func (c *cluster) createPod(t *testing.T, namespace, name, node string, o podOptions) {
	t.Helper()
	if o.image == "" {
		o.image = toolboxImage
	}
	grace := int64(1)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: o.labels, Annotations: o.annotations},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{
				Name: name, Image: o.image, ImagePullPolicy: corev1.PullIfNotPresent, Command: o.command, Args: o.args, Ports: o.ports,
			}},
			HostNetwork: o.hostNetwork, TerminationGracePeriodSeconds: &grace, RestartPolicy: corev1.RestartPolicyNever,
			Tolerations: []corev1.Toleration{{Key: "node-role.kubernetes.io/control-plane", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}},
		},
	}
	if node != "" {
		pod.Spec.NodeSelector = map[string]string{corev1.LabelHostname: node}
	}
	_, err := c.client.CoreV1().Pods(namespace).Create(t.Context(), pod, metav1.CreateOptions{})
	require.NoError(t, err)
}

// waitForPod waits until a Pod has an address and is ready.
func (c *cluster) waitForPod(t *testing.T, namespace, name string) (pod *corev1.Pod) {
	t.Helper()
	eventually(t, podTimeout, func() (err error) {
		pod, err = c.client.CoreV1().Pods(namespace).Get(t.Context(), name, metav1.GetOptions{})
		if err == nil && (pod.Status.PodIP == "" || !isReady(pod)) {
			err = fmt.Errorf("Pod %s on Node %s is %s: %v", name, pod.Spec.NodeName, pod.Status.Phase, pod.Status.ContainerStatuses)
		}
		return err
	})
	return pod
}

// deletePod deletes a Pod and waits until it is gone.
func (c *cluster) deletePod(t *testing.T, pod *corev1.Pod, grace int64) {
	t.Helper()
	pods := c.client.CoreV1().Pods(pod.Namespace)
	require.NoError(t, pods.Delete(t.Context(), pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &grace}))
	eventually(t, podTimeout, func() error {
		found, err := pods.Get(t.Context(), pod.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err), err == nil && found.UID != pod.UID:
			return nil
		case err == nil:
			err = fmt.Errorf("Pod %s is still there", pod.Name)
		}
		return err
	})
}

func isReady(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// exec runs a command in a container, the first one if container is "", and returns its standard output. It must succeed.
func (c *cluster) exec(t *testing.T, pod *corev1.Pod, container string, command ...string) string {
	t.Helper()
	stdout, stderr, err := c.run(t.Context(), pod, container, command...)
	require.NoErrorf(t, err, "%v in %s: %s%s", command, pod.Name, stdout, stderr)
	return stdout
}

// run runs a command in a container. An exit code other than 0 is an error (exec.CodeExitError).
func (c *cluster) run(ctx context.Context, pod *corev1.Pod, container string, command ...string) (stdout, stderr string, err error) {
	ctx, cancel := context.WithTimeout(ctx, execTimeout)
	defer cancel()
	if container == "" {
		container = pod.Spec.Containers[0].Name
	}
	request := c.client.CoreV1().RESTClient().Post().Resource("pods").Namespace(pod.Namespace).Name(pod.Name).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Container: container, Command: command, Stdout: true, Stderr: true}, scheme.ParameterCodec)
	executor, err := remotecommand.NewSPDYExecutor(c.config, "POST", request.URL())
	if err != nil {
		return "", "", err
	}
	var out, errs bytes.Buffer
	err = executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: &out, Stderr: &errs})
	return out.String(), errs.String(), err
}

// exitCode returns the exit code of a command that run has run, and whether it ended with one.
func exitCode(err error) (code int, ended bool) {
	if err == nil {
		return 0, true
	}
	var exit exec.CodeExitError
	if errors.As(err, &exit) {
		return exit.Code, true
	}
	return 0, false
}
