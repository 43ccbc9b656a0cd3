// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/antrea-oncache/antrea/build/images/assemble"
	"github.com/antrea-oncache/antrea/test/env/testbed/cache"
	"github.com/antrea-oncache/antrea/test/env/testbed/controlplane"
	"github.com/antrea-oncache/antrea/test/env/testbed/progress"
)

// builder makes images for one architecture.
type builder struct {
	// folder has the images' sources, programs the project's programs.
	folder, programs, arch, out, version string
	// revision is the commit that the programs are of; empty without a repository.
	revision string
	// latest is set if the images also have the tag latest.
	latest   bool
	created  time.Time
	progress *progress.Printer
	apt      *assemble.Apt
}

// result is a row of the report.
type result struct {
	name, arch, digest, file string
	packed, unpacked         int64
}

func newBuilder(ctx context.Context, b builder, update bool) (*builder, error) {
	root, err := cache.Root()
	if err != nil {
		return nil, err
	}
	if b.apt, err = assemble.NewApt(filepath.Join(root, "debian", b.arch), b.arch, absent); err != nil {
		return nil, err
	}
	b.progress.Printf("Debian packages for %s", b.arch)
	return &b, b.apt.Update(ctx, update)
}

// build makes an image and writes its archive.
func (b *builder) build(ctx context.Context, name string, d definition) (result, error) {
	var tree assemble.Tree
	layers, err := b.packageLayers(ctx, &tree, d)
	if err != nil {
		return result{}, err
	}
	versions, err := b.addPrograms(ctx, &tree, d.programs)
	if err != nil {
		return result{}, err
	}
	if d.ours {
		if err := b.addLicences(&tree); err != nil {
			return result{}, err
		}
	}
	if len(d.programs) > 0 {
		layer, err := tree.Layer()
		if err != nil {
			return result{}, err
		}
		layers = append(layers, layer)
	}
	image, err := assemble.Image(layers, assemble.Settings{
		Architecture: b.arch, Entrypoint: d.entrypoint, Cmd: d.cmd, Created: b.created,
		Labels: b.labels(name, d),
	})
	if err != nil {
		return result{}, err
	}
	file := filepath.Join(b.out, name+"_"+b.arch+".tar")
	if err := assemble.WriteArchive(file, image, b.names(d.names, versions)); err != nil {
		return result{}, err
	}
	return measure(result{name: name, arch: b.arch, file: file}, image)
}

// names fills in the versions.
func (b *builder) names(names []string, versions map[string]string) []string {
	pairs := []string{"{}", b.version}
	for program, version := range versions {
		pairs = append(pairs, "{"+program+"}", version)
	}
	var filled []string
	for _, n := range names {
		if strings.HasSuffix(n, ":latest") && !b.latest {
			continue
		}
		filled = append(filled, strings.NewReplacer(pairs...).Replace(n))
	}
	return filled
}

// packageLayers makes the base layer, and one with the image's other packages and files. An image without packages has neither.
func (b *builder) packageLayers(ctx context.Context, tree *assemble.Tree, d definition) ([]v1.Layer, error) {
	if !d.base {
		return nil, nil
	}
	baseNames, err := b.readPackages("base/packages")
	if err != nil {
		return nil, err
	}
	base, err := b.apt.Closure(ctx, baseNames)
	if err != nil {
		return nil, err
	}
	if err := tree.Install(ctx, base, nil); err != nil {
		return nil, err
	}
	of, err := readBase(b.folder)
	if err != nil {
		return nil, err
	}
	if err := tree.CheckRelease(of.debian); err != nil {
		return nil, err
	}
	layer, err := tree.Layer()
	if err != nil {
		return nil, err
	}
	layers := []v1.Layer{layer}
	names := slices.Clone(d.packages)
	if d.packagesFile != "" {
		if names, err = b.readPackages(d.packagesFile); err != nil {
			return nil, err
		}
	}
	if len(names) == 0 {
		return layers, nil
	}
	closure, err := b.apt.Closure(ctx, append(baseNames, names...))
	if err != nil {
		return nil, err
	}
	if err := tree.Install(ctx, without(closure, base), base); err != nil {
		return nil, err
	}
	if err := b.addFiles(tree, d); err != nil {
		return nil, err
	}
	if layer, err = tree.Layer(); err != nil {
		return nil, err
	}
	return append(layers, layer), nil
}

// without returns the packages of list that are not in other.
func without(list, other []assemble.Package) []assemble.Package {
	return slices.DeleteFunc(list, func(p assemble.Package) bool { return slices.Contains(other, p) })
}

// addFiles adds the image's own files, with the time of the packages': the layer stays the same until one of them changes.
func (b *builder) addFiles(tree *assemble.Tree, d definition) error {
	if d.overlay != "" {
		if err := tree.Overlay(filepath.Join(b.folder, d.overlay), tree.Newest()); err != nil {
			return err
		}
	}
	for name, content := range d.files {
		tree.WriteFile(name, []byte(content), 0o644, tree.Newest())
	}
	for _, name := range slices.Sorted(maps.Keys(d.links)) {
		tree.Symlink(name, d.links[name], tree.Newest())
	}
	return nil
}

// addPrograms adds programs and returns their versions: programs of this project, or of a test cluster, which are built
// if need be.
func (b *builder) addPrograms(ctx context.Context, tree *assemble.Tree, programs map[string]string) (map[string]string, error) {
	versions := map[string]string{}
	for file, name := range programs {
		path := filepath.Join(b.programs, name)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			p, err := controlplane.BuildProgram(ctx, b.progress, name, b.arch)
			if err != nil {
				return nil, err
			}
			path, versions[name] = p.Path, p.Version
		}
		body, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		tree.WriteFile(file, body, 0o755, b.created)
	}
	return versions, nil
}

// readPackages reads names of packages from a file of the folder.
func (b *builder) readPackages(file string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(b.folder, file))
	return strings.Fields(string(text)), err
}

// measure fills in digest and sizes.
func measure(r result, image v1.Image) (result, error) {
	digest, err := image.Digest()
	if err != nil {
		return result{}, err
	}
	r.digest = digest.String()
	layers, err := image.Layers()
	if err != nil {
		return result{}, err
	}
	for _, layer := range layers {
		packed, err := layer.Size()
		if err != nil {
			return result{}, err
		}
		stream, err := layer.Uncompressed()
		if err != nil {
			return result{}, err
		}
		unpacked, err := io.Copy(io.Discard, stream)
		if err := errors.Join(err, stream.Close()); err != nil {
			return result{}, err
		}
		r.packed, r.unpacked = r.packed+packed, r.unpacked+unpacked
	}
	return r, nil
}

// report prints a table of the images.
func report(w io.Writer, made []result) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "IMAGE\tARCH\tPACKED\tUNPACKED\tDIGEST\tFILE")
	for _, r := range made {
		fmt.Fprintf(table, "%s\t%s\t%.1f MB\t%.1f MB\t%s\t%s\n", r.name, r.arch, float64(r.packed)/1e6, float64(r.unpacked)/1e6, r.digest, r.file)
	}
	return table.Flush()
}
