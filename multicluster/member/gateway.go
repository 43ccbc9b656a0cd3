// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/change"
)

// candidate returns the Gateway that a Node can be; false if it cannot.
func (s *snapshot) candidate(node *corev1.Node) (*v1alpha1.Gateway, bool) {
	_, annotated := node.Annotations[v1alpha1.GatewayAnnotation]
	if !annotated || node.DeletionTimestamp != nil || !ready(node) || !s.serviceCIDR.IsValid() {
		return nil, false
	}
	internal := address(node, corev1.NodeInternalIP)
	gateway := internal
	if text, ok := node.Annotations[v1alpha1.GatewayIPAnnotation]; ok {
		gateway, _ = netip.ParseAddr(text)
	} else if s.settings.ExternalGatewayIP {
		gateway = address(node, corev1.NodeExternalIP)
	}
	if !gateway.Is4() || !internal.Is4() {
		return nil, false
	}
	return &v1alpha1.Gateway{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: node.Name},
		GatewayIP:  gateway.String(), InternalIP: internal.String(), ServiceCIDR: s.serviceCIDR.String(),
	}, true
}

func ready(node *corev1.Node) bool {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// address returns the first IPv4 address of a type, or an invalid one.
func address(node *corev1.Node, kind corev1.NodeAddressType) netip.Addr {
	for _, a := range node.Status.Addresses {
		if addr, err := netip.ParseAddr(a.Address); err == nil && a.Type == kind && addr.Is4() {
			return addr
		}
	}
	return netip.Addr{}
}

// gatewayChanges keeps the Gateway while its Node can be one. Otherwise the next Node by name becomes the Gateway, after the former one is gone:
// there is one at most. Without a ClusterSet there is none.
func (s *snapshot) gatewayChanges() (changes []change.Change) {
	candidates := map[string]*v1alpha1.Gateway{}
	first := ""
	for _, node := range s.nodes {
		if c, ok := s.candidate(node); ok && s.set != nil {
			candidates[node.Name] = c
			if first == "" {
				first = node.Name
			}
		}
	}
	if s.set != nil && !s.serviceCIDR.IsValid() {
		return nil // Nothing is known about candidates.
	}
	kept, leaving := false, false
	for _, g := range s.gateways {
		want := candidates[g.Name]
		switch {
		case g.DeletionTimestamp != nil:
			leaving = true
		case want == nil || kept:
			changes = append(changes, change.ToDelete(gatewayObjects, g))
			leaving = true
		default:
			kept = true
			changed := *g
			changed.GatewayIP, changed.InternalIP, changed.ServiceCIDR = want.GatewayIP, want.InternalIP, want.ServiceCIDR
			changes = append(changes, change.ToUpdate(gatewayObjects, g, &changed)...)
		}
	}
	if !kept && !leaving && first != "" {
		changes = append(changes, change.ToCreate(gatewayObjects, candidates[first]))
	}
	return changes
}
