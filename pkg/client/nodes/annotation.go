// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package nodes changes Node objects. It is apart from package kubernetes, because antrea-controller has no right to do so.
package nodes

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
)

// Annotate sets an annotation to value, or removes it when value is empty.
func Annotate(ctx context.Context, kube kubernetes.Interface, name, annotation, value string) error {
	var v any
	if value != "" {
		v = value
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{annotation: v}},
	})
	if err != nil {
		return fmt.Errorf("encode annotation %s=%q: %w", annotation, value, err)
	}
	if _, err := kube.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("set annotation %s=%q on Node %q: %w", annotation, value, name, err)
	}
	klog.InfoS("Changed an annotation of the Node", "node", name, "annotation", annotation, "value", value)
	return nil
}
