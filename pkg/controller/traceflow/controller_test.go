// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package traceflow

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
)

// A trace begins when this controller serves, and ends when its result is complete.
func TestController(t *testing.T) {
	object := crd.New(v1beta1.TraceflowKind, "tf")
	require.NoError(t, crd.Fill(object, valid("tf")))
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{crd.Traceflows: v1beta1.TraceflowKind + "List"}, object)
	var serves atomic.Bool
	asked := make(chan struct{}, 1)
	c, err := New(client, podsOf, func() error {
		select {
		case asked <- struct{}{}:
		default:
		}
		if !serves.Load() {
			return errors.New("another one serves")
		}
		return nil
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); c.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	read := func() *v1beta1.Traceflow {
		current, err := client.Resource(crd.Traceflows).Get(t.Context(), "tf", metav1.GetOptions{})
		require.NoError(t, err)
		trace, err := crd.Read[v1beta1.Traceflow](current)
		require.NoError(t, err)
		return trace
	}
	await := func(phase v1beta1.TraceflowPhase) *v1beta1.Traceflow {
		t.Helper()
		require.Eventually(t, func() bool { return read().Status.Phase == phase }, 60*time.Second, 10*time.Millisecond, "phase %s", phase)
		return read()
	}
	<-asked
	<-asked // the second time, what followed from the first answer is done
	require.Empty(t, read().Status.Phase)
	serves.Store(true)
	trace := await(v1beta1.TraceflowRunning)
	require.Equal(t, int8(2), trace.Status.DataplaneTag)
	trace.Status.Results = []v1beta1.NodeResult{result(v1beta1.ActionForwarded, v1beta1.ActionDelivered)}
	require.NoError(t, crd.Fill(object, trace))
	_, err = client.Resource(crd.Traceflows).UpdateStatus(t.Context(), object, metav1.UpdateOptions{})
	require.NoError(t, err)
	trace = await(v1beta1.TraceflowSucceeded)
	require.Zero(t, trace.Status.DataplaneTag)
	require.Len(t, trace.Status.Results, 1)
}
