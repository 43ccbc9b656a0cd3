// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/util/exec"

	"github.com/antrea-oncache/antrea/pkg/ovs/ofctl"
)

// podOptions say how a Pod differs from a toolbox.
type podOptions struct {
	image       string // "" is the toolbox
	command     []string
	args        []string
	labels      map[string]string
	annotations map[string]string
	ports       []corev1.ContainerPort
	hostNetwork bool
	// hostPID Pods see the processes of their Node.
	hostPID bool
	// account is a service account's name.
	account string
	// resolver is the address of a DNS server that replaces the cluster's.
	resolver string
	// privileged Pods may use the capabilities of their Node's administrator.
	privileged bool
	// more are further containers.
	more []corev1.Container
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
			Containers: append([]corev1.Container{{
				Name: name, Image: o.image, ImagePullPolicy: corev1.PullIfNotPresent, Command: o.command, Args: o.args, Ports: o.ports,
			}}, o.more...),
			ServiceAccountName: o.account, HostNetwork: o.hostNetwork, HostPID: o.hostPID, TerminationGracePeriodSeconds: &grace, RestartPolicy: corev1.RestartPolicyNever,
			Tolerations: []corev1.Toleration{{Key: "node-role.kubernetes.io/control-plane", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}},
		},
	}
	if o.resolver != "" {
		pod.Spec.DNSPolicy, pod.Spec.DNSConfig = corev1.DNSNone, &corev1.PodDNSConfig{Nameservers: []string{o.resolver}}
	}
	if o.privileged {
		pod.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{Privileged: &o.privileged}
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
			err = fmt.Errorf("Pod %s on Node %q has address %q and is %s", name, pod.Spec.NodeName, pod.Status.PodIP, containerStates(pod))
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

// result is the output of a command, and its error.
type result struct {
	stdout, stderr string
	err            error
}

// start runs a command in a Pod's first container in the background, for at most timeout. The returned function waits for its end.
func (c *cluster) start(t *testing.T, pod *corev1.Pod, timeout time.Duration, command ...string) (wait func() result) {
	done := make(chan result, 1)
	go func() {
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		defer cancel()
		var r result
		r.stdout, r.stderr, r.err = c.runUntil(ctx, pod, "", command...)
		done <- r
	}()
	return func() result { return <-done }
}

// startUntil starts a command in a Pod. The returned function ends it by SIGINT and waits for its result.
func (c *cluster) startUntil(t *testing.T, pod *corev1.Pod, command ...string) (end func() result) {
	const id = "/tmp/until.pid"
	wait := c.start(t, pod, untilTimeout, append([]string{"sh", "-c", "echo $$ >" + id + `; exec "$@"`, "sh"}, command...)...)
	return func() result {
		// A command that has ended by itself has a result that shows why.
		_, _, _ = c.run(t.Context(), pod, "", "sh", "-c", "kill -INT $(cat "+id+")")
		return wait()
	}
}

// run runs a command in a container. An exit code other than 0 is an error (exec.CodeExitError).
func (c *cluster) run(ctx context.Context, pod *corev1.Pod, container string, command ...string) (stdout, stderr string, err error) {
	ctx, cancel := context.WithTimeout(ctx, execTimeout)
	defer cancel()
	return c.runUntil(ctx, pod, container, command...)
}

// runUntil is run with the time limit of ctx only. It runs ovs-ofctl again as package ofctl says.
func (c *cluster) runUntil(ctx context.Context, pod *corev1.Pod, container string, command ...string) (stdout, stderr string, err error) {
	if container == "" {
		container = pod.Spec.Containers[0].Name
	}
	request := c.client.CoreV1().RESTClient().Post().Resource("pods").Namespace(pod.Namespace).Name(pod.Name).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Container: container, Command: command, Stdout: true, Stderr: true}, scheme.ParameterCodec)
	executor, err := remotecommand.NewSPDYExecutor(c.config, "POST", request.URL())
	if err != nil {
		return "", "", err
	}
	err = ofctl.Retry(ctx, func() (string, error) {
		var out, errs bytes.Buffer
		err := executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: &out, Stderr: &errs})
		stdout, stderr = out.String(), errs.String()
		return stderr, err
	})
	return stdout, stderr, err
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

// containerLog is the log of a container.
func (c *cluster) containerLog(ctx context.Context, pod *corev1.Pod, container string) string {
	data, err := c.client.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{Container: container}).DoRaw(ctx)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// describePods lists the Pods of the tests and of the system with their states, and the warnings of the last minutes.
func (c *cluster) describePods(ctx context.Context) string {
	var text strings.Builder
	pods, err := c.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err.Error()
	}
	for i := range pods.Items {
		p := &pods.Items[i]
		fmt.Fprintf(&text, "%s/%s on %s, %s: %s\n", p.Namespace, p.Name, p.Spec.NodeName, p.Status.PodIP, containerStates(p))
	}
	events, err := c.client.CoreV1().Events("").List(ctx, metav1.ListOptions{FieldSelector: "type=Warning"})
	if err != nil {
		return text.String() + err.Error()
	}
	for i := range events.Items {
		e := &events.Items[i]
		if time.Since(e.LastTimestamp.Time) < 5*time.Minute {
			fmt.Fprintf(&text, "%s %s/%s: %s: %s\n", e.LastTimestamp.Format(time.TimeOnly), e.InvolvedObject.Namespace, e.InvolvedObject.Name, e.Reason, e.Message)
		}
	}
	return text.String()
}
