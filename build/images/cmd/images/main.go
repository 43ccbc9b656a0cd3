// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Command images makes container images without an engine, a registry, or root, as archives that docker load and ctr images import read.
// catalog.go lists the content of each image, base.go knows the release of Debian, build.go makes the images, ours.go adds what only our own have,
// docs/start/images.md explains the rest.
//
//	images [flags] project|tests|cluster|IMAGE...
package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/test/env/testbed/controlplane"
	"github.com/antrea-oncache/antrea/test/env/testbed/progress"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, unix.SIGTERM)
	defer stop()
	if err := command().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "images:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	archs         []string
	out, programs string
	version       string
	update        bool
}

func command() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:           "images project|tests|cluster|IMAGE...",
		Short:         "Make container images from Debian packages and programs",
		Long:          "Make container images from Debian packages and programs.\nImages: " + strings.Join(known(), ", "),
		Args:          cobra.MinimumNArgs(1),
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			names, err := selected(args)
			if err != nil {
				return err
			}
			return run(cmd.Context(), o, names)
		},
	}
	cmd.Flags().StringSliceVar(&o.archs, "arch", []string{"amd64"}, "architectures, as Debian and Go call them")
	cmd.Flags().StringVar(&o.out, "out", "bin/images", "folder for the archives")
	cmd.Flags().StringVar(&o.programs, "programs", "bin/images/programs", "folder with this project's programs, in linux_ARCH")
	cmd.Flags().StringVar(&o.version, "version", "", "the project's version, instead of the one in VERSION; the images have no tag latest then")
	cmd.Flags().BoolVar(&o.update, "update", false, "fetch the lists of Debian packages again, and so newer packages")
	return cmd
}

func known() []string {
	return slices.Sorted(maps.Keys(all()))
}

func all() map[string]definition {
	images := maps.Clone(project)
	maps.Copy(images, forTests)
	maps.Copy(images, forCluster)
	return images
}

// selected are the names of the images that arguments mean, sorted.
func selected(args []string) ([]string, error) {
	names := map[string]bool{}
	for _, arg := range args {
		group := map[string]map[string]definition{"project": project, "tests": forTests, "cluster": forCluster}[arg]
		for name := range group {
			names[name] = true
		}
		if group != nil {
			continue
		}
		if _, found := all()[arg]; !found {
			return nil, fmt.Errorf("image %q is unknown; use project, tests, cluster, or some of %s", arg, strings.Join(known(), ", "))
		}
		names[arg] = true
	}
	return slices.Sorted(maps.Keys(names)), nil
}

func run(ctx context.Context, o options, names []string) error {
	repository, err := controlplane.Repository()
	if err != nil {
		return err
	}
	created, err := sourceDate(ctx, repository)
	if err != nil {
		return err
	}
	// Without a repository there is no commit to name.
	revision, _ := exec.CommandContext(ctx, "git", "-C", repository, "rev-parse", "HEAD").Output()
	printer := progress.New(os.Stderr)
	number := o.version
	if number == "" {
		number = "v" + version(repository)
	}
	var made []result
	for _, arch := range o.archs {
		b, err := newBuilder(ctx, builder{
			folder: filepath.Join(repository, "build/images"), programs: filepath.Join(o.programs, "linux_"+arch),
			arch: arch, out: o.out, created: created, progress: printer, version: number, latest: o.version == "",
			revision: strings.TrimSpace(string(revision)),
		}, o.update)
		if err != nil {
			return err
		}
		for _, name := range names {
			r, err := b.build(ctx, name, all()[name])
			if err != nil {
				return fmt.Errorf("image %s for %s: %w", name, arch, err)
			}
			printer.Printf("%s for %s", name, arch)
			made = append(made, r)
		}
	}
	return report(os.Stdout, made)
}

// version is the project's version, without v.
func version(repository string) string {
	text, err := os.ReadFile(filepath.Join(repository, "VERSION"))
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(text))
}

// sourceDate is the time that new files get: $SOURCE_DATE_EPOCH, or the time of the commit.
func sourceDate(ctx context.Context, repository string) (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		out, err := exec.CommandContext(ctx, "git", "-C", repository, "log", "-1", "--format=%ct").Output()
		if err != nil {
			return time.Time{}, fmt.Errorf("asking git for the time of the commit: %w; set SOURCE_DATE_EPOCH where there is no repository", err)
		}
		text = strings.TrimSpace(string(out))
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH is %q; it must be a number of seconds since 1970", text)
	}
	return time.Unix(seconds, 0).UTC(), nil
}
