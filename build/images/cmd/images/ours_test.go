// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/build/images/assemble"
)

// TestLabels: the images that users install lead to their source and terms, by whichever way they are built.
func TestLabels(t *testing.T) {
	b := builder{version: "v1.2.3", revision: "abcdef"}
	require.Equal(t, map[string]string{"org.opencontainers.image.title": "nginx", "org.opencontainers.image.version": "v1.2.3"}, b.labels("nginx", forTests["nginx"]))
	setting := regexp.MustCompile(`(org\.opencontainers\.image\.[a-z]+)=("[^"]+"|\S+)`)
	for name, d := range project {
		require.True(t, d.ours, name)
		text, err := os.ReadFile(filepath.Join("../..", strings.TrimSuffix(strings.TrimPrefix(name, "antrea-"), "-ubuntu"), "Dockerfile"))
		require.NoError(t, err)
		dockerfile := map[string]string{}
		for _, m := range setting.FindAllStringSubmatch(string(text), -1) {
			dockerfile[m[1]] = strings.NewReplacer(`"`, "", "$VERSION", b.version, "$REVISION", b.revision).Replace(m[2])
		}
		require.Equal(t, b.labels(name, d), dockerfile, name)
	}
}

// TestLicences: an image without the licences of what is linked into its programs is not made.
func TestLicences(t *testing.T) {
	b := builder{folder: "../..", programs: t.TempDir()}
	var tree assemble.Tree
	require.ErrorContains(t, b.addLicences(&tree), "THIRD-PARTY-LICENSES")

	tree = assemble.Tree{}
	require.NoError(t, os.WriteFile(filepath.Join(b.programs, "THIRD-PARTY-LICENSES"), []byte("terms"), 0o644))
	require.NoError(t, b.addLicences(&tree))
	layer, err := tree.Layer()
	require.NoError(t, err)
	stream, err := layer.Uncompressed()
	require.NoError(t, err)
	defer stream.Close()
	found := map[string]string{}
	for reader := tar.NewReader(stream); ; {
		header, err := reader.Next()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		text, err := io.ReadAll(reader)
		require.NoError(t, err)
		if header.Typeflag == tar.TypeReg {
			found[filepath.Base(header.Name)] = string(text)
		}
	}
	require.Equal(t, "terms", found["THIRD-PARTY-LICENSES"])
	require.Contains(t, found["LICENSE"], "Apache License")
	require.Contains(t, found["LICENSE.BSD-2-Clause"], "Redistribution")
}
