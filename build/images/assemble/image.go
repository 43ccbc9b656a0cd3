// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package assemble

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Settings describe an image.
type Settings struct {
	Architecture    string
	Entrypoint, Cmd []string
	Labels          map[string]string
	Created         time.Time
}

// Image makes an image from layers.
func Image(layers []v1.Layer, s Settings) (v1.Image, error) {
	image, err := mutate.AppendLayers(empty.Image, layers...)
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.Architecture, config.OS = s.Architecture, "linux"
	config.Created = v1.Time{Time: s.Created.UTC()}
	for i := range config.History {
		config.History[i].Created = config.Created
	}
	config.Config = v1.Config{
		Entrypoint: s.Entrypoint, Cmd: s.Cmd, Labels: s.Labels, WorkingDir: "/",
		Env: []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
	}
	return mutate.ConfigFile(image, config)
}

// WriteArchive writes an image under its names in the format that docker load, ctr images import and kind load image-archive read. The file
// appears when it is complete.
func WriteArchive(file string, image v1.Image, names []string) error {
	tags := map[name.Tag]v1.Image{}
	for _, n := range names {
		tag, err := name.NewTag(n)
		if err != nil {
			return fmt.Errorf("image name %q: %w", n, err)
		}
		tags[tag] = image
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	partial := file + ".partial"
	defer os.Remove(partial)
	if err := tarball.MultiWriteToFile(partial, tags); err != nil {
		return fmt.Errorf("writing %s: %w", file, err)
	}
	return os.Rename(partial, file)
}
