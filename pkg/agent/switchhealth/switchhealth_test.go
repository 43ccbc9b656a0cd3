// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package switchhealth

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/ovs/ovsctl"
	"github.com/antrea-oncache/antrea/pkg/ovs/ovstest"
)

// An ovs-vswitchd that is stopped, continues and dies.
func TestHungVswitchdIsNoticed(t *testing.T) {
	ovs := ovstest.Start(t)
	pid := func() int {
		text, err := os.ReadFile(filepath.Join(ovs.RunDir, "ovs-vswitchd.pid"))
		require.NoError(t, err)
		n, err := strconv.Atoi(strings.TrimSpace(string(text)))
		require.NoError(t, err)
		return n
	}
	told := make(chan error, 10)
	w := New(ovsctl.NewVswitchd(ovs.RunDir), func(err error) { told <- err })
	w.interval, w.patience = 5*time.Millisecond, 2*time.Second
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { w.Run(ctx); close(done) }()
	next := func() error {
		t.Helper()
		select {
		case err := <-told:
			return err
		case <-time.After(20 * time.Second):
			require.FailNow(t, "nothing was told within 20 s")
			return nil
		}
	}
	hung := pid()
	require.NoError(t, unix.Kill(hung, unix.SIGSTOP))
	require.EqualError(t, next(), "ovs-vswitchd runs, but has not answered for 2s")
	require.Error(t, w.Err())
	require.NoError(t, unix.Kill(hung, unix.SIGCONT))
	require.NoError(t, next())
	require.NoError(t, w.Err())
	ovs.KillVswitchd()
	require.ErrorContains(t, next(), "ovs-vswitchd has not answered for 2s: ")
	ovs.StartVswitchd()
	require.NoError(t, next())
	cancel()
	<-done
}
