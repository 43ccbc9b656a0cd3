// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package proc

import (
	"bytes"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestStopEndsTheWholeGroup(t *testing.T) {
	var out bytes.Buffer
	cmd := exec.Command("sh", "-c", "sleep 1000 & echo $!; wait")
	read, err := cmd.StdoutPipe()
	require.NoError(t, err)
	p, err := Start(cmd)
	require.NoError(t, err)
	line := make([]byte, 32)
	n, err := read.Read(line)
	require.NoError(t, err)
	out.Write(line[:n])
	grandchild, err := strconv.Atoi(strings.TrimSpace(out.String()))
	require.NoError(t, err)

	require.NoError(t, p.Stop(time.Minute))
	require.Equal(t, 128+int(syscall.SIGTERM), p.ExitCode())
	require.Eventually(t, func() bool { return gone(grandchild) }, time.Minute, 10*time.Millisecond)
}

// gone reports whether no process has this id, or only one that its parent has not waited for yet.
func gone(pid int) bool {
	out, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	return err != nil || strings.HasPrefix(string(out), "Z")
}

func TestStopKillsAChildThatIgnoresSIGTERM(t *testing.T) {
	cmd := exec.Command("sh", "-c", "trap '' TERM; echo ready; while :; do sleep 1000; done")
	read, err := cmd.StdoutPipe()
	require.NoError(t, err)
	p, err := Start(cmd)
	require.NoError(t, err)
	_, err = read.Read(make([]byte, 16))
	require.NoError(t, err)
	require.ErrorContains(t, p.Stop(50*time.Millisecond), "was killed")
	require.Equal(t, 128+int(syscall.SIGKILL), p.ExitCode())
}

func TestExitCode(t *testing.T) {
	p, err := Start(exec.Command("sh", "-c", "exit 7"))
	require.NoError(t, err)
	require.Equal(t, 7, p.ExitCode())
	require.Error(t, p.Err())
	require.NoError(t, p.Stop(time.Second), "stopping an ended child")
}

func TestEndOfAThreadKillsItsChildren(t *testing.T) {
	thread := NewThread()
	p, err := StartOn(thread, exec.Command("sleep", "1000"))
	require.NoError(t, err)
	thread.Close()
	require.Equal(t, 128+int(syscall.SIGKILL), p.ExitCode())
	require.ErrorIs(t, thread.Do(func() error { return nil }), ErrThreadEnded)
}

func TestThreadIsNeverTheMainOne(t *testing.T) {
	for range 20 {
		thread := NewThread()
		defer thread.Close()
		require.NotEqual(t, syscall.Getpid(), thread.ID())
	}
}
