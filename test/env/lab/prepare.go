// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"github.com/antrea-oncache/antrea/test/env/kubecluster"
	"github.com/antrea-oncache/antrea/test/env/testbed/controlplane"
	"github.com/antrea-oncache/antrea/test/env/testbed/machine"
	"github.com/antrea-oncache/antrea/test/env/testbed/progress"
	"github.com/antrea-oncache/antrea/test/env/testbed/umlkernel"
)

func prepareCommand() *cobra.Command {
	var functional, kubelets bool
	cmd := &cobra.Command{
		Use:   "prepare",
		Short: "Build the programs of Kubernetes, and the kernel, that this machine lacks for `up` and `run`",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, p := cmd.Context(), progress.New(os.Stderr)
			if kubelets {
				return kubecluster.Prepare(ctx, p)
			}
			if err := controlplane.Build(ctx, p); err != nil || !functional {
				return err
			}
			return prepareKernel(ctx, p)
		},
	}
	cmd.Flags().BoolVar(&functional, "functional", false, "for `run --functional`: also the kernel of user-mode Linux, if it is of use here")
	cmd.Flags().BoolVar(&kubelets, "kubelets", false, "for `up --kubelets`: all programs of Kubernetes, and the kernel of the Nodes")
	return cmd
}

// prepareKernel builds the kernel of user-mode Linux where it would be chosen. Where that fails, as without an archive that has its sources,
// a virtual machine does the same, slowly.
func prepareKernel(ctx context.Context, p *progress.Printer) error {
	if why := machine.WantsUML(); why != nil {
		p.Printf("user-mode Linux: not needed: %v", why)
		return nil
	}
	repository, err := controlplane.Repository()
	if err != nil {
		return err
	}
	kernel, err := umlkernel.Build(ctx, repository, p)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		p.Printf("user-mode Linux: the kernel cannot be built; virtual machines will be used, which are slower: %v", err)
	default:
		p.Printf("user-mode Linux: the kernel %s is ready", kernel.Version)
	}
	return nil
}
