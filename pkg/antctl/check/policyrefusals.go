// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/policycheck"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
)

// refusalOf returns why admission refuses a policy or group by itself, although Antrea has taken it; nothing if it does not, or if it cannot be read.
// Parts of layer 7 are named as not enforced: with their feature gate they are not refused.
func refusalOf(object *unstructured.Unstructured, policy bool) string {
	const l7 = true
	if policy {
		if content, err := crd.ReadStrictly[v1beta1.NetworkPolicy](object); err == nil {
			return policycheck.Policy(object.GetKind(), &content.Spec, l7)
		}
	} else if content, err := crd.ReadStrictly[v1beta1.ClusterGroup](object); err == nil {
		return policycheck.Group(object.GetKind(), &content.Spec)
	}
	return ""
}
