// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package leader

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha2"
	"github.com/antrea-oncache/antrea/multicluster/change"
)

// statusChanges returns what the ClusterSet ought to say about its members.
func (c *core) statusChanges(s *snapshot) []change.Change {
	out := *s.set
	out.Status = v1alpha2.ClusterSetStatus{ObservedGeneration: s.set.Generation}
	former := map[string][]v1alpha2.ClusterSetCondition{}
	for _, status := range s.set.Status.ClusterStatuses {
		former[status.ClusterID] = status.Conditions
	}
	for _, a := range s.announces {
		if a.ClusterSetID != s.set.Name || a.DeletionTimestamp != nil {
			continue
		}
		ready := v1alpha2.ClusterSetCondition{Type: v1alpha2.ClusterSetReady, Status: corev1.ConditionTrue, Message: "Member Connected", Reason: "Connected"}
		if at := c.heard[a.ClusterID].at; s.now.Sub(at) >= timeout {
			ready.Status, ready.Reason = corev1.ConditionFalse, "Disconnected"
			ready.Message = fmt.Sprintf("No MemberClusterAnnounce update after %s", at.UTC().Format("2006-01-02T15:04:05Z"))
		} else {
			out.Status.ReadyClusters++
		}
		out.Status.TotalClusters++
		out.Status.ClusterStatuses = append(out.Status.ClusterStatuses, v1alpha2.ClusterStatus{
			ClusterID: a.ClusterID, Conditions: []v1alpha2.ClusterSetCondition{s.dated(former[a.ClusterID], ready)},
		})
	}
	slices.SortFunc(out.Status.ClusterStatuses, func(a, b v1alpha2.ClusterStatus) int { return cmp.Compare(a.ClusterID, b.ClusterID) })
	all := v1alpha2.ClusterSetCondition{Type: v1alpha2.ClusterSetReady, Status: corev1.ConditionFalse, Reason: "NoReadyCluster"}
	switch out.Status.TotalClusters {
	case 0:
		all.Status, all.Reason, all.Message = corev1.ConditionUnknown, "", "All clusters have an unknown status"
	case out.Status.ReadyClusters:
		all.Status, all.Reason = corev1.ConditionTrue, ""
	}
	out.Status.Conditions = []v1alpha2.ClusterSetCondition{s.dated(s.set.Status.Conditions, all)}
	return change.ToUpdateStatus(clusterSets, s.set, &out)
}

// dated gives a condition the time at which its status became what it is.
func (s *snapshot) dated(former []v1alpha2.ClusterSetCondition, condition v1alpha2.ClusterSetCondition) v1alpha2.ClusterSetCondition {
	condition.LastTransitionTime = metav1.NewTime(s.now)
	for _, f := range former {
		if f.Type == condition.Type && f.Status == condition.Status {
			condition.LastTransitionTime = f.LastTransitionTime
		}
	}
	return condition
}
