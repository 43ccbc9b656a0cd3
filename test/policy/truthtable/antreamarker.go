// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	controller "github.com/antrea-oncache/antrea/pkg/controller/networkpolicy"
	"github.com/antrea-oncache/antrea/test/policy"
)

// markerNode has a label that a new marker changes. It is no Node of the fabric.
var markerNode = &policy.Pod{Node: "marker", IPv4: markerPods[0].IPv4.Prev(), IPv6: markerPods[0].IPv6.Prev()}

// markAntrea puts a marker into the controller's streams of Antrea's objects, Services and Nodes, and waits until all of them have brought it.
// The next marker, in the streams of Kubernetes' policies, is behind everything that came out of these.
func (c *cluster) markAntrea(ctx context.Context) error {
	n, tier := c.marks, int32(240+c.marks%8)
	name := markerName(n)
	here := metav1.ObjectMeta{Name: name, Namespace: markerNamespace, UID: types.UID("antrea-" + name)}
	cluster := metav1.ObjectMeta{Name: name, UID: types.UID("cluster-" + name)}
	labels := map[string]string{markerLabel: fmt.Sprint(n)}
	var admin []*policy.AdminPolicy
	for _, kind := range adminKinds {
		nobody := policy.AdminPods{Namespaces: &metav1.LabelSelector{MatchLabels: map[string]string{"nobody": "has"}}}
		deny := policy.AdminRule{Action: policy.MayDrop, Peers: []policy.AdminPeer{{Pods: &nobody}}}
		admin = append(admin, &policy.AdminPolicy{Kind: kind, Name: name, UID: types.UID(kind + name), Subject: nobody, Ingress: []policy.AdminRule{deny}})
	}
	nodes := v1beta1.NetworkPolicyPeer{NodeSelector: &metav1.LabelSelector{MatchLabels: labels}}
	rule := func(group string, others ...v1beta1.NetworkPolicyPeer) []v1beta1.Rule {
		return []v1beta1.Rule{{Action: ptr.To(v1beta1.RuleActionPass), Name: name, From: append(others, v1beta1.NetworkPolicyPeer{Group: group})}}
	}
	appliedTo := []v1beta1.AppliedTo{{PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"nobody": "has"}}}}
	block := []v1beta1.IPBlock{{CIDR: fmt.Sprintf("198.18.%d.%d/32", n>>8&255, n&255)}}
	marker := &policy.World{
		Tiers:                  []*v1beta1.Tier{{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1beta1.TierSpec{Priority: tier}}},
		ClusterGroups:          []*v1beta1.ClusterGroup{{ObjectMeta: cluster, Spec: v1beta1.GroupSpec{ServiceReference: &v1beta1.NamespacedName{Namespace: markerNamespace, Name: name}}}},
		Groups:                 []*v1beta1.Group{{ObjectMeta: here, Spec: v1beta1.GroupSpec{IPBlocks: block}}},
		ClusterNetworkPolicies: []*v1beta1.ClusterNetworkPolicy{{ObjectMeta: cluster, Spec: v1beta1.NetworkPolicySpec{Tier: name, Priority: 1, AppliedTo: appliedTo, Ingress: rule(name, nodes)}}},
		AntreaNetworkPolicies:  []*v1beta1.NetworkPolicy{{ObjectMeta: here, Spec: v1beta1.NetworkPolicySpec{Priority: 1, AppliedTo: appliedTo, Ingress: rule(name)}}},
		Services:               []*corev1.Service{{ObjectMeta: here, Spec: corev1.ServiceSpec{Selector: map[string]string{markerLabel: fmt.Sprint(n - 1)}}}},
		AdminPolicies:          admin,
		Hosts:                  []*policy.Pod{markerNode}, NodeLabels: map[string]map[string]string{markerNode.Node: labels},
	}
	if err := c.changeAntrea(ctx, c.antreaMarker, marker); err != nil {
		return err
	}
	c.antreaMarker = marker
	var missing string
	err := wait.PollUntilContextTimeout(ctx, time.Millisecond, settleTimeout, true, func(context.Context) (bool, error) {
		missing = c.missingOfMarker(cluster.UID, here.UID, tier)
		for _, p := range admin {
			if c.store.Get(controller.NetworkPolicies, string(p.UID)) == nil {
				missing = "the " + p.Kind
			}
		}
		return missing == "", nil
	})
	if err != nil {
		return fmt.Errorf("antrea-controller has not read everything after %s: %s of %s is missing: %w", settleTimeout, missing, name, err)
	}
	return nil
}

// adminKinds are the kinds of the Kubernetes network policy API.
var adminKinds = []string{policy.AdminKind, policy.BaselineKind, policy.ClusterKind}

// missingOfMarker says which part of a marker the controller has not read.
func (c *cluster) missingOfMarker(cluster, own types.UID, tier int32) string {
	p, _ := c.store.Get(controller.NetworkPolicies, string(cluster)).(*controlplane.NetworkPolicy)
	np, _ := c.store.Get(controller.NetworkPolicies, string(own)).(*controlplane.NetworkPolicy)
	switch {
	case p == nil || len(p.Rules) == 0:
		return "the ClusterNetworkPolicy"
	case np == nil || len(np.Rules) == 0:
		return "the NetworkPolicy"
	case p.TierPriority == nil || *p.TierPriority != tier:
		return "the Tier"
	case len(np.Rules[0].From.IPBlocks) == 0:
		return "the Group"
	}
	pods, nodes := 0, 0
	for _, name := range p.Rules[0].From.AddressGroups {
		group, _ := c.store.Get(controller.AddressGroups, name).(*controlplane.AddressGroup)
		if group == nil {
			continue
		}
		for _, member := range group.GroupMembers {
			if member.Node != nil {
				nodes++
			} else {
				pods++
			}
		}
	}
	switch {
	case pods == 0:
		return "the Service or the ClusterGroup"
	case nodes == 0:
		return "the Node"
	}
	return ""
}
