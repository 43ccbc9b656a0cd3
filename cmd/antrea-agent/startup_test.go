// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

type revalidators struct{ rounds int }

func (r *revalidators) WaitRevalidation(context.Context) error { r.rounds++; return nil }

// A policy is not enforced while the kernel has the flows of a former ovs-vswitchd.
func TestNothingIsEnforcedBeforeForwardingBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun, vswitchd := make(chan struct{}), &revalidators{}
		f := &forwarding{begun, vswitchd}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		wait := func() { done <- f.WaitRevalidation(ctx) }
		go wait()
		synctest.Wait()
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
		require.Zero(t, vswitchd.rounds)

		ctx = t.Context()
		go wait()
		synctest.Wait()
		require.Zero(t, vswitchd.rounds)
		close(begun)
		require.NoError(t, <-done)
		require.Equal(t, 1, vswitchd.rounds)
	})
}
