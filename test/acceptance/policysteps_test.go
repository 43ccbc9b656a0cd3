// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/test/acceptance/policycases"
)

// networkPolicyDelay is upstream's delay after changes that no status confirms.
var networkPolicyDelay = limit(2 * time.Second)

// run runs the steps of a case, and leaves the bed as it was.
func (b *policyBed) run(t *testing.T, policyCase policycases.Case) {
	t.Cleanup(func() { b.withoutPolicies(t) }) // after the objects have been deleted
	for i, step := range policyCase.Steps {
		begun := time.Now()
		b.change(t, step.Do)
		changed := time.Since(begun)
		b.check(t, step, networkPolicyDelay)
		for _, e := range step.Evaluations {
			b.evaluate(t, e)
		}
		t.Logf("step %d: changes %.1f s, probes %.1f s", i+1, changed.Seconds(), (time.Since(begun) - changed).Seconds())
	}
}

// change makes changes, and then waits for the policies among them.
func (b *policyBed) change(t *testing.T, changes []policycases.Change) {
	t.Helper()
	for _, change := range changes {
		switch {
		case change.Apply != nil:
			b.mustApply(t, *change.Apply)
		case change.Delete != nil:
			b.delete(t.Context(), t, *change.Delete)
		case change.Pod != nil:
			b.add(t, *change.Pod)
		case change.Label != nil:
			b.label(t.Context(), t, *change.Label)
		}
	}
	for _, change := range changes {
		if o := change.Apply; o != nil && o.Kind.HasStatus() {
			b.realized(t, *o)
		}
	}
}

// mustApply applies an object. A policy may be created before the controller has seen its tier.
func (b *policyBed) mustApply(t *testing.T, o policycases.Object) {
	t.Helper()
	eventually(t, networkPolicyDelay, func() error {
		_, err := b.apply(t, o)
		if err != nil && !strings.Contains(err.Error(), "does not exist") {
			require.NoError(t, err, "%s %s", o.Kind, o.Name)
		}
		return err
	})
}

// withoutPolicies waits until no agent has a policy.
func (b *policyBed) withoutPolicies(t *testing.T) {
	deadline := time.Now().Add(policyDelay)
	for _, node := range b.c.nodes {
		for {
			left, err := b.policiesOf(node)
			if err == nil && left == "" {
				break
			}
			if time.Now().After(deadline) {
				require.NoError(t, err)
				require.Empty(t, left, "policies on Node %s, whose objects are deleted", node)
			}
			time.Sleep(pollInterval)
		}
	}
}

// policiesOf returns the policies that the agent of a Node has, without a heading.
func (b *policyBed) policiesOf(node string) (string, error) {
	ctx := context.Background()
	agent, err := b.c.agentPod(ctx, node)
	if err != nil {
		return "", err
	}
	out, stderr, err := b.c.run(ctx, agent, agentContainer, "antctl", "get", "networkpolicy")
	if err != nil {
		return "", fmt.Errorf("antctl get networkpolicy on %s: %w: %s", node, err, stderr)
	}
	_, rows, _ := strings.Cut(strings.TrimSpace(out), "\n")
	return rows, nil
}

// evaluate asks the controller for the rule that decides about two Pods.
func (b *policyBed) evaluate(t *testing.T, e policycases.Evaluation) {
	t.Helper()
	name := func(pod string) string {
		namespace, name, _ := strings.Cut(pod, "/")
		return b.namespaces[namespace] + "/" + name
	}
	list, err := b.c.client.CoreV1().Pods(systemNamespace).List(t.Context(), metav1.ListOptions{LabelSelector: controllerLabels})
	require.NoError(t, err)
	require.Len(t, list.Items, 1)
	eventually(t, networkPolicyDelay, func() error {
		out := b.c.exec(t, &list.Items[0], controller, "antctl", "query", "networkpolicyevaluation", "-S", name(e.From), "-D", name(e.To))
		lines := strings.Split(strings.TrimSpace(out), "\n")
		require.Len(t, lines, 2, out)
		fields := strings.Fields(lines[1])
		if fields[0] != e.Policy || fields[len(fields)-1] != e.Action {
			return fmt.Errorf("networkpolicyevaluation of %s and %s: %s, want policy %s and action %s", e.From, e.To, out, e.Policy, e.Action)
		}
		return nil
	})
}
