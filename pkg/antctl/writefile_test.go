// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package antctl

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWriteFileReplacesFilesOnly: a socket stands for devices, which the test must not harm.
func TestWriteFileReplacesFilesOnly(t *testing.T) {
	t.Chdir(t.TempDir()) // The path of a socket must be short.
	require.NoError(t, os.WriteFile("target", []byte("before"), 0o644))
	require.NoError(t, os.Symlink("target", "link"))
	require.NoError(t, os.Symlink("nowhere", "dangling"))
	require.NoError(t, os.Mkdir("directory", 0o700))
	listener, err := net.Listen("unix", "socket")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	for _, name := range []string{"link", "dangling", "directory", "socket"} {
		before, err := os.Lstat(name)
		require.NoError(t, err)
		require.ErrorContains(t, writeNew(name, []byte("token"), 0o600), name+" exists and is not a regular file", name)
		after, err := os.Lstat(name)
		require.NoError(t, err)
		require.True(t, os.SameFile(before, after), name)
	}
	content, err := os.ReadFile("target")
	require.NoError(t, err)
	require.Equal(t, "before", string(content))
	left, err := filepath.Glob(".*partial*")
	require.NoError(t, err)
	require.Empty(t, left)
}

// TestWriteNewMode: a file that all could read is only the user's once it has a token.
func TestWriteNewMode(t *testing.T) {
	name := filepath.Join(t.TempDir(), "east.yml")
	require.NoError(t, os.WriteFile(name, []byte("before"), 0o644))
	for _, mode := range []os.FileMode{0o600, 0o644, 0o600} {
		require.NoError(t, writeNew(name, []byte("token"), mode))
		info, err := os.Stat(name)
		require.NoError(t, err)
		require.Equal(t, mode, info.Mode())
	}
	content, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, "token", string(content))
}
