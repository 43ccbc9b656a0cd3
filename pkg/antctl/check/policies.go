// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// policies looks for Antrea's policies and groups, for parts of them that this version cannot enforce, and for settings that others need.
func policies(ctx context.Context, client dynamic.Interface, r *Report) {
	const check = "policies"
	found, before := 0, r.warnings
	objects := map[string][]unstructured.Unstructured{}
	for _, resource := range []string{"clusternetworkpolicies", "networkpolicies", "clustergroups", "groups"} {
		list, err := client.Resource(v1beta1.SchemeGroupVersion.WithResource(resource)).List(ctx, metav1.ListOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			r.Warn(check, "%s.%s cannot be read: %v", resource, v1beta1.SchemeGroupVersion.Group, err)
			continue
		}
		found += len(list.Items)
		objects[resource] = list.Items
	}
	ofNodes := groupsOfNodes(objects["clustergroups"])
	for _, resource := range slices.Sorted(maps.Keys(objects)) {
		for i := range objects[resource] {
			checkObject(&objects[resource][i], strings.HasSuffix(resource, "policies"), ofNodes, r)
		}
	}
	switch {
	case found == 0 && r.warnings == before:
		r.OK(check, "none of Antrea's own")
	case r.warnings == before:
		r.OK(check, "%d policies and groups of Antrea are enforced as they are", found)
	}
	adminPolicies(ctx, client, r)
}

// adminPolicies names the gates that the policies of the Kubernetes network policy API need.
func adminPolicies(ctx context.Context, client dynamic.Interface, r *Report) {
	for _, kind := range []struct{ version, resource, gate string }{
		{"v1alpha1", "adminnetworkpolicies", "AdminNetworkPolicy"}, {"v1alpha1", "baselineadminnetworkpolicies", "AdminNetworkPolicy"},
		{"v1alpha2", "clusternetworkpolicies", "ClusterNetworkPolicy"},
	} {
		resource := schema.GroupVersionResource{Group: "policy.networking.k8s.io", Version: kind.version, Resource: kind.resource}
		list, err := client.Resource(resource).List(ctx, metav1.ListOptions{})
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			r.Warn("policies", "%s cannot be read: %v", resource.GroupResource(), err)
		case len(list.Items) > 0:
			r.Warn("policies", "%d %s are only enforced with featureGates.%s: true", len(list.Items), resource.GroupResource(), kind.gate)
		}
	}
}

// checkObject warns of the parts of one object.
func checkObject(object *unstructured.Unstructured, policy bool, ofNodes map[string]bool, r *Report) {
	check := fmt.Sprintf("%s %s", object.GetKind(), nameOf(object))
	parts, err := missingParts(object, policy)
	switch {
	case err != nil:
		r.Warn(check, "it cannot be read: %v", err)
	case len(parts) > 0:
		r.Warn(check, "it has parts that are not enforced, and its status will say so: %s", strings.Join(parts, ", "))
	}
	if refusal := refusalOf(object, policy); err == nil && refusal != "" {
		r.Warn(check, "it is refused when it is applied again: %s", refusal)
	}
	if needed := neededSettings(object, ofNodes); err == nil && policy && len(needed) > 0 {
		r.Warn(check, "it is only enforced with %s", strings.Join(needed, " and "))
	}
}

// missingParts returns the names of the fields of a policy or group that have no effect here.
func missingParts(object *unstructured.Unstructured, policy bool) ([]string, error) {
	parts, spec := map[string]bool{}, map[string]any{"spec": object.Object["spec"]}
	if policy {
		var content v1beta1.ClusterNetworkPolicy
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(spec, &content, true); err != nil {
			return nil, err
		}
		partsOfTargets(parts, content.Spec.AppliedTo)
		for _, rule := range slices.Concat(content.Spec.Ingress, content.Spec.Egress) {
			partsOfRule(parts, rule)
		}
	} else {
		var content v1beta1.ClusterGroup
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(spec, &content, true); err != nil {
			return nil, err
		}
		parts["externalEntitySelector"] = content.Spec.ExternalEntitySelector != nil
	}
	var names []string
	for name, used := range parts {
		if used {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

func partsOfTargets(parts map[string]bool, targets []v1beta1.AppliedTo) {
	for _, target := range targets {
		parts["externalEntitySelector"] = parts["externalEntitySelector"] || target.ExternalEntitySelector != nil
	}
}

func partsOfRule(parts map[string]bool, rule v1beta1.Rule) {
	partsOfTargets(parts, rule.AppliedTo)
	parts["l7Protocols"] = parts["l7Protocols"] || len(rule.L7Protocols) > 0
	for _, protocol := range rule.Protocols {
		parts["igmp"] = parts["igmp"] || protocol.IGMP != nil
	}
	for _, peer := range slices.Concat(rule.From, rule.To) {
		parts["externalEntitySelector"] = parts["externalEntitySelector"] || peer.ExternalEntitySelector != nil
		parts["scope ClusterSet"] = parts["scope ClusterSet"] || peer.Scope == v1beta1.ScopeClusterSet
	}
	for _, service := range rule.ToServices {
		parts["scope ClusterSet"] = parts["scope ClusterSet"] || service.Scope == v1beta1.ScopeClusterSet
	}
}
