// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/test/policy"
)

// Connections that continue although policies forbid them are noticed, and connections that end without a reason.
func TestFindsConnectionsThatAreNotCut(t *testing.T) {
	generator := policy.NewGenerator(rand.New(rand.NewPCG(3, 0)))
	free := generator.Next()
	free.Policies = nil
	closed := *free
	closed.Policies = []*networkingv1.NetworkPolicy{{
		ObjectMeta: metav1.ObjectMeta{Namespace: free.Pods[0].Namespace, Name: "closed", UID: "closed"},
		Spec:       networkingv1.NetworkPolicySpec{PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress}},
	}}
	c, f, err := start(t.Context(), t, free)
	require.NoError(t, err)
	require.Empty(t, check(t, c, f, free, generator.Probes(free)))

	e := &established{patience: time.Millisecond, r: &result{}}
	e.open(f)
	require.NotEmpty(t, e.trials)
	wrongIn := func(world *policy.World) []*trial {
		wrong, err := e.check(t.Context(), c, f, world)
		require.NoError(t, err)
		return wrong
	}
	require.Empty(t, wrongIn(free))
	wrong := wrongIn(&closed)
	require.Len(t, wrong, e.r.ended)
	require.NotEmpty(t, wrong)
	require.Less(t, len(wrong), len(e.trials), "the other Namespaces have no policy")
	for _, w := range wrong {
		require.True(t, w.continues, "%v", w)
	}

	e.patience = cutTimeout
	require.NoError(t, c.change(t.Context(), free, &closed))
	require.NoError(t, c.settle(t.Context(), f))
	require.Empty(t, wrongIn(&closed))
	e.patience = time.Millisecond
	require.Len(t, wrongIn(free), len(wrong), "these have ended, and should not")
}
