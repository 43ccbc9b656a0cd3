// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
)

// conflist is Antrea's CNI configuration without portmap and bandwidth, which no Pod here uses.
const conflist = `{
    "cniVersion": "0.3.0",
    "name": "antrea",
    "plugins": [
        {
            "type": "antrea",
            "ipam": {
                "type": "host-local"
            }
        }
    ]
}
`

// kubeconfigFor is the kubeconfig at path with another server.
func kubeconfigFor(path, server string) ([]byte, error) {
	config, err := clientcmd.LoadFromFile(path)
	if err != nil {
		return nil, err
	}
	for _, cluster := range config.Clusters {
		cluster.Server = server
	}
	return clientcmd.Write(*config)
}

// register creates the Node object as a kubelet, and a controller manager that allocates Pod networks, would. It replaces an
// object that an earlier cluster has left.
func (n *Node) register(ctx context.Context) error {
	if err := n.unregister(ctx); err != nil {
		return err
	}
	nodes := n.cluster.Client.CoreV1().Nodes()
	node, err := nodes.Create(ctx, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: n.Name,
			Labels: map[string]string{
				corev1.LabelHostname: n.Name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64",
			},
		},
		Spec: corev1.NodeSpec{PodCIDR: n.PodCIDRs[0].String(), PodCIDRs: texts(n.PodCIDRs)},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("creating Node %s: %w", n.Name, err)
	}
	for _, ip := range texts(n.IPs) {
		node.Status.Addresses = append(node.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: ip})
	}
	node.Status.Addresses = append(node.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeHostName, Address: n.Name})
	node.Status.Conditions = []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "Testbed",
		LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now(),
	}}
	if _, err := nodes.UpdateStatus(ctx, node, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("setting the status of Node %s: %w", n.Name, err)
	}
	return nil
}

func (n *Node) unregister(ctx context.Context) error {
	err := n.cluster.Client.CoreV1().Nodes().Delete(ctx, n.Name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting Node %s: %w", n.Name, err)
	}
	return nil
}

// writeAntreaConfig creates the ConfigMap that is in Antrea's manifest, with the first Node's configuration.
func (c *Cluster) writeAntreaConfig(ctx context.Context) error {
	agent, err := c.Nodes[0].agentConfig()
	if err != nil {
		return err
	}
	controller, err := controllerConfig(c.o.FeatureGates)
	if err != nil {
		return err
	}
	maps := c.Client.CoreV1().ConfigMaps(agentPodNamespace)
	config := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "antrea-config", Labels: map[string]string{"app": "antrea"}},
		Data: map[string]string{
			"antrea-agent.conf":      string(agent),
			"antrea-cni.conflist":    conflist,
			"antrea-controller.conf": string(controller),
		},
	}
	_, err = maps.Create(ctx, config, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = maps.Update(ctx, config, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("writing ConfigMap antrea-config: %w", err)
	}
	return nil
}

func (c *Cluster) ensureNamespace(ctx context.Context, name string) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	_, err := c.Client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating Namespace %s: %w", name, err)
	}
	return nil
}

// setPodStatus sets a Pod's status to Running, as a kubelet would.
func (c *Cluster) setPodStatus(ctx context.Context, pod *corev1.Pod, hostIPs, podIPs []string) (*corev1.Pod, error) {
	now := metav1.Now()
	pod.Status = corev1.PodStatus{
		Phase: corev1.PodRunning, StartTime: &now,
		HostIP: hostIPs[0], PodIP: podIPs[0],
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: now}},
	}
	for _, ip := range hostIPs {
		pod.Status.HostIPs = append(pod.Status.HostIPs, corev1.HostIP{IP: ip})
	}
	for _, ip := range podIPs {
		pod.Status.PodIPs = append(pod.Status.PodIPs, corev1.PodIP{IP: ip})
	}
	pod, err := c.Client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	if err != nil {
		return nil, fmt.Errorf("setting the Pod's status: %w", err)
	}
	return pod, nil
}

func (c *Cluster) deletePodObject(ctx context.Context, namespace, name string) error {
	now := int64(0) // no kubelet confirms the end of a grace period
	err := c.Client.CoreV1().Pods(namespace).Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: &now})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting Pod %s/%s: %w", namespace, name, err)
	}
	return nil
}

// texts prints each of values.
func texts[T fmt.Stringer](values []T) []string {
	var all []string
	for _, v := range values {
		all = append(all, v.String())
	}
	return all
}
