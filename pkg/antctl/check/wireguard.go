// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/pkg/apis"
)

// wireGuardKeyLength is the length of a key in bytes.
const wireGuardKeyLength = 32

// encryption checks that each of the Nodes has a key of its own, if one of them encrypts: others do not reach it.
func (i *Installation) encryption(ctx context.Context, nodes []string) error {
	list, err := i.Kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("reading the Nodes: %w", err)
	}
	i.Report.keys(slices.DeleteFunc(list.Items, func(node corev1.Node) bool { return !slices.Contains(nodes, node.Name) }))
	return nil
}

// keys judges the keys of Nodes with agents.
func (r *Report) keys(nodes []corev1.Node) {
	const check = "encryption"
	owners := map[string]string{}
	var without []string
	good := true
	for _, node := range nodes {
		key := node.Annotations[apis.WireGuardKey]
		raw, err := base64.StdEncoding.DecodeString(key)
		switch other, taken := owners[key]; {
		case key == "":
			without = append(without, node.Name)
			continue
		case err != nil || len(raw) != wireGuardKeyLength:
			r.Fail(check, "annotation %s of Node %s is %q, want a key of WireGuard, which its agent writes", apis.WireGuardKey, node.Name, key)
			good = false
		case taken:
			r.Fail(check, "Nodes %s and %s have the same annotation %s: find out who has changed it", other, node.Name, apis.WireGuardKey)
			good = false
		}
		owners[key] = node.Name
	}
	switch {
	case len(owners) == 0:
	case len(without) > 0:
		r.Fail(check, "Nodes %v have no annotation %s, unlike others, which they do not reach: set the same trafficEncryptionMode on all Nodes, and restart the agents", without, apis.WireGuardKey)
	case good:
		r.OK(check, "each Node has published a key for WireGuard")
	}
}
