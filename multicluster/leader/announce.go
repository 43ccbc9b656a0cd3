// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package leader

import (
	"slices"
	"time"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/change"
)

// leaving returns the cluster IDs of members whose announces are being deleted.
func (s *snapshot) leaving() map[string]bool {
	out := map[string]bool{}
	for _, a := range s.announces {
		if a.DeletionTimestamp != nil {
			out[a.ClusterID] = true
		}
	}
	return out
}

// removals deletes the exports of members that leave.
func (s *snapshot) removals(leaving map[string]bool) (changes []change.Change) {
	for _, e := range s.exports {
		if ofMember(e) && leaving[e.Spec.ClusterID] && e.DeletionTimestamp == nil {
			changes = append(changes, change.ToDelete(resourceExports, e))
		}
	}
	return changes
}

// announceChanges holds the announces of members, deletes those that are out of date, and lets one go when the member's exports are gone.
func (c *core) announceChanges(s *snapshot, leaving map[string]bool) (changes []change.Change) {
	exporting := map[string]bool{}
	for _, e := range s.exports {
		exporting[e.Spec.ClusterID] = exporting[e.Spec.ClusterID] || ofMember(e)
	}
	for _, a := range s.announces {
		finalizer := v1alpha1.AnnounceFinalizer(a.ClusterID)
		switch {
		case a.DeletionTimestamp != nil && !exporting[a.ClusterID]:
			changes = append(changes, release(announces, a, finalizer)...)
		case a.DeletionTimestamp != nil:
		case c.isStale(a, s.now):
			changes = append(changes, change.ToDelete(announces, a))
		case !slices.Contains(a.Finalizers, finalizer):
			changes = append(changes, withFinalizers(announces, a, append(slices.Clone(a.Finalizers), finalizer))...)
		}
	}
	return changes
}

// isStale reports whether a member has not announced itself for so long that it is gone for good. One without a time that can be read counts from
// its creation. After an outage of the leader the times of all members are old until they reach it again, so an announce must also have stayed
// as it is while this program ran.
func (c *core) isStale(a *v1alpha1.MemberClusterAnnounce, now time.Time) bool {
	touched, err := time.Parse(time.RFC3339, a.Annotations[v1alpha1.TouchAnnotation])
	if err != nil {
		touched = a.CreationTimestamp.Time
	}
	return now.Sub(touched) > staleAfter && now.Sub(c.heard[a.ClusterID].at) > unheardFor
}
