// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"cmp"
	"net/netip"
	"slices"

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

// gatewaysByAge returns the Gateways, the oldest first: of several, agents use the oldest one.
func (s *snapshot) gatewaysByAge() []*v1alpha1.Gateway {
	return slices.SortedStableFunc(slices.Values(s.gateways), func(a, b *v1alpha1.Gateway) int {
		return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
	})
}

// gatewayChanges keeps the Gateway while its Node can be one. Otherwise the next Node by name becomes the Gateway. The former one goes after that:
// the creation may be refused or delayed. Without a ClusterSet there is none.
func (s *snapshot) gatewayChanges() (changes []change.Change) {
	if s.set != nil && !s.serviceCIDR.IsValid() {
		return nil // Nothing is known about candidates.
	}
	candidates := map[string]*v1alpha1.Gateway{}
	first := ""
	for _, node := range s.nodes {
		if c, ok := s.candidate(node); ok && s.set != nil {
			candidates[node.Name] = c
			first = cmp.Or(first, node.Name)
		}
	}
	kept, present := false, map[string]bool{}
	var superseded []change.Change
	for _, g := range s.gatewaysByAge() {
		present[g.Name] = true
		want := candidates[g.Name]
		switch {
		case g.DeletionTimestamp != nil:
		case want == nil || kept:
			superseded = append(superseded, change.ToDelete(gatewayObjects, g))
		default:
			kept = true
			changed := *g
			changed.GatewayIP, changed.InternalIP, changed.ServiceCIDR = want.GatewayIP, want.InternalIP, want.ServiceCIDR
			changes = append(changes, change.ToUpdate(gatewayObjects, g, &changed)...)
		}
	}
	switch {
	case kept || first == "":
		return append(changes, superseded...)
	case !present[first]:
		changes = append(changes, change.ToCreate(gatewayObjects, candidates[first]))
	}
	return changes
}
