// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func serve(t *testing.T) Endpoint {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := NewServer("secret")
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	t.Cleanup(func() {
		require.NoError(t, l.Close())
		server.Close()
		require.NoError(t, <-served)
	})
	return Endpoint{Address: l.Addr().String(), Secret: "secret"}
}

func TestRun(t *testing.T) {
	big := strings.Repeat("0123456789abcdef", 1<<17) // 2 MiB, more than one frame
	for _, tc := range []struct {
		name           string
		args           []string
		env            []string
		stdin          io.Reader
		stdout, stderr string
		code           int
	}{
		{name: "separate streams", args: []string{"sh", "-c", "echo out; echo err >&2"}, stdout: "out\n", stderr: "err\n"},
		{name: "exit code", args: []string{"sh", "-c", "exit 42"}, code: 42},
		{name: "killed by a signal", args: []string{"sh", "-c", "kill -9 $$"}, code: 137},
		{name: "environment", args: []string{"sh", "-c", "echo $X"}, env: []string{"X=y"}, stdout: "y\n"},
		{name: "large input and output", args: []string{"cat"}, stdin: strings.NewReader(big), stdout: big},
		{name: "command that does not read its input", args: []string{"true"}, stdin: strings.NewReader(big)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			code, err := Run(t.Context(), serve(t), Command{
				Args: tc.args, Env: tc.env, Stdin: tc.stdin, Stdout: &stdout, Stderr: &stderr,
			})
			require.NoError(t, err)
			require.Equal(t, tc.code, code)
			require.True(t, tc.stdout == stdout.String(), "stdout has %d bytes, want %d", stdout.Len(), len(tc.stdout))
			require.Equal(t, tc.stderr, stderr.String())
		})
	}
}

func TestRunWorkingDirectory(t *testing.T) {
	dir := t.TempDir()
	var stdout bytes.Buffer
	_, err := Run(t.Context(), serve(t), Command{Args: []string{"pwd"}, Dir: dir, Stdout: &stdout})
	require.NoError(t, err)
	require.Equal(t, dir+"\n", stdout.String())
}

func TestRunTerminal(t *testing.T) {
	var stdout bytes.Buffer
	code, err := Run(t.Context(), serve(t), Command{
		Args: []string{"sh", "-c", "test -t 0 && stty size"}, Env: os.Environ(), Stdout: &stdout, TTY: &Size{Rows: 33, Cols: 99},
	})
	require.NoError(t, err)
	require.Zero(t, code)
	require.Equal(t, "33 99\r\n", stdout.String())
}

func TestRunResize(t *testing.T) {
	sizes := make(chan Size, 1)
	sizes <- Size{Rows: 50, Cols: 70}
	var stdout bytes.Buffer
	code, err := Run(t.Context(), serve(t), Command{
		Args: []string{"sh", "-c", `until [ "$(stty size)" = "50 70" ]; do sleep 0.01; done`},
		Env:  os.Environ(), Stdout: &stdout, TTY: &Size{Rows: 1, Cols: 1}, Resize: sizes,
	})
	require.NoError(t, err)
	require.Zero(t, code)
}

func TestRunErrors(t *testing.T) {
	t.Run("wrong secret", func(t *testing.T) {
		to := serve(t)
		to.Secret = "guess"
		_, err := Run(t.Context(), to, Command{Args: []string{"true"}})
		require.ErrorContains(t, err, "wrong secret")
	})
	t.Run("program that does not exist", func(t *testing.T) {
		_, err := Run(t.Context(), serve(t), Command{Args: []string{"no-such-program"}})
		require.ErrorContains(t, err, "no-such-program")
	})
	t.Run("no program", func(t *testing.T) {
		_, err := Run(t.Context(), serve(t), Command{})
		require.ErrorContains(t, err, "no command given")
	})
}

func TestCancelSendsSIGTERMAndLetsTheCommandCleanUp(t *testing.T) {
	dir := t.TempDir()
	ready, cleaned := filepath.Join(dir, "ready"), filepath.Join(dir, "cleaned")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(ready); err == nil {
				cancel()
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	script := "trap 'touch " + cleaned + "; exit 0' TERM; touch " + ready + "; while :; do sleep 0.01; done"
	_, err := Run(ctx, serve(t), Command{Args: []string{"sh", "-c", script}, Env: os.Environ()})
	require.ErrorIs(t, err, context.Canceled)
	require.FileExists(t, cleaned)
}

func TestCancelReachesACommandThatDoesNotReadItsInput(t *testing.T) {
	ready := filepath.Join(t.TempDir(), "ready")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(ready); err == nil {
				cancel()
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	_, err := Run(ctx, serve(t), Command{
		Args: []string{"sh", "-c", "touch " + ready + "; exec sleep 1000"}, Env: os.Environ(), Stdin: zeros{},
	})
	require.ErrorIs(t, err, context.Canceled)
}

// zeros is an endless input, given in pieces so small that the queue stays small.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	time.Sleep(time.Millisecond)
	return copy(p, make([]byte, 4096)), nil
}

func TestLostClientEndsTheCommand(t *testing.T) {
	to := serve(t)
	dir := t.TempDir()
	ready, cleaned := filepath.Join(dir, "ready"), filepath.Join(dir, "cleaned")
	conn, err := net.Dial("tcp", to.Address)
	require.NoError(t, err)
	out := &frameWriter{w: conn}
	script := "trap 'touch " + cleaned + "; exit 0' TERM; touch " + ready + "; while :; do sleep 0.01; done"
	require.NoError(t, out.writeJSON(frameRequest, request{Secret: to.Secret, Args: []string{"sh", "-c", script}, Env: os.Environ()}))
	require.Eventually(t, func() bool { _, err := os.Stat(ready); return err == nil }, time.Minute, 5*time.Millisecond)
	require.NoError(t, conn.Close())
	require.Eventually(t, func() bool { _, err := os.Stat(cleaned); return err == nil }, time.Minute, 5*time.Millisecond)
}
