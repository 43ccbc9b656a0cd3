// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
)

// TestInformerOfAMissingCRD: an informer asks until the CRD is there, without a restart.
func TestInformerOfAMissingCRD(t *testing.T) {
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{Traceflows: "TraceflowList"})
	asked := 0
	client.PrependReactor("list", Traceflows.Resource, func(clienttesting.Action) (bool, runtime.Object, error) {
		asked++
		return asked < 3, nil, apierrors.NewNotFound(Traceflows.GroupResource(), "")
	})
	informer, err := Informer(client, Traceflows)
	require.NoError(t, err)
	done := make(chan struct{})
	stop := make(chan struct{})
	go func() { defer close(done); informer.Run(stop) }()
	require.Eventually(t, informer.HasSynced, 60*time.Second, 10*time.Millisecond)
	close(stop)
	<-done
	require.GreaterOrEqual(t, asked, 3)
}
