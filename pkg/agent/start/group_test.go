// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package start

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestParts: the first part that fails ends the others, and the agent does not wait long for one that does not end.
func TestParts(t *testing.T) {
	failed := errors.New("failed")
	for _, tc := range []struct {
		name  string
		hangs bool
		// saves is the time for which a part stores something after the others have ended.
		saves, took time.Duration
	}{
		{"all end", false, 0, time.Second},
		{"one hangs", true, 0, time.Second + stopTimeout},
		{"one stores something", false, stopTimeout + time.Second, time.Second + stopTimeout + time.Second},
		{"one hangs, another one stores something", true, 2 * stopTimeout, time.Second + 2*stopTimeout},
		{"what is stored takes too long", true, time.Hour, time.Second + saveTimeout},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin, release := time.Now(), make(chan struct{})
				g := newGroup(t.Context())
				ended := make(chan struct{})
				g.start(Part{Run: func(ctx context.Context) { <-ctx.Done(); close(ended) }})
				g.start(Part{Run: func(context.Context) {}}) // a part that returns does not end the others
				if tc.hangs {
					g.start(Part{Run: func(context.Context) { <-release }})
				}
				g.start(Part{Saves: true, Run: func(ctx context.Context) {
					<-ctx.Done()
					select {
					case <-time.After(tc.saves):
					case <-release:
					}
				}})
				g.start(Part{Serve: func(context.Context) error { time.Sleep(time.Second); return failed }})
				require.ErrorIs(t, g.wait(), failed)
				<-ended
				require.Equal(t, tc.took, time.Since(begin))
				close(release)
			})
		})
	}
}
