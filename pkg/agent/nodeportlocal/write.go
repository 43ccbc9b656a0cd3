// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package nodeportlocal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const requestTimeout = 10 * time.Second

// writeAll writes the annotations of Pods that do not say what is in force.
func (c *Controller) writeAll(ctx context.Context) error {
	pods, err := c.pods()
	errs := []error{err}
	for _, pod := range pods {
		if ctx.Err() != nil {
			return nil
		}
		c.mu.Lock()
		entries, known := c.entries[nameOf(pod)], c.entries != nil
		c.mu.Unlock()
		annotation, annotated := pod.Annotations[PodAnnotation]
		if !known || len(entries) == 0 && !annotated || says(annotation, entries) {
			continue
		}
		errs = append(errs, c.write(ctx, pod, format(entries)))
	}
	return errors.Join(errs...)
}

// write writes the annotation, or removes it if the text is empty. A missing Pod is not a failure; a new one with the same name has another UID.
func (c *Controller) write(ctx context.Context, pod *corev1.Pod, text string) error {
	value := &text
	if text == "" {
		value = nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID, "annotations": map[string]*string{PodAnnotation: value}}})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	_, err = c.Kube.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return fmt.Errorf("annotate Pod %s with its ports of the Node: %w", nameOf(pod), err)
}
