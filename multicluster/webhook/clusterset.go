// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"fmt"
	"net/url"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha2"
)

// leaderSet judges a ClusterSet of a leader, which cannot be deleted while it has members.
func (c Config) leaderSet(r review[v1alpha2.ClusterSet]) (string, error) {
	if r.Operation != admissionv1.Delete {
		return c.set(r)
	}
	announces, err := c.Objects.Announces()
	if err != nil {
		return "", fmt.Errorf("failed to check existing MemberClusterAnnounce before deleting the ClusterSet %s/%s: %w", r.Namespace, r.Name, err)
	}
	if len(announces) > 0 {
		return fmt.Sprintf("failed to delete the ClusterSet %s/%s since there are still member clusters connecting to this leader cluster", r.Namespace, r.Name), nil
	}
	return "", nil
}

// memberSet judges a ClusterSet of a member, whose controller sends a token to the server that it names.
func (c Config) memberSet(r review[v1alpha2.ClusterSet]) (string, error) {
	if r.Operation == admissionv1.Delete {
		return "", nil
	}
	refusal, err := c.set(r)
	if err != nil || refusal != "" {
		return refusal, err
	}
	server := r.wanted.Spec.Leaders[0].Server
	if u, err := url.Parse(server); err != nil || u.Scheme != "https" || u.Host == "" {
		return fmt.Sprintf("spec.leaders[0].server is %q; want the URL of the leader's Kubernetes API, such as https://192.0.2.1:6443", server), nil
	}
	return "", nil
}

func (c Config) set(r review[v1alpha2.ClusterSet]) (string, error) {
	if n := len(r.wanted.Spec.Leaders); n != 1 {
		return fmt.Sprintf("spec.leaders has %d leaders; want one", n), nil
	}
	if r.former != nil {
		return changedSet(&r.former.Spec, &r.wanted.Spec), nil
	}
	sets, err := c.Objects.ClusterSets()
	if err != nil {
		return "", fmt.Errorf("reading the ClusterSets of Namespace %s: %w", c.Namespace, err)
	}
	if len(sets) > 0 {
		return "multiple ClusterSets in a Namespace are not allowed", nil
	}
	return first(checkID("spec.clusterID", r.wanted.Spec.ClusterID), checkID("spec.leaders[0].clusterID", r.wanted.Spec.Leaders[0].ClusterID)), nil
}

// changedSet refuses other IDs. ClusterSets from before Antrea v1.13 have none, which can be filled in.
func changedSet(former, wanted *v1alpha2.ClusterSetSpec) string {
	if former.ClusterID != "" && former.ClusterID != wanted.ClusterID {
		return "the field 'clusterID' is immutable"
	}
	if len(former.Leaders) > 0 && former.Leaders[0].ClusterID != wanted.Leaders[0].ClusterID {
		return "the field 'clusterID' of the leader is immutable"
	}
	return ""
}
