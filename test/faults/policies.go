// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/antrea-oncache/antrea/pkg/agent/apis"
	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
)

func selector(app string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
}

// isolating returns a policy that isolates the Pods of app in one direction, except for what rules allow.
func isolating(name, app string, direction networkingv1.PolicyType, rules ...networkingv1.NetworkPolicyIngressRule) *networkingv1.NetworkPolicy {
	return &networkingv1.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: *selector(app), PolicyTypes: []networkingv1.PolicyType{direction}, Ingress: rules,
		},
	}
}

// fromClient allows what the client does all the time.
func fromClient() networkingv1.NetworkPolicyIngressRule {
	rule := networkingv1.NetworkPolicyIngressRule{From: []networkingv1.NetworkPolicyPeer{{PodSelector: selector("client")}}}
	for _, p := range allowedPorts {
		number := intstr.FromInt32(p.number)
		rule.Ports = append(rule.Ports, networkingv1.NetworkPolicyPort{Protocol: &p.protocol, Port: &number})
	}
	return rule
}

// makePolicies makes the policies that stay.
func (w *world) makePolicies(ctx context.Context) error {
	if err := w.apply(ctx, isolating("servers", "server", networkingv1.PolicyTypeIngress, fromClient()), w.Nodes...); err != nil {
		return err
	}
	return w.apply(ctx, isolating("mute", "mute", networkingv1.PolicyTypeEgress), w.Nodes[0])
}

// apply creates a policy and waits until these Nodes, on which its Pods are, enforce it.
func (w *world) apply(ctx context.Context, p *networkingv1.NetworkPolicy, nodes ...*cluster.Node) error {
	if _, err := w.Client.NetworkingV1().NetworkPolicies(namespace).Create(ctx, p, metav1.CreateOptions{}); err != nil {
		return err
	}
	for _, n := range nodes {
		err := eventually(ctx, fmt.Sprintf("%s to enforce policy %s", n.Name, p.Name), func() error {
			found, err := policyOn(ctx, n, p.Name)
			switch {
			case err != nil:
				return err
			case found == nil:
				return errors.New("the agent does not know it")
			case !found.Enforced:
				return errors.New("it is not enforced yet")
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// remove deletes a policy and waits until the agents do not know it any more.
func (w *world) remove(ctx context.Context, name string) error {
	if err := w.Client.NetworkingV1().NetworkPolicies(namespace).Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		return err
	}
	for _, n := range w.Nodes {
		err := eventually(ctx, fmt.Sprintf("policy %s to be gone from %s", name, n.Name), func() error {
			found, err := policyOn(ctx, n, name)
			if err == nil && found != nil {
				err = errors.New("it is still there")
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// policyOn returns what the agent of a Node says about a policy, nil if it does not know it.
func policyOn(ctx context.Context, n *cluster.Node, name string) (*apis.NetworkPolicy, error) {
	out, err := n.AskAgent(ctx, "/networkpolicies?source="+name+"&namespace="+namespace)
	if err != nil {
		return nil, err
	}
	var found []apis.NetworkPolicy
	if err := json.Unmarshal(out, &found); err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}
