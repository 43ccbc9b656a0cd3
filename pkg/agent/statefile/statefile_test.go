// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package statefile

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReplace(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "below")
	file := filepath.Join(dir, "state")
	require.NoError(t, Replace(file, []byte("one")))
	require.NoError(t, os.WriteFile(file+TemporarySuffix, []byte("left by an agent that was killed, longer than the next"), 0o600))
	require.NoError(t, Replace(file, []byte("two")))
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "two", string(content))
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
	requireNames(t, dir, "state")
}

func TestReplaceFails(t *testing.T) {
	dir := t.TempDir()
	for _, what := range []string{"temporary file", "rename"} {
		t.Run(what, func(t *testing.T) {
			file := filepath.Join(dir, "state "+what)
			switch what {
			case "temporary file":
				require.NoError(t, os.WriteFile(file, []byte("former"), 0o600))
				require.NoError(t, os.MkdirAll(filepath.Join(file+TemporarySuffix, "in the way"), 0o700))
				require.Error(t, Replace(file, []byte("new")))
				content, err := os.ReadFile(file)
				require.NoError(t, err)
				require.Equal(t, "former", string(content))
			case "rename":
				require.NoError(t, os.MkdirAll(filepath.Join(file, "in the way"), 0o700))
				require.Error(t, Replace(file, []byte("new")))
				require.NoFileExists(t, file+TemporarySuffix)
			}
		})
	}
}

func requireNames(t *testing.T, dir string, want ...string) {
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	require.Equal(t, want, names)
}
