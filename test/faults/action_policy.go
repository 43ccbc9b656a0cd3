// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	networkingv1 "k8s.io/api/networking/v1"
)

// changePolicyElsewhere adds and removes a policy that concerns no flow.
func changePolicyElsewhere(ctx context.Context, w *world, e event) error {
	return w.applyForAMoment(ctx, e, "elsewhere", networkingv1.PolicyTypeEgress)
}

// changePolicyWithoutEffect adds and removes a policy that concerns the servers, and allows what another one allows.
func changePolicyWithoutEffect(ctx context.Context, w *world, e event) error {
	return w.applyForAMoment(ctx, e, "server", networkingv1.PolicyTypeIngress, fromClient())
}

func (w *world) applyForAMoment(ctx context.Context, e event, app string, direction networkingv1.PolicyType, rules ...networkingv1.NetworkPolicyIngressRule) error {
	w.made++
	p := isolating(fmt.Sprintf("%s-%d", app, w.made), app, direction, rules...)
	if err := w.apply(ctx, p, w.Nodes[e.node]); err != nil {
		return err
	}
	return w.remove(ctx, p.Name)
}

// togglePolicy forbids connections to the target, or allows them again.
func togglePolicy(ctx context.Context, w *world, _ event) error {
	const name = "target"
	forbidding := !w.targetForbidden
	if forbidding {
		if err := w.apply(ctx, isolating(name, name, networkingv1.PolicyTypeIngress), w.target.Node); err != nil {
			return err
		}
	} else if err := w.remove(ctx, name); err != nil {
		return err
	}
	w.targetForbidden = forbidding
	return nil
}
