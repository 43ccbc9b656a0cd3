// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/antrea-oncache/antrea/test/env/testbed/controlplane"
)

// podName is the name of both Pods, with the name of the Node behind it.
const podName = "pod-on-"

func nodeName(i int) string { return fmt.Sprintf("node-%d", i+1) }

func (p *Pair) kubeconfig() string { return filepath.Join(p.Dir, "kubeconfig") }

// startAPI starts a Kubernetes API and creates what the agents expect to find there.
func (p *Pair) startAPI(ctx context.Context) (err error) {
	state := filepath.Join(p.Dir, "api")
	if err := os.Mkdir(state, 0o700); err != nil {
		return err
	}
	if p.api, err = controlplane.Start(ctx, controlplane.Options{StateDir: state, LogDir: state, Progress: p.Progress}); err != nil {
		return err
	}
	if err := p.api.WriteKubeconfig(p.kubeconfig(), "127.0.0.1"); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", p.kubeconfig())
	if err != nil {
		return err
	}
	config.WarningHandler = rest.NoWarnings{} // about definitions that are not ours
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	if err := createDefinitions(ctx, objects, p.definitions()); err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	for i, n := range p.Nodes {
		if err := createNode(ctx, client, nodeName(i), n); err != nil {
			return err
		}
	}
	return nil
}

// createDefinitions creates the CustomResourceDefinitions of a directory and its subdirectories.
func createDefinitions(ctx context.Context, client dynamic.Interface, dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*", "*.yaml"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("%s has no definitions: is this another version of Cilium?", dir)
	}
	kind := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	var errs []error
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		definition := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(text, &definition.Object); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if _, err := kind.Create(ctx, definition, metav1.CreateOptions{}); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", file, err))
		}
	}
	return errors.Join(errs...)
}

// createNode creates a Node as its kubelet would, and its Pod as the scheduler would.
func createNode(ctx context.Context, client kubernetes.Interface, name string, n NodeOptions) error {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.NodeSpec{PodCIDR: n.PodNetwork.String(), PodCIDRs: []string{n.PodNetwork.String()}},
		Status:     corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: n.Transport.String()}}},
	}
	if _, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create Node %s: %w", name, err)
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: podName + name, Labels: map[string]string{"app": "bench"}},
		Spec:       corev1.PodSpec{NodeName: name, Containers: []corev1.Container{{Name: "bench", Image: "bench"}}},
	}
	if _, err := client.CoreV1().Pods(metav1.NamespaceDefault).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create Pod %s: %w", pod.Name, err)
	}
	return nil
}
