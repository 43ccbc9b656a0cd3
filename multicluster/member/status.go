// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha2"
	"github.com/antrea-oncache/antrea/multicluster/change"
)

// mostRefusals is the number of refusals that the status names.
const mostRefusals = 3

// statusChanges returns what the ClusterSet ought to say about the leader, and about what is not imported.
func (s *snapshot) statusChanges(refusals []refusal) []change.Change {
	if s.set == nil || s.set.DeletionTimestamp != nil {
		return nil
	}
	ready := v1alpha2.ClusterSetCondition{Type: v1alpha2.ClusterSetReady, Status: corev1.ConditionFalse, Reason: "Disconnected", Message: "Disconnected from leader"}
	out := *s.set
	out.Status = v1alpha2.ClusterSetStatus{TotalClusters: 1, ObservedGeneration: s.set.Generation}
	if s.connection.up {
		ready.Status, ready.Reason, ready.Message = corev1.ConditionTrue, "Connected", textOf(refusals)
		out.Status.ReadyClusters = 1
	} else if s.connection.message != "" {
		ready.Message += ": " + s.connection.message
	}
	isLeader := v1alpha2.ClusterSetCondition{Type: v1alpha2.ClusterIsLeader, Status: ready.Status}
	former := map[string]v1alpha2.ClusterStatus{}
	for _, c := range s.set.Status.ClusterStatuses {
		former[c.ClusterID] = c
	}
	leader := s.set.Spec.Leaders[0].ClusterID
	out.Status.Conditions = s.dated(s.set.Status.Conditions, ready)
	out.Status.ClusterStatuses = []v1alpha2.ClusterStatus{{ClusterID: leader, Conditions: s.dated(former[leader].Conditions, ready, isLeader)}}
	return change.ToUpdateStatus(clusterSets, s.set, &out)
}

// dated gives conditions the time at which their status became what it is.
func (s *snapshot) dated(former []v1alpha2.ClusterSetCondition, conditions ...v1alpha2.ClusterSetCondition) []v1alpha2.ClusterSetCondition {
	for i := range conditions {
		conditions[i].LastTransitionTime = s.now
		for _, f := range former {
			if f.Type == conditions[i].Type && f.Status == conditions[i].Status {
				conditions[i].LastTransitionTime = f.LastTransitionTime
			}
		}
	}
	return conditions
}

// textOf names the first refusals, of policies before all others: without a policy this cluster allows more than it ought to.
func textOf(refusals []refusal) string {
	rank := func(r refusal) int {
		if r.policy != "" {
			return 0
		}
		return 1
	}
	var texts []string
	for i, r := range slices.SortedStableFunc(slices.Values(refusals), func(a, b refusal) int { return rank(a) - rank(b) }) {
		if i == mostRefusals {
			texts = append(texts, fmt.Sprintf("%d more", len(refusals)-i))
			break
		}
		texts = append(texts, fmt.Sprintf("%.260s: %v", r.object, r.err))
	}
	return cmp.Or(strings.Join(texts, "; "), "Member Connected")
}
