// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cniserver

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestKeyedLocksExclude(t *testing.T) {
	locks := newKeyedLocks()
	counts := map[string]*int{"a": new(int), "b": new(int)}
	var wg sync.WaitGroup
	for range 50 {
		for key, count := range counts {
			wg.Go(func() {
				unlock, err := locks.lock(t.Context(), key)
				if err == nil {
					*count++
					unlock()
				}
			})
		}
	}
	wg.Wait()
	require.Equal(t, 50, *counts["a"])
	require.Equal(t, 50, *counts["b"])
	require.Empty(t, locks.held, "no memory is kept for free locks")
}

func TestKeyedLocksWaitEndsWithContext(t *testing.T) {
	locks := newKeyedLocks()
	unlock, err := locks.lock(t.Context(), "a")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = locks.lock(ctx, "a")
	require.ErrorIs(t, err, context.Canceled)
	unlock()
	require.Empty(t, locks.held)
}
