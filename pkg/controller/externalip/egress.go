// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package externalip

import (
	"context"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
)

// Reasons and messages of conditions.
const (
	allocated         = "Allocated"
	allocatedMessage  = "EgressIP is successfully allocated"
	allocationError   = "AllocationError"
	allocationMessage = "Cannot allocate EgressIP from ExternalIPPool: "
)

// conditionsOf returns the conditions that an Egress ought to have. Times are not set for those that are new.
func conditionsOf(e *v1beta1.Egress, failure error) []v1beta1.EgressCondition {
	conditions := slices.DeleteFunc(slices.Clone(e.Status.Conditions), func(c v1beta1.EgressCondition) bool {
		return e.Spec.ExternalIPPool == "" && c.Type == v1beta1.IPAllocated
	})
	if e.Spec.ExternalIPPool == "" {
		return conditions
	}
	wanted := v1beta1.EgressCondition{Type: v1beta1.IPAllocated, Status: corev1.ConditionTrue, Reason: allocated, Message: allocatedMessage}
	if failure != nil {
		wanted.Status, wanted.Reason, wanted.Message = corev1.ConditionFalse, allocationError, allocationMessage+failure.Error()
	}
	i := slices.IndexFunc(conditions, func(c v1beta1.EgressCondition) bool { return c.Type == v1beta1.IPAllocated })
	if i < 0 {
		return append(conditions, wanted)
	}
	if conditions[i].Status == wanted.Status {
		wanted.LastTransitionTime = conditions[i].LastTransitionTime
	}
	conditions[i] = wanted
	return conditions
}

// writeEgress writes an address, or none, into the version of the Egress.
func (c *Controller) writeEgress(ctx context.Context, e *v1beta1.Egress, addr netip.Addr) error {
	var text any
	if addr.IsValid() {
		text = addr.String()
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": e.UID, "resourceVersion": e.ResourceVersion}, "spec": map[string]any{"egressIP": text},
	})
	if err != nil {
		return err
	}
	_, err = c.Client.Resource(crd.Egresses).Patch(ctx, e.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}
