// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package nodelock

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// lockEnv makes this test program a process that takes the lock, says so, and ends when it is killed.
const lockEnv = "ANTREA_TEST_LOCK"

// startHolder starts another process that holds the lock.
func startHolder(t *testing.T, path string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestLockOfAnotherProcess$")
	cmd.Env = append(os.Environ(), lockEnv+"="+path, "POD_NAME=antrea-agent-x", "POD_NAMESPACE=kube-system")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "locked\n", line)
	return cmd
}

func TestLockOfAnotherProcess(t *testing.T) {
	if path := os.Getenv(lockEnv); path != "" {
		unlock, err := Lock(t.Context(), path)
		require.NoError(t, err)
		defer unlock()
		fmt.Println("locked")
		select {}
	}
	path := filepath.Join(t.TempDir(), "antrea", "antrea-agent.lock")
	other := startHolder(t, path)
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		_, err := Lock(t.Context(), path)
		require.EqualError(t, err, fmt.Sprintf("another antrea-agent runs on this Node: lock file %s is held by process %d of Pod kube-system/antrea-agent-x; want one agent per Node",
			path, other.Process.Pid))
		require.Equal(t, timeout, time.Since(begin))

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = Lock(ctx, path)
		require.ErrorIs(t, err, context.DeadlineExceeded, "an agent that is asked to stop while it waits")
	})

	// One that waits gets the lock when the other process is killed.
	locked := make(chan error, 1)
	go func() {
		unlock, err := Lock(t.Context(), path)
		if err == nil {
			defer unlock()
		}
		locked <- err
	}()
	require.NoError(t, other.Process.Kill())
	require.Error(t, other.Wait(), "killed")
	require.NoError(t, <-locked)
	require.Contains(t, holder(path), fmt.Sprint(os.Getpid()))
}

// TestLockOfRemovedFile: one that waits for a file that is removed meanwhile locks the file that others will find.
func TestLockOfRemovedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "antrea-agent.lock")
	former, err := lock(t.Context(), path)
	require.NoError(t, err)
	locked := make(chan func(), 1)
	go func() {
		unlock, err := Lock(t.Context(), path)
		if err == nil {
			locked <- unlock
		}
		close(locked)
	}()
	require.Eventually(t, func() bool { return waitersOf(t, former) > 0 }, 10*time.Second, time.Millisecond, "no agent waits")
	require.NoError(t, os.Remove(path))
	require.NoError(t, former.Close())
	unlock := <-locked
	require.NotNil(t, unlock)
	defer unlock()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	require.ErrorIs(t, unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB), unix.EWOULDBLOCK, "the file of that name is free")
}

// waitersOf counts the other descriptors of this process that have the file open.
func waitersOf(t *testing.T, f *os.File) (n int) {
	t.Helper()
	held, err := f.Stat()
	require.NoError(t, err)
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	for _, e := range entries {
		if open, err := os.Stat("/proc/self/fd/" + e.Name()); err == nil && os.SameFile(held, open) {
			n++
		}
	}
	return n - 1
}
