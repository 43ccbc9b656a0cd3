// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/netip"
	"strconv"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/antrea-oncache/antrea/test/policy"
)

// Controller and agents hear of Namespaces, Pods and policies, and of policies and groups, in streams that do not wait for each
// other. A marker goes through all of them: its policy has its rules when everything before it in any stream has been taken
// into account.

const (
	markerNamespace = "marker"
	markerLabel     = "marker"
	settleTimeout   = 30 * time.Second
)

// markerPods are on each Node; nobody sends them anything.
var markerPods = []*policy.Pod{
	{Namespace: markerNamespace, Name: "marker-1", Node: "node-1", IPv4: netip.MustParseAddr("10.10.1.250"), IPv6: netip.MustParseAddr("fd00:10:1::fa")},
	{Namespace: markerNamespace, Name: "marker-2", Node: "node-2", IPv4: netip.MustParseAddr("10.10.2.250"), IPv6: netip.MustParseAddr("fd00:10:2::fa")},
}

func markerName(n int) string { return fmt.Sprint("marker-", n) }

// settle returns when all that the API shows is realized on all Nodes.
func (c *cluster) settle(ctx context.Context) error {
	if err := c.setMarker(ctx); err != nil {
		return err
	}
	for node, a := range c.agents {
		err := wait.PollUntilContextTimeout(ctx, time.Millisecond, settleTimeout, true, func(context.Context) (bool, error) {
			rules, _ := a.RulesOfSource(markerNamespace, markerName(c.marks))
			addresses := 2 * len(markerPods)
			return len(rules) == 1 && len(rules[0].AppliedTo) == 1 && len(rules[0].Peers) == addresses, nil
		})
		if err != nil {
			rules, known := a.RulesOfSource(markerNamespace, markerName(c.marks))
			return fmt.Errorf("changes are not realized on %s after %s (the last policy is known: %t, its rules are %+v): %w", node, settleTimeout, known, rules, err)
		}
	}
	return nil
}

// setMarker replaces the marker by the next one: a policy that is about Pods with a label which they get now, too.
func (c *cluster) setMarker(ctx context.Context) error {
	policies := c.api.NetworkingV1().NetworkPolicies(markerNamespace)
	if c.marks > 0 {
		if err := policies.Delete(ctx, markerName(c.marks), metav1.DeleteOptions{}); err != nil {
			return err
		}
	}
	c.marks++
	labels := map[string]string{markerLabel: strconv.Itoa(c.marks)}
	if _, err := c.api.CoreV1().Namespaces().Update(ctx, namespaceObject(markerNamespace, labels), metav1.UpdateOptions{}); err != nil {
		return err
	}
	for _, pod := range markerPods {
		labelled := *pod
		labelled.Labels = labels
		if _, err := c.api.CoreV1().Pods(pod.Namespace).Update(ctx, labelled.Object(), metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	selector := metav1.LabelSelector{MatchLabels: labels}
	marker := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: markerNamespace, Name: markerName(c.marks), UID: types.UID(markerName(c.marks))}}
	marker.Spec = networkingv1.NetworkPolicySpec{
		PodSelector: selector, PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
		Ingress: []networkingv1.NetworkPolicyIngressRule{{
			From: []networkingv1.NetworkPolicyPeer{{NamespaceSelector: &selector, PodSelector: &selector}},
		}},
	}
	_, err := policies.Create(ctx, marker, metav1.CreateOptions{})
	return err
}
