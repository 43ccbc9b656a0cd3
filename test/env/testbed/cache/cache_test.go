// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPopulateFillsOnceAmongConcurrentCallers(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	var fills atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			dir, err := Populate(t.Context(), "tool", "v1", func(dir string) error {
				fills.Add(1)
				return os.WriteFile(filepath.Join(dir, "bin"), []byte("x"), 0o755)
			})
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := os.Stat(filepath.Join(dir, "bin")); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 1, fills.Load())
}

func TestPopulateLeavesNothingWhenFillFails(t *testing.T) {
	base := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", base)
	broken := errors.New("broken")
	_, err := Populate(t.Context(), "tool", "v1", func(dir string) error {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "half"), nil, 0o644))
		return broken
	})
	require.ErrorIs(t, err, broken)
	entries, err := os.ReadDir(filepath.Join(base, "antrea-oncache", "tool"))
	require.NoError(t, err)
	require.Len(t, entries, 1, "only the lock file stays")
	require.Equal(t, "v1.lock", entries[0].Name())
}

func TestPopulateGivesUpWithContext(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Populate(ctx, "tool", "v1", func(string) error {
		cancel()
		_, inner := Populate(ctx, "tool", "v1", func(string) error { return nil })
		return inner
	})
	require.ErrorIs(t, err, context.Canceled)
}

func TestCurrentNamesAMissingTool(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	_, err := Current("kernel")
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorContains(t, err, "kernel")
}

func TestRemoveOthers(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for _, version := range []string{"1", "2", "3"} {
		_, err := Populate(t.Context(), "disk", version, func(string) error { return nil })
		require.NoError(t, err)
	}
	_, err := Populate(t.Context(), "other", "1", func(string) error { return nil })
	require.NoError(t, err)
	require.NoError(t, RemoveOthers("disk", "2"))
	require.Equal(t, []bool{false, true, false, true}, []bool{Has("disk", "1"), Has("disk", "2"), Has("disk", "3"), Has("other", "1")})
}

func TestRemoveOthersLeavesEntriesInUse(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	fill := func(string) error { return nil }
	_, release, err := Use(t.Context(), "disk", "1", fill)
	require.NoError(t, err)
	_, releaseOther, err := Use(t.Context(), "disk", "1", fill)
	require.NoError(t, err, "an entry has many users")
	_, releaseTwo, err := Use(t.Context(), "disk", "2", fill)
	require.NoError(t, err)
	defer releaseTwo()
	release()
	require.NoError(t, RemoveOthers("disk", "2"))
	require.True(t, Has("disk", "1"), "one user is left")
	releaseOther()
	require.NoError(t, RemoveOthers("disk", "2"))
	require.Equal(t, []bool{false, true}, []bool{Has("disk", "1"), Has("disk", "2")})
}
