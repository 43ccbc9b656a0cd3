// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package assemble

import (
	"archive/tar"
	"bytes"
	"io"
	"maps"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Layer returns a layer with what has been added or replaced since the last one.
func (t *Tree) Layer() (v1.Layer, error) {
	content, err := t.seal()
	if err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil },
		tarball.WithCompressedCaching)
}

// seal returns the layer as a tar archive.
func (t *Tree) seal() ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	// A hard link has to come after its target.
	var hardLinks []string
	write := func(name string) error {
		f := t.files[name]
		f.sealed = true
		h := f.header
		if h.Typeflag == tar.TypeDir {
			h.Name += "/"
		}
		if err := w.WriteHeader(&h); err != nil {
			return err
		}
		_, err := w.Write(f.body)
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(t.files)) {
		switch f := t.files[name]; {
		case f.sealed:
		case f.header.Typeflag == tar.TypeLink:
			hardLinks = append(hardLinks, name)
		default:
			if err := write(name); err != nil {
				return nil, err
			}
		}
	}
	for _, name := range hardLinks {
		if err := write(name); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return out.Bytes(), err
}
