// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package umlkernel

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/test/env/testbed/progress"
)

// repositoryWith makes a repository with this script in place of the one that builds the kernel.
func repositoryWith(t *testing.T, body string) string {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, script)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\nset -e\n"+body), 0o755))
	return dir
}

func TestBuildOnceForAConfiguration(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	p := progress.New(os.Stderr)
	_, err := Find()
	require.ErrorIs(t, err, fs.ErrNotExist)

	_, err = Build(t.Context(), repositoryWith(t, "echo no sources; exit 3"), p)
	require.ErrorContains(t, err, "no sources")
	_, err = Find()
	require.ErrorIs(t, err, fs.ErrNotExist, "a failed build leaves nothing")

	kernel, err := Build(t.Context(), repositoryWith(t, `grep -q '^CONFIG_OPENVSWITCH=y$' "$1"; echo kernel >"$2/linux-7.3.4-1~bpo13+1"`), p)
	require.NoError(t, err)
	require.Equal(t, "7.3.4-1~bpo13+1", kernel.Version)
	require.FileExists(t, kernel.Path)

	again, err := Build(t.Context(), repositoryWith(t, "exit 1"), p)
	require.NoError(t, err, "it is not built again")
	require.Equal(t, kernel, again)

	old := config
	defer func() { config = old }()
	config = append([]byte("CONFIG_OTHER=y\n"), old...)
	_, err = Find()
	require.ErrorIs(t, err, fs.ErrNotExist, "another configuration is another kernel")
}

// TestConfigIsOneTheScriptUnderstands: the script checks only lines that set an option against the kernel's configuration.
func TestConfigIsOneTheScriptUnderstands(t *testing.T) {
	option := regexp.MustCompile(`^CONFIG_[A-Z0-9_]+=([yn]|[0-9]+)$`)
	seen := map[string]bool{}
	for line := range strings.Lines(string(config)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		require.Regexp(t, option, line)
		name, _, _ := strings.Cut(line, "=")
		require.False(t, seen[name], "%s is set twice", name)
		seen[name] = true
	}
	require.True(t, seen["CONFIG_OPENVSWITCH"])
}
