// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const daemonEnv = "TESTBED_TEST_DAEMON"

// TestDaemonMayPrint: what a daemon prints after its starter has ended goes to a log, and does not end it.
func TestDaemonMayPrint(t *testing.T) {
	if os.Getenv(daemonEnv) != "" {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		place, err := Claim("kind")
		require.NoError(t, err)
		require.NoError(t, place.Publish(nil))
		require.NoError(t, place.Ready())
		for range 100 { // a pipe takes some lines even when it is no longer read
			fmt.Println("an unread line")
			time.Sleep(time.Millisecond)
		}
		require.NoError(t, os.WriteFile(filepath.Join(place.Dir(), "alive"), nil, 0o600))
		<-ctx.Done()
		require.NoError(t, place.Release())
		return
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv(daemonEnv, "1")
	require.NoError(t, Start(t.Context(), []string{"-test.run=^TestDaemonMayPrint$"}))
	running, err := Read("kind", nil)
	require.NoError(t, err)
	require.Eventually(t, func() bool { _, err := os.Stat(filepath.Join(running.Dir, "alive")); return err == nil }, 20*time.Second, 10*time.Millisecond)
	require.NoError(t, Stop(t.Context(), "kind", 20*time.Second))
	text, err := os.ReadFile(filepath.Join(running.Dir, "logs", "daemon.log"))
	require.NoError(t, err)
	require.Contains(t, string(text), "an unread line")
}
