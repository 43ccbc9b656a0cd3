// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bundletest reads support bundles in tests.
package bundletest

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// Unpack returns the contents of the files of a bundle, by name. Only their owner may read them.
func Unpack(t *testing.T, archive io.Reader) map[string]string {
	t.Helper()
	content, err := gzip.NewReader(archive)
	require.NoError(t, err)
	files := map[string]string{}
	for r := tar.NewReader(content); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		require.NoError(t, err)
		require.EqualValues(t, 0o600, header.Mode, header.Name)
		text, err := io.ReadAll(r)
		require.NoError(t, err)
		files[header.Name] = string(text)
	}
}
