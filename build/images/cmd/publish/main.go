// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Command publish pushes images that `make images` has written to a registry. Each image becomes one index with all architectures.
// ci/publish.sh calls it.
//
//	publish --registry HOST/PATH --tag TAG --version VERSION [flags] IMAGE...
//
// It logs in with what `docker login` has stored ($DOCKER_CONFIG, or ~/.docker). A registry on a loopback address is asked with HTTP.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, unix.SIGTERM)
	defer stop()
	if err := command().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "publish:", err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:           "publish IMAGE...",
		Short:         "Push images for several architectures to a registry",
		Args:          cobra.MinimumNArgs(1),
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, images []string) error {
			return publish(cmd.Context(), cmd.OutOrStdout(), o, images)
		},
	}
	cmd.Flags().StringVar(&o.registry, "registry", "", "host and path of the repositories, for example ghcr.io/antrea-oncache")
	cmd.Flags().StringVar(&o.tag, "tag", "", "tag of the images")
	cmd.Flags().StringVar(&o.version, "version", "", "version that the archives must have (label org.opencontainers.image.version)")
	cmd.Flags().StringVar(&o.archives, "archives", "bin/images", "folder with the archives IMAGE_ARCH.tar")
	cmd.Flags().StringSliceVar(&o.archs, "arch", []string{"amd64", "arm64"}, "architectures")
	cmd.Flags().StringVar(&o.digests, "digests", "", "file to which the digests are appended, as sha256sum writes them")
	cmd.Flags().BoolVar(&o.replace, "replace", false, "let the tag point to other images than before")
	for _, name := range []string{"registry", "tag", "version"} {
		if err := cmd.MarkFlagRequired(name); err != nil {
			panic(err) // the flag is not declared
		}
	}
	return cmd
}
