// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/antrea-oncache/antrea/pkg/client/crd"
)

// writeStatus writes the status in content, as the status of the version that the informer has shown.
func (c *Controller) writeStatus(ctx context.Context, resource schema.GroupVersionResource, kind string, meta metav1.Object, content any) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	object := crd.New(kind, meta.GetName())
	object.SetUID(meta.GetUID())
	object.SetResourceVersion(meta.GetResourceVersion())
	if err := crd.Fill(object, content); err != nil {
		return err
	}
	_, err := c.client.Resource(resource).UpdateStatus(ctx, object, metav1.UpdateOptions{})
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("writing the status of %s %s: %w", kind, meta.GetName(), err)
	}
	return nil
}
