// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// versionLabel is the label in which images have the project's version.
const versionLabel = "org.opencontainers.image.version"

// options are the flags.
type options struct {
	registry, tag, version, archives, digests string
	archs                                     []string
	replace                                   bool
}

// release is one image for all architectures, and where it goes.
type release struct {
	tag    name.Tag
	index  v1.ImageIndex
	digest v1.Hash
	// there says that the registry has it already.
	there bool
}

// publish pushes images. No tag changes before the content of all images is in the registry, and nothing is pushed if one of them must be
// refused.
func publish(ctx context.Context, out io.Writer, o options, images []string) error {
	auth := []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
	var releases []release
	for _, image := range images {
		r, err := load(o, image)
		if err != nil {
			return err
		}
		if r.there, err = isThere(r, o.replace, auth); err != nil {
			return err
		}
		releases = append(releases, r)
	}
	for _, r := range releases {
		if r.there {
			continue
		}
		fmt.Fprintf(out, "pushing %s\n", r.tag)
		if err := remote.WriteIndex(r.tag.Context().Digest(r.digest.String()), r.index, auth...); err != nil {
			return fmt.Errorf("pushing %s: %w", r.tag, err)
		}
	}
	for _, r := range releases {
		if err := remote.Tag(r.tag, r.index, auth...); err != nil {
			return fmt.Errorf("tagging %s: %w", r.tag, err)
		}
		fmt.Fprintf(out, "%s@%s (%s)\n", r.tag, r.digest, strings.Join(o.archs, ", "))
	}
	return note(o.digests, releases)
}

// note appends the digests to a file, if it has a name.
func note(file string, releases []release) error {
	if file == "" {
		return nil
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("writing digests: %w", err)
	}
	for _, r := range releases {
		if _, err = fmt.Fprintf(f, "%s  %s\n", r.digest.Hex, r.tag.Context()); err != nil {
			break
		}
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("writing digests to %s: %w", file, err)
	}
	return nil
}

// load makes an index of an image's archives.
func load(o options, image string) (r release, err error) {
	if r.tag, err = name.NewTag(o.registry+"/"+image+":"+o.tag, name.StrictValidation); err != nil {
		return r, fmt.Errorf("image name: %w", err)
	}
	r.index = mutate.IndexMediaType(empty.Index, types.DockerManifestList)
	for _, arch := range o.archs {
		file := filepath.Join(o.archives, image+"_"+arch+".tar")
		one, err := open(file, arch, o.version)
		if err != nil {
			return r, err
		}
		r.index = mutate.AppendManifests(r.index, mutate.IndexAddendum{
			Add: one, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}},
		})
	}
	r.digest, err = r.index.Digest()
	return r, err
}

// open reads an archive, which must be of this architecture and version.
func open(file, arch, version string) (v1.Image, error) {
	image, err := tarball.ImageFromPath(file, nil)
	if err != nil {
		return nil, fmt.Errorf("reading %s, which make images writes: %w", file, err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	if config.Architecture != arch {
		return nil, fmt.Errorf("%s is for architecture %q, want %q", file, config.Architecture, arch)
	}
	if got := config.Config.Labels[versionLabel]; got != version {
		return nil, fmt.Errorf("%s has version %q, want %q: run make images again", file, got, version)
	}
	return image, nil
}

// isThere reports whether the tag points to this image already. It fails if the tag points to another image that must
// not be replaced.
func isThere(r release, replace bool, auth []remote.Option) (bool, error) {
	present, err := remote.Head(r.tag, auth...)
	if failure := (*transport.Error)(nil); errors.As(err, &failure) && failure.StatusCode == http.StatusNotFound {
		return false, nil
	}
	switch {
	case err != nil:
		return false, fmt.Errorf("asking for %s: %w", r.tag, err)
	case present.Digest != r.digest && !replace:
		return false, fmt.Errorf("%s exists with digest %s, and would become %s: a release is never replaced, raise the version", r.tag, present.Digest, r.digest)
	}
	return present.Digest == r.digest, nil
}
