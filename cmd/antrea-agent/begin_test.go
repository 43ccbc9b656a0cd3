// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/kubernetes/fake"
)

// TestControllersDoNotWaitForKeys: the cache starts while an earlier agent's keys end, and so do the controllers soon, after its programs have
// stopped.
func TestControllersDoNotWaitForKeys(t *testing.T) {
	former := formerCache
	defer func() { formerCache = former }()
	for name, forwards := range map[string]bool{"Open vSwitch forwards": true, "Open vSwitch waits for flows": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				suspended, started, stopped, open := false, false, false, make(chan struct{})
				formerCache.Suspend = func() error { suspended = true; return nil }
				c := &onCache{announcer: newAnnouncer(fake.NewClientset(), "node1"), prepared: make(chan struct{}), start: func(ctx context.Context) error {
					started = true
					<-ctx.Done() // keys end much later
					stopped = true
					return nil
				}}
				if forwards {
					close(open)
				}
				p := newParts(ctx)
				require.NoError(t, c.begin(p, open, func(context.Context) error { return nil }))
				require.Equal(t, forwards, suspended, "before controllers change flows")
				<-c.prepared
				if !forwards {
					synctest.Wait()
					require.False(t, suspended || started)
					close(open)
				}
				synctest.Wait()
				require.True(t, suspended && started)
				stop()
				synctest.Wait()
				require.True(t, stopped)
			})
		})
	}
}
