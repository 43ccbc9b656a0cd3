// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
)

// announce judges a MemberClusterAnnounce: a member writes its own one only. Administrators, and Kubernetes when it deletes the
// Namespace, can delete one. Administrators can also remove the finalizers that hold it then.
func (c Config) announce(r review[v1alpha1.MemberClusterAnnounce]) (string, error) {
	who, refusal := callerOf(r.AdmissionRequest)
	if refusal != "" {
		return refusal, nil
	}
	deletion := r.Operation == admissionv1.Delete
	switch {
	case who.namespace != c.Namespace && deletion:
		return "", nil
	case who == caller{} && released(r):
		return changedAnnounce(r.former, r.wanted, true), nil
	case who == caller{}:
		return fmt.Sprintf("user %q is not a ServiceAccount: a MemberClusterAnnounce is written with a member's token", r.UserInfo.Username), nil
	case who.namespace != c.Namespace:
		return fmt.Sprintf("ServiceAccount %q is not in Namespace %q", r.UserInfo.Username, c.Namespace), nil
	case c.isController(who) && r.Operation != admissionv1.Create:
	default:
		if refusal, err := c.boundAnnounce(r, who); err != nil || refusal != "" {
			return refusal, err
		}
	}
	switch r.Operation {
	case admissionv1.Create:
		if refusal := addedFinalizer(nil, r.wanted.Finalizers, v1alpha1.AnnounceFinalizer(r.wanted.ClusterID)); refusal != "" {
			return refusal, nil
		}
		return c.newAnnounce(r.wanted)
	case admissionv1.Update:
		return changedAnnounce(r.former, r.wanted, c.isController(who)), nil
	default:
		return "", nil
	}
}

// released reports whether an announce that is being deleted loses finalizers and gets no new ones.
func released(r review[v1alpha1.MemberClusterAnnounce]) bool {
	return r.Operation == admissionv1.Update && r.former.DeletionTimestamp != nil && len(r.wanted.Finalizers) < len(r.former.Finalizers) &&
		addedFinalizer(r.former.Finalizers, r.wanted.Finalizers) == ""
}

// boundAnnounce refuses what is not the caller's own.
func (c Config) boundAnnounce(r review[v1alpha1.MemberClusterAnnounce], who caller) (string, error) {
	id, err := c.identityOf(who)
	if err != nil {
		return "", err
	}
	if !id.found {
		if r.Operation == admissionv1.Delete {
			return "", nil
		}
		return fmt.Sprintf("ServiceAccount %q does not exist in Namespace %q", who.name, c.Namespace), nil
	}
	for _, object := range []*v1alpha1.MemberClusterAnnounce{r.wanted, r.former} {
		if object != nil && (!id.bound || id.clusterID == "" || object.ClusterID != id.clusterID) {
			return fmt.Sprintf("ClusterID %q is not permitted for ServiceAccount %q (expected %s annotation to match)",
				object.ClusterID, who.name, v1alpha1.ClusterIDAnnotation), nil
		}
	}
	return "", nil
}

func (c Config) newAnnounce(a *v1alpha1.MemberClusterAnnounce) (string, error) {
	sets, err := c.Objects.ClusterSets()
	if err != nil {
		return "", fmt.Errorf("reading the ClusterSets of Namespace %s: %w", c.Namespace, err)
	}
	if len(sets) == 0 {
		return "no ClusterSet found in Namespace " + c.Namespace, nil
	}
	set, name := sets[0], v1alpha1.AnnounceName(a.ClusterID)
	switch {
	case set.Name != a.ClusterSetID:
		return "Unknown ClusterSet ID", nil
	case len(set.Spec.Leaders) == 0 || set.Spec.Leaders[0].ClusterID != a.LeaderClusterID:
		return "Leader cluster ID in the MemberClusterAnnounce does not match that in the ClusterSet", nil
	case a.Name != name:
		return fmt.Sprintf("MemberClusterAnnounce name must be %q", name), nil
	}
	if refusal := checkID("clusterID", a.ClusterID); refusal != "" {
		return refusal, nil
	}
	others, err := c.Objects.Announces()
	if err != nil {
		return "", fmt.Errorf("reading the MemberClusterAnnounces of Namespace %s: %w", c.Namespace, err)
	}
	for _, other := range others {
		if dashPrefix(a.ClusterID, other.ClusterID) {
			return fmt.Sprintf("ClusterID %q conflicts with member %q: one is the beginning of the other, followed by a dash; choose another ID", a.ClusterID, other.ClusterID), nil
		}
	}
	return "", nil
}

func changedAnnounce(former, wanted *v1alpha1.MemberClusterAnnounce, byController bool) string {
	finalizer := v1alpha1.AnnounceFinalizer(former.ClusterID)
	switch {
	case wanted.ClusterSetID != former.ClusterSetID || wanted.LeaderClusterID != former.LeaderClusterID:
		return "ClusterSet ID or Leader Cluster ID cannot be changed"
	case wanted.ClusterID != former.ClusterID:
		return "ClusterID cannot be changed"
	case !byController && slices.Contains(former.Finalizers, finalizer) && !slices.Contains(wanted.Finalizers, finalizer):
		// Without it the leader would keep what the member has exported.
		return fmt.Sprintf("the finalizer %s can only be removed by the leader", finalizer)
	case !byController:
		return addedFinalizer(former.Finalizers, wanted.Finalizers, finalizer)
	}
	return ""
}

// addedFinalizer refuses new finalizers other than the known ones: the leader does not remove them, so they would hold the object forever.
func addedFinalizer(former, wanted []string, known ...string) string {
	for _, finalizer := range wanted {
		if !slices.Contains(former, finalizer) && !slices.Contains(known, finalizer) {
			return fmt.Sprintf("Member cluster is not authorized to add the finalizer %.100q; allowed: %s", finalizer, strings.Join(known, ", "))
		}
	}
	return ""
}
