// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package assign

import (
	"hash/crc32"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// IsReady reports whether an object is a Node that is ready.
func IsReady(object any) bool {
	node, ok := object.(*corev1.Node)
	return ok && slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// ReadyNames returns the names of the Nodes that are ready, in order; of all if none is.
func ReadyNames(nodes []*corev1.Node) (ready []string) {
	var all []string
	for _, node := range nodes {
		all = append(all, node.Name)
		if IsReady(node) {
			ready = append(ready, node.Name)
		}
	}
	if len(ready) == 0 {
		ready = all
	}
	slices.Sort(ready)
	return ready
}

// Reporter returns the Node, of the ready ones, that reports about an Egress where Nodes cannot agree on one; "" without any.
func Reporter(ready []string, egress string) string {
	if len(ready) == 0 {
		return ""
	}
	return ready[crc32.ChecksumIEEE([]byte(egress))%uint32(len(ready))]
}
