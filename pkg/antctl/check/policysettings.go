// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// neededSettings returns the settings that are off by default, and without which the policy does not apply to Nodes or Services that it names.
// ofNodes are the ClusterGroups of Nodes.
func neededSettings(policy *unstructured.Unstructured, ofNodes map[string]bool) (settings []string) {
	var content v1beta1.ClusterNetworkPolicy
	if runtime.DefaultUnstructuredConverter.FromUnstructured(map[string]any{"spec": policy.Object["spec"]}, &content) != nil {
		return nil
	}
	targets := content.Spec.AppliedTo
	for _, rule := range slices.Concat(content.Spec.Ingress, content.Spec.Egress) {
		targets = slices.Concat(targets, rule.AppliedTo)
	}
	clusterWide := policy.GetKind() == v1beta1.ClusterNetworkPolicyKind
	if slices.ContainsFunc(targets, func(t v1beta1.AppliedTo) bool { return t.NodeSelector != nil || clusterWide && ofNodes[t.Group] }) {
		settings = append(settings, "featureGates.NodeNetworkPolicy: true")
	}
	if slices.ContainsFunc(targets, func(t v1beta1.AppliedTo) bool { return t.Service != nil }) {
		settings = append(settings, "antreaProxy.proxyAll: true")
	}
	return settings
}

// groupsOfNodes returns the names of the ClusterGroups that have Nodes, by themselves or through a child.
func groupsOfNodes(groups []unstructured.Unstructured) map[string]bool {
	ofNodes, children := map[string]bool{}, map[string][]v1beta1.ClusterGroupReference{}
	for i := range groups {
		var content v1beta1.ClusterGroup
		if runtime.DefaultUnstructuredConverter.FromUnstructured(map[string]any{"spec": groups[i].Object["spec"]}, &content) == nil {
			name := groups[i].GetName()
			ofNodes[name], children[name] = content.Spec.NodeSelector != nil, content.Spec.ChildGroups
		}
	}
	for parent, names := range children {
		ofNodes[parent] = ofNodes[parent] || slices.ContainsFunc(names, func(child v1beta1.ClusterGroupReference) bool { return ofNodes[string(child)] })
	}
	return ofNodes
}
