// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package generic

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTokenFileNotWritable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	err := WriteToken(filepath.Join(file, "token"), "secret")
	require.Error(t, err)
	require.NotContains(t, err.Error(), "secret")

	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "token"), 0o700))
	require.Error(t, WriteToken(filepath.Join(dir, "token"), "secret"))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1, "no temporary file is left behind")
}
