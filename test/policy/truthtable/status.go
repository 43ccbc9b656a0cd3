// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/test/policy"
)

// statusTimeout is the time within which a policy must be reported as realized. Upstream's tests want it within 5 seconds, on machines of their own.
const statusTimeout = 20 * time.Second

// report gives antrea-controller what an agent says about a policy. It ignores a policy that is gone.
func (c *cluster) report(_ context.Context, status *v1beta2.NetworkPolicyStatus) error {
	var nodes []controlplane.NetworkPolicyNodeStatus
	for _, n := range status.Nodes {
		nodes = append(nodes, controlplane.NetworkPolicyNodeStatus(n))
	}
	c.store.Report(status.Name, nodes)
	return nil
}

// checkStatuses waits until the status of each policy says that its present version is realized or, if it cannot be, that it is not realizable.
func (c *cluster) checkStatuses(ctx context.Context, world *policy.World) error {
	// Groups may also have the Pods of markers.
	whole := *world
	whole.Pods, whole.Namespaces = slices.Concat(world.Pods, markerPods), maps.Clone(world.Namespaces)
	whole.Namespaces[markerNamespace] = nil
	var wrong string
	err := wait.PollUntilContextTimeout(ctx, time.Millisecond, statusTimeout, true, func(context.Context) (bool, error) {
		wrong = c.wrongStatus(&whole)
		return wrong == "", nil
	})
	if err != nil {
		return fmt.Errorf("after %s %s: %w", statusTimeout, wrong, err)
	}
	return nil
}

// wrongStatus describes a wrong status.
func (c *cluster) wrongStatus(world *policy.World) string {
	for _, p := range world.ClusterNetworkPolicies {
		if world.IsOfNodes(&p.Spec) || policy.IsOfServices(&p.Spec) {
			continue // The gate of the ones for Nodes is off, and one of the Nodes has no agent.
		}
		if wrong := c.wrongStatusOf(&p.ObjectMeta, world.Damaged[p.UID] == 0 && world.Realizable("", &p.Spec)); wrong != "" {
			return wrong
		}
	}
	for _, p := range world.AntreaNetworkPolicies {
		if wrong := c.wrongStatusOf(&p.ObjectMeta, world.Damaged[p.UID] == 0 && world.Realizable(p.Namespace, &p.Spec)); wrong != "" {
			return wrong
		}
	}
	return ""
}

func (c *cluster) wrongStatusOf(meta *metav1.ObjectMeta, realizable bool) string {
	wantPhase, wantCondition := v1beta1.NetworkPolicyRealized, metav1.ConditionTrue
	if !realizable {
		wantPhase, wantCondition = v1beta1.NetworkPolicyPending, metav1.ConditionFalse
	}
	status, found := c.store.PolicyStatus(types.NamespacedName{Namespace: meta.Namespace, Name: meta.Name})
	if found && status.ObservedGeneration == meta.Generation && status.Phase == wantPhase && status.Conditions[0].Status == wantCondition {
		return ""
	}
	return fmt.Sprintf("the status of policy %q, generation %d, is %+v; want phase %s, Realizable %s", meta.Namespace+"/"+meta.Name, meta.Generation, status, wantPhase, wantCondition)
}
