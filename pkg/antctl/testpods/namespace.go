// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package testpods makes the Pods with which antctl check sends traffic, in a Namespace of their own.
package testpods

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
)

// cleanupTimeout limits the request that deletes everything.
const cleanupTimeout = 10 * time.Second

// Namespace is the Namespace of one run.
type Namespace struct {
	Name   string
	kube   kubernetes.Interface
	limits Limits
}

// Limits are the times for which Pods are waited for.
type Limits struct {
	// Patience is the time that a Pod may take to start, or to finish.
	Patience time.Duration
	// Interval is the time between two reads of its state.
	Interval time.Duration
}

// New makes a Namespace with labels.
func New(ctx context.Context, kube kubernetes.Interface, labels map[string]string, limits Limits) (*Namespace, error) {
	n := &Namespace{Name: "antrea-test-" + rand.String(5), kube: kube, limits: limits}
	object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: labels}}
	if _, err := kube.CoreV1().Namespaces().Create(ctx, object, metav1.CreateOptions{}); err != nil {
		return nil, fmt.Errorf("making Namespace %s: %w", n.Name, err)
	}
	return n, nil
}

// Delete deletes the Namespace with everything in it, also when ctx has ended.
func (n *Namespace) Delete(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	if err := n.kube.CoreV1().Namespaces().Delete(ctx, n.Name, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("deleting Namespace %s, please do so: %w", n.Name, err)
	}
	return nil
}

// WaitForServiceAccount waits for the Namespace's ServiceAccount, without which the Kubernetes API refuses Pods.
func (n *Namespace) WaitForServiceAccount(ctx context.Context) error {
	const name = "default"
	err := wait.PollUntilContextTimeout(ctx, n.limits.Interval, n.limits.Patience, true, func(ctx context.Context) (bool, error) {
		_, err := n.kube.CoreV1().ServiceAccounts(n.Name).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	})
	if wait.Interrupted(err) {
		return fmt.Errorf("the Namespace %s has no ServiceAccount %s after %s: does kube-controller-manager run?", n.Name, name, n.limits.Patience)
	}
	if err != nil {
		return fmt.Errorf("reading ServiceAccount %s: %w", name, err)
	}
	return nil
}

// Start makes a Pod and returns it once it is in a state.
func (n *Namespace) Start(ctx context.Context, pod *corev1.Pod, reached func(*corev1.Pod) bool) (*corev1.Pod, error) {
	pods := n.kube.CoreV1().Pods(n.Name)
	if _, err := pods.Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		return nil, fmt.Errorf("making Pod %s: %w", pod.Name, err)
	}
	last := pod
	err := wait.PollUntilContextTimeout(ctx, n.limits.Interval, n.limits.Patience, true, func(ctx context.Context) (bool, error) {
		current, err := pods.Get(ctx, pod.Name, metav1.GetOptions{})
		if err != nil {
			return false, fmt.Errorf("reading Pod %s: %w", pod.Name, err)
		}
		last = current
		return reached(current), nil
	})
	if wait.Interrupted(err) {
		return nil, fmt.Errorf("waiting for Pod %s on Node %s: still %s after %s; see kubectl -n %s get events", pod.Name, pod.Spec.NodeName, last.Status.Phase, n.limits.Patience, n.Name)
	}
	return last, err
}

// Pod returns a Pod that runs on a Node whatever the Node's taints are, once, and without a token of the Kubernetes API.
func (n *Namespace) Pod(name, node string, container corev1.Container) *corev1.Pod {
	grace, token := int64(1), false
	container.TerminationMessagePolicy = corev1.TerminationMessageFallbackToLogsOnError
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: n.Name},
		Spec: corev1.PodSpec{
			NodeName: node, RestartPolicy: corev1.RestartPolicyNever, TerminationGracePeriodSeconds: &grace, AutomountServiceAccountToken: &token,
			Containers: []corev1.Container{container}, Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
		},
	}
}

// IsReady reports whether a Pod has the condition Ready.
func IsReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// Output returns the final message of the Pod's program; empty if it runs or has said nothing.
func Output(pod *corev1.Pod) string {
	for _, status := range pod.Status.ContainerStatuses {
		if status.State.Terminated != nil {
			return status.State.Terminated.Message
		}
	}
	return ""
}
