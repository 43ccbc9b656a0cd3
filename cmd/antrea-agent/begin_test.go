// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/rewriteport"
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
				c := &onCache{announcer: rewriteport.NewAnnouncer(fake.NewClientset(), "node1"), prepared: make(chan struct{}), start: func(ctx context.Context) error {
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

// TestControllersWaitForAQuickStart: they run after the cache has started, unless that takes long, and a failure ends the agent either way.
func TestControllersWaitForAQuickStart(t *testing.T) {
	former := formerCache
	defer func() { formerCache = former }()
	formerCache.Suspend = func() error { return nil }
	failure := errors.New("its programs cannot be removed")
	for name, tc := range map[string]struct {
		takes, waited time.Duration
		err           error
		// stop is when the agent is stopped, if it is.
		stop time.Duration
	}{
		"quick":               {takes: time.Second, waited: time.Second},
		"slow":                {takes: time.Minute, waited: startPatience},
		"the agent stops":     {takes: time.Minute, stop: time.Second, waited: time.Second},
		"fails":               {takes: time.Second, waited: time.Second, err: failure},
		"fails after a while": {takes: time.Minute, waited: startPatience, err: failure},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				forwards := make(chan struct{})
				close(forwards)
				c := &onCache{announcer: rewriteport.NewAnnouncer(fake.NewClientset(), "node1"), prepared: make(chan struct{}), start: func(context.Context) error {
					time.Sleep(tc.takes)
					return tc.err
				}}
				if tc.stop > 0 {
					time.AfterFunc(tc.stop, stop)
				}
				p, begun := newParts(ctx), time.Now()
				require.NoError(t, c.begin(p, forwards, func(context.Context) error { return nil }))
				require.Equal(t, tc.waited, time.Since(begun))
				if tc.err != nil {
					require.ErrorIs(t, p.wait(), failure)
					require.Equal(t, tc.takes, time.Since(begun))
					return
				}
				time.Sleep(tc.takes)
				require.Equal(t, tc.stop > 0, p.ctx.Err() != nil)
			})
		})
	}
}
