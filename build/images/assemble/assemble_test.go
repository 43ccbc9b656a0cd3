// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package assemble

import (
	"archive/tar"
	"bytes"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func names(t *testing.T, layer []byte) (found []string) {
	t.Helper()
	for r := tar.NewReader(bytes.NewReader(layer)); ; {
		h, err := r.Next()
		if err == io.EOF {
			return found
		}
		require.NoError(t, err)
		found = append(found, h.Name)
	}
}

func regular(name string) tar.Header {
	return tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o755, Uname: "builder", ModTime: time.Unix(1, 5)}
}

// TestLayers: files in /bin are in /usr/bin, entries are sorted, and a layer has only what is new.
func TestLayers(t *testing.T) {
	var tree Tree
	require.NoError(t, tree.add(regular("./bin/b"), []byte("b")))
	require.NoError(t, tree.add(regular("usr/bin/a"), []byte("a")))
	require.NoError(t, tree.add(tar.Header{Typeflag: tar.TypeLink, Name: "./bin/A", Linkname: "./bin/b"}, nil))
	require.ErrorContains(t, tree.add(regular("/bin/a"), nil), "/usr/bin/a comes from two packages")
	first, err := tree.seal()
	require.NoError(t, err)
	require.Equal(t, []string{"usr/", "usr/bin/", "usr/bin/a", "usr/bin/b", "usr/bin/A"}, names(t, first))
	require.NotContains(t, string(first), "builder")
	require.True(t, bytes.HasSuffix(first, make([]byte, 1024)), "the archive is not complete")
	tree.WriteFile("usr/bin/b", []byte("new"), 0o755, time.Unix(2, 0))
	second, err := tree.seal()
	require.NoError(t, err)
	require.Equal(t, []string{"usr/bin/b"}, names(t, second))
}

// TestNoPrivilegedModes: no program changes the user.
func TestNoPrivilegedModes(t *testing.T) {
	var tree Tree
	su, tmp := regular("usr/bin/su"), tar.Header{Typeflag: tar.TypeDir, Name: "tmp", Mode: 0o1777}
	su.Mode = 0o6755
	require.NoError(t, tree.add(su, nil))
	require.NoError(t, tree.add(tmp, nil))
	layer, err := tree.seal()
	require.NoError(t, err)
	modes := map[string]int64{}
	for r := tar.NewReader(bytes.NewReader(layer)); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		modes[h.Name] = h.Mode
	}
	require.EqualValues(t, 0o755, modes["usr/bin/su"])
	require.EqualValues(t, 0o1777, modes["tmp/"])
}

func TestDropScripts(t *testing.T) {
	var tree Tree
	require.NoError(t, tree.add(regular("bin/sh"), nil))
	for name, script := range map[string]string{"runs": "#!/bin/sh -e\n", "python": "#! /usr/bin/python3\n", "env": "#!/usr/bin/env perl\n"} {
		require.NoError(t, tree.add(regular("usr/bin/"+name), []byte(script)))
	}
	tree.layOut()
	tree.dropScripts()
	require.True(t, tree.exists("bin/runs"))
	require.False(t, tree.exists("bin/python"))
	require.False(t, tree.exists("bin/env"))
}

func TestWanted(t *testing.T) {
	for name, want := range map[string]bool{
		"usr/bin/ls": true, "usr/share/doc/bash/copyright": true, "usr/share/doc/bash/README": false, "usr/share/man/man1/ls.1.gz": false,
		"usr/lib/x86_64-linux-gnu/gconv/UTF-7.so": false, "usr/share/manual": true,
	} {
		require.Equal(t, want, wanted(name), name)
	}
}

func TestParsePlan(t *testing.T) {
	plan := "Reading package lists...\nInst libc6 (2.36-9 Debian:12.1/stable [arm64])\nInst bash (1:5.2 Debian:12.1/stable [arm64]) []\nConf bash (1:5.2 Debian [arm64])\n"
	require.Equal(t, []Package{{Name: "bash", Version: "1:5.2", Architecture: "arm64"}, {Name: "libc6", Version: "2.36-9", Architecture: "arm64"}}, parsePlan(plan))
}
