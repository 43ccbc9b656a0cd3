// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/antrea-oncache/antrea/test/env/testbed/machine"
	"github.com/antrea-oncache/antrea/test/env/testbed/progress"
	"github.com/antrea-oncache/antrea/test/env/testbed/remote"
)

func vmCommand() *cobra.Command {
	var kernel, directory string
	cmd := &cobra.Command{
		Use:   "vm [flags] [--] PROGRAM [ARG...]",
		Short: "Run a program in a virtual machine with a distribution kernel, without a Kubernetes API",
		Long: `Run a program in a virtual machine with a distribution kernel, without a Kubernetes API.

The program, a path, sees this machine's file system. Its exit code is passed on.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runInVM(cmd.Context(), machine.Kernel(kernel), directory, args)
		},
	}
	cmd.Flags().StringVar(&kernel, "kernel", string(machine.KernelBackports),
		`which kernel: "backports" or "stable", of the Debian release that this machine runs`)
	cmd.Flags().StringVar(&directory, "directory", ".", "working directory of PROGRAM")
	cmd.Flags().SetInterspersed(false)
	return cmd
}

func runInVM(ctx context.Context, kernel machine.Kernel, directory string, args []string) error {
	dir, remove, err := privateDir("vm-")
	if err != nil {
		return err
	}
	defer remove()
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	if args[0], err = filepath.Abs(args[0]); err != nil {
		return err
	}
	if directory, err = filepath.Abs(directory); err != nil {
		return err
	}
	workingDir, err := os.Getwd()
	if err != nil {
		return err
	}
	p := progress.New(os.Stderr)
	m, err := machine.Start(ctx, machine.Options{
		Kind: machine.KindVM, Kernel: kernel, Directories: []string{workingDir, filepath.Dir(args[0]), directory}, StateDir: dir, LogDir: dir, Progress: p, GuestCommand: []string{exe, "guest"},
	})
	if err != nil {
		return err
	}
	defer m.Close()
	code, err := m.Run(ctx, remote.Command{Args: args, Env: programEnvironment(), Dir: directory, Stdout: os.Stdout, Stderr: os.Stderr})
	if err != nil {
		return err
	}
	p.Printf("%s ended with exit code %d", filepath.Base(args[0]), code)
	if code != 0 {
		return exitError(code)
	}
	return nil
}
