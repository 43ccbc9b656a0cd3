// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"cmp"
	"fmt"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
)

// overlap refuses a ClusterInfo that takes a Service network, a Gateway's address or a Pod network of another member: the flows of the other clusters
// would lead to one of both.
func (c Config) overlap(r review[v1alpha1.ResourceExport]) (string, error) {
	exports, err := c.Objects.ClusterInfos()
	if err != nil {
		return "", fmt.Errorf("reading the ResourceExports of kind ClusterInfo in Namespace %s: %w", c.Namespace, err)
	}
	own, former := r.wanted.Spec.ClusterInfo, &v1alpha1.ClusterInfo{}
	if r.former != nil && r.former.Spec.ClusterInfo != nil {
		former = r.former.Spec.ClusterInfo
	}
	for _, other := range exports {
		theirs := other.Spec.ClusterInfo
		if theirs == nil || other.Spec.ClusterID == r.wanted.Spec.ClusterID || other.DeletionTimestamp != nil {
			continue
		}
		refusal, older := overlapping(servicesOf(own), servicesOf(theirs)), isOlder(r.former, other)
		if !older || own.ServiceCIDR != former.ServiceCIDR {
			refusal = cmp.Or(refusal, overlapping(servicesOf(own), gatewaysOf(theirs)))
		}
		if !older { // The younger one has taken it, before this member's Gateway or Pods got it.
			refusal = cmp.Or(refusal, overlapping(gatewaysOf(own), waysOf(theirs)), takenPods(own, former, theirs))
		}
		if refusal != "" {
			return fmt.Sprintf("%s of member %q", refusal, other.Spec.ClusterID), nil
		}
	}
	return "", nil
}

// isOlder reports whether an export, nil if it is made now, is older than another one.
func isOlder(e, other *v1alpha1.ResourceExport) bool {
	return e != nil && cmp.Or(e.CreationTimestamp.Compare(other.CreationTimestamp.Time), cmp.Compare(e.Name, other.Name)) < 0
}
