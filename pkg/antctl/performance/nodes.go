// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package performance

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/pkg/antctl/testpods"
	"github.com/antrea-oncache/antrea/pkg/apis"
)

// chooseNodes sets Nodes if there are none, and returns the agents' Pods by Node. Nodes without taints come first, because Pods run on them.
func (t *Test) chooseNodes(ctx context.Context) (map[string]*corev1.Pod, error) {
	list, err := t.Kube.CoreV1().Pods(apis.DefaultNamespace).List(ctx, metav1.ListOptions{LabelSelector: "app=antrea,component=antrea-agent"})
	if err != nil {
		return nil, fmt.Errorf("reading the Pods of the agents: %w", err)
	}
	agents := map[string]*corev1.Pod{}
	for i := range list.Items {
		if pod := &list.Items[i]; testpods.IsReady(pod) {
			agents[pod.Spec.NodeName] = pod
		}
	}
	if len(t.Nodes) == 0 {
		if t.Nodes, err = t.untainted(ctx, sortedNodes(agents)); err != nil {
			return nil, err
		}
	}
	if len(t.Nodes) != 2 || t.Nodes[0] == t.Nodes[1] {
		return nil, fmt.Errorf("two Nodes with an agent that is ready are needed, not %q", strings.Join(t.Nodes, ","))
	}
	for _, node := range t.Nodes {
		if agents[node] == nil {
			return nil, fmt.Errorf("node %s has no agent that is ready; these have: %s", node, strings.Join(sortedNodes(agents), ", "))
		}
	}
	return agents, nil
}

// untainted returns the first two of nodes, of which Nodes without taints come first.
func (t *Test) untainted(ctx context.Context, nodes []string) ([]string, error) {
	list, err := t.Kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading the Nodes: %w", err)
	}
	tainted := map[string]bool{}
	for _, node := range list.Items {
		tainted[node.Name] = len(node.Spec.Taints) > 0
	}
	slices.SortStableFunc(nodes, func(a, b string) int {
		switch {
		case tainted[a] == tainted[b]:
			return 0
		case tainted[b]:
			return -1
		default:
			return 1
		}
	})
	return nodes[:min(len(nodes), 2)], nil
}
