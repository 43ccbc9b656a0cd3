// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/antrea-oncache/antrea/pkg/client/kubernetes"
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
		unlock, err := lockNode(t.Context(), path)
		require.NoError(t, err)
		defer unlock()
		fmt.Println("locked")
		select {}
	}
	path := filepath.Join(t.TempDir(), "antrea", "antrea-agent.lock")
	holder := startHolder(t, path)
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		_, err := lockNode(t.Context(), path)
		require.EqualError(t, err, fmt.Sprintf("another antrea-agent runs on this Node: lock file %s is held by process %d of Pod kube-system/antrea-agent-x; want one agent per Node",
			path, holder.Process.Pid))
		require.Equal(t, lockTimeout, time.Since(begin))

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = lockNode(ctx, path)
		require.ErrorIs(t, err, context.DeadlineExceeded, "an agent that is asked to stop while it waits")
	})

	// One that waits gets the lock when the other process is killed.
	locked := make(chan error, 1)
	go func() {
		unlock, err := lockNode(t.Context(), path)
		if err == nil {
			defer unlock()
		}
		locked <- err
	}()
	require.NoError(t, holder.Process.Kill())
	require.Error(t, holder.Wait(), "killed")
	require.NoError(t, <-locked)
	require.Contains(t, lockHolder(path), fmt.Sprint(os.Getpid()))
}

// TestSecondAgentTouchesNothing: an agent that is not alone gives up before it speaks to Open vSwitch and Kubernetes, and before it
// makes any file.
func TestSecondAgentTouchesNothing(t *testing.T) {
	t.Setenv("NODE_NAME", "node1")
	dir, err := os.MkdirTemp("", "lock") // a short path, for the socket
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	ovsdb, err := net.Listen("unix", filepath.Join(dir, "db.sock"))
	require.NoError(t, err)
	var asked atomic.Int32
	go func() {
		for {
			conn, err := ovsdb.Accept()
			if err != nil {
				return
			}
			asked.Add(1)
			conn.Close()
		}
	}()
	defer ovsdb.Close()
	o, err := completeOptions(t, fmt.Sprintf("ovsRunDir: %s\ncniSocket: %s/cni.sock\nfeatureGates: {ONCache: true}\n", dir, dir))
	require.NoError(t, err)
	o.tokenFile, o.policyDir = filepath.Join(dir, "token"), filepath.Join(dir, "networkpolicy")
	unlock, err := lockNode(t.Context(), o.lockFile)
	require.NoError(t, err)
	defer unlock()
	kube := fake.NewClientset()

	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := run(ctx, o, &kubernetes.Clients{Kube: kube, Reviews: kube})
		require.ErrorContains(t, err, o.lockFile)
		require.ErrorContains(t, err, fmt.Sprintf("process %d", os.Getpid()))
	})
	require.Empty(t, kube.Actions())
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1, "only Open vSwitch's socket: %v", entries)
	require.Zero(t, asked.Load(), "connections to Open vSwitch")
}
