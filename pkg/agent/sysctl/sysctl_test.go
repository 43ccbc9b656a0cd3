// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package sysctl

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/test/env/sandbox"
)

func TestMain(m *testing.M) { sandbox.Main(m) }

const key = "net/ipv4/ip_forward"

func write(t *testing.T, value string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(root, key), []byte(value), 0))
}

func requireValue(t *testing.T, want string) {
	t.Helper()
	got, err := read(key)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func TestSetAndRestore(t *testing.T) {
	sandbox.RequireRoot(t)
	file := filepath.Join(t.TempDir(), "antrea", "sysctls.json")
	write(t, "0")
	require.NoError(t, NewRecord(file).Set(key, "1"))
	requireValue(t, "1")
	// Another agent, and another program.
	write(t, "0")
	require.NoError(t, NewRecord(file).Set(key, "1"))
	keys, changes, err := NewRecord(file).Changes()
	require.NoError(t, err)
	require.Equal(t, []string{key}, keys)
	require.Equal(t, Change{Former: "0", Set: "1"}, changes[key])
	require.NoError(t, NewRecord(file).Restore(key))
	requireValue(t, "0")
	require.NoError(t, NewRecord(file).Restore(key), "again")
	keys, _, err = NewRecord(file).Changes()
	require.NoError(t, err)
	require.Empty(t, keys)
}

func TestNothingToRestore(t *testing.T) {
	sandbox.RequireRoot(t)
	for _, tc := range []struct {
		name    string
		prepare func(t *testing.T, r *Record)
		want    string
	}{
		{"it was right", func(t *testing.T, r *Record) {
			write(t, "1")
			require.NoError(t, r.Set(key, "1"))
			require.NoFileExists(t, r.file)
		}, "1"},
		{"another program has changed it since", func(t *testing.T, r *Record) {
			write(t, "1")
			require.NoError(t, r.Set(key, "0"))
			write(t, "1")
		}, "1"},
		{"the Node was rebooted", func(t *testing.T, r *Record) {
			write(t, "0")
			require.NoError(t, r.Set(key, "1"))
			text, err := os.ReadFile(r.file)
			require.NoError(t, err)
			boot, err := os.ReadFile(bootFile)
			require.NoError(t, err)
			former := strings.Replace(string(text), strings.TrimSpace(string(boot)), "another", 1)
			require.NoError(t, os.WriteFile(r.file, []byte(former), 0o644))
		}, "1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := NewRecord(filepath.Join(t.TempDir(), "sysctls.json"))
			tc.prepare(t, r)
			keys, _, err := r.Changes()
			require.NoError(t, err)
			require.Empty(t, keys)
			require.NoError(t, r.Restore(key))
			requireValue(t, tc.want)
		})
	}
}

// TestDamagedRecord: the agent continues, and Changes, for the cleanup, says that something is not known.
func TestDamagedRecord(t *testing.T) {
	sandbox.RequireRoot(t)
	write(t, "0")
	r := NewRecord(filepath.Join(t.TempDir(), "sysctls.json"))
	require.NoError(t, os.WriteFile(r.file, []byte("{"), 0o644))
	_, _, err := r.Changes()
	require.ErrorContains(t, err, r.file+", the record of changed sysctls, is damaged")
	require.NoError(t, r.Restore(key))
	require.NoError(t, r.Set(key, "1"))
	requireValue(t, "1")
	_, _, err = r.Changes()
	require.ErrorContains(t, err, r.file+".damaged, the record of changed sysctls, is damaged")
	require.NoError(t, os.Remove(r.file+".damaged"))
	keys, _, err := r.Changes()
	require.NoError(t, err)
	require.Equal(t, []string{key}, keys)
}

// TestNothingChangesWithoutRecord: what cannot be restored is not changed.
func TestNothingChangesWithoutRecord(t *testing.T) {
	sandbox.RequireRoot(t)
	write(t, "0")
	full := t.TempDir()
	require.NoError(t, unix.Mount("tmpfs", full, "tmpfs", 0, "nr_blocks=1"))
	t.Cleanup(func() { require.NoError(t, unix.Unmount(full, 0)) })
	require.NoError(t, os.WriteFile(filepath.Join(full, "filler"), make([]byte, os.Getpagesize()), 0o644))
	r := NewRecord(filepath.Join(full, "sysctls.json"))
	err := r.Set(key, "1")
	require.ErrorIs(t, err, unix.ENOSPC)
	require.ErrorContains(t, err, "its former value 0 cannot be recorded")
	requireValue(t, "0")

	require.NoError(t, os.Remove(filepath.Join(full, "filler")))
	require.NoError(t, r.Set(key, "1"))
	requireValue(t, "1")
	require.ErrorContains(t, r.Set("net/ipv4/absent", "1"), "set sysctl net/ipv4/absent to 1")
}
