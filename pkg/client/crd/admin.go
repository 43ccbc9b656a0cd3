// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/network-policy-api/apis/v1alpha1"
	"sigs.k8s.io/network-policy-api/apis/v1alpha2"
)

// The resources of the Kubernetes network policy API, whose CRDs users install.
var (
	AdminNetworkPolicies         = schema.GroupVersion(v1alpha1.GroupVersion).WithResource("adminnetworkpolicies")
	BaselineAdminNetworkPolicies = schema.GroupVersion(v1alpha1.GroupVersion).WithResource("baselineadminnetworkpolicies")
	K8sClusterNetworkPolicies    = schema.GroupVersion(v1alpha2.GroupVersion).WithResource("clusternetworkpolicies")
)

// AdminPolicies are the informers of policies of the Kubernetes network policy API; nil for a kind that is not followed. Their handlers and stores
// have what Object decodes.
type AdminPolicies struct {
	AdminNetworkPolicies         cache.SharedIndexInformer // of v1alpha1.AdminNetworkPolicy
	BaselineAdminNetworkPolicies cache.SharedIndexInformer // of v1alpha1.BaselineAdminNetworkPolicy
	ClusterNetworkPolicies       cache.SharedIndexInformer // of v1alpha2.ClusterNetworkPolicy
}

// NewAdminPolicies returns informers, which do nothing before Run, for the kinds of v1alpha1, of v1alpha2, or of both.
func NewAdminPolicies(client dynamic.Interface, v1alpha1Kinds, v1alpha2Kinds bool) (*AdminPolicies, error) {
	const advice = "it is in a release of sigs.k8s.io/network-policy-api that has this version"
	p := &AdminPolicies{}
	var errs [3]error
	if v1alpha1Kinds {
		p.AdminNetworkPolicies, errs[0] = decoding(client, AdminNetworkPolicies, "AdminNetworkPolicy", advice, decode[v1alpha1.AdminNetworkPolicy])
		p.BaselineAdminNetworkPolicies, errs[1] = decoding(
			client, BaselineAdminNetworkPolicies, "AdminNetworkPolicy", advice, decode[v1alpha1.BaselineAdminNetworkPolicy])
	}
	if v1alpha2Kinds {
		p.ClusterNetworkPolicies, errs[2] = decoding(client, K8sClusterNetworkPolicies, "ClusterNetworkPolicy", advice, decode[v1alpha2.ClusterNetworkPolicy])
	}
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("watch policies of the Kubernetes network policy API: %w", err)
	}
	return p, nil
}

// Run watches until ctx ends. While a CRD is missing, its informer has not synced.
func (p *AdminPolicies) Run(ctx context.Context) {
	followed := map[schema.GroupVersionResource]cache.SharedIndexInformer{}
	for resource, informer := range map[schema.GroupVersionResource]cache.SharedIndexInformer{
		AdminNetworkPolicies: p.AdminNetworkPolicies, BaselineAdminNetworkPolicies: p.BaselineAdminNetworkPolicies,
		K8sClusterNetworkPolicies: p.ClusterNetworkPolicies,
	} {
		if informer != nil {
			followed[resource] = informer
		}
	}
	runAll(ctx, followed)
}
