// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/test/env/testbed/cache"
	"github.com/antrea-oncache/antrea/test/env/testbed/machine"
	"github.com/antrea-oncache/antrea/test/env/testbed/progress"
	"github.com/antrea-oncache/antrea/test/env/testbed/remote"
)

func runCommand() *cobra.Command {
	var flags bedFlags
	var artifacts string
	cmd := &cobra.Command{
		Use:   "run [flags] [--] PROGRAM [ARG...]",
		Short: "Start a machine and a Kubernetes API, run a program in the machine, end everything",
		Long: `Start a machine and a Kubernetes API, run a program in the machine, end everything.

The program finds these in its environment: TESTBED_KUBECONFIG (path), TESTBED_APISERVER (host:port), TESTBED_DIR (private
directory), TESTBED_ARTIFACTS (directory for logs), TESTBED_BIN (directory of the built programs), TESTBED_RUNS_ON (host,
uml, vm).
Its exit code is passed on. When the kernel of the machine has logged a warning during the run, the run has failed.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if artifacts == "" {
				artifacts = filepath.Join(".testbed", filepath.Base(args[0]))
			}
			return run(cmd.Context(), flags, artifacts, args)
		},
	}
	flags.add(cmd.Flags())
	cmd.Flags().StringVar(&artifacts, "artifacts", "", "directory for logs, emptied first (default .testbed/<name of PROGRAM>)")
	cmd.Flags().SetInterspersed(false)
	return cmd
}

func kindCommand() *cobra.Command {
	var flags bedFlags
	cmd := &cobra.Command{
		Use:   "kind",
		Short: "Print what kind of machine `run` starts with these flags: host, uml or vm",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			kind := machine.Kind(flags.machine)
			if kind == "" {
				kind, _ = machine.Detect(flags.functional)
			}
			fmt.Fprintln(cmd.OutOrStdout(), kind)
			return nil
		},
	}
	flags.addMachine(cmd.Flags())
	return cmd
}

func run(ctx context.Context, flags bedFlags, artifacts string, args []string) error {
	dir, remove, err := privateDir("run-")
	if err != nil {
		return err
	}
	defer remove()
	if artifacts, err = filepath.Abs(artifacts); err != nil {
		return err
	}
	if err := emptyDir(artifacts); err != nil {
		return err
	}
	p := progress.New(os.Stderr)
	b, err := startBed(ctx, flags, dir, artifacts, p)
	if err != nil {
		return err
	}
	defer func() {
		b.Close()
		p.Printf("ended; logs are in %s", artifacts)
	}()
	env, err := b.environment()
	if err != nil {
		return err
	}
	wd, err := os.Getwd()
	if err != nil {
		return err
	}
	watch, err := watchKernelLog(ctx, b.machine)
	if err != nil {
		return err
	}
	p.Printf("running %s", args[0])
	code, err := b.machine.Run(ctx, remote.Command{Args: args, Env: env, Dir: wd, Stdout: os.Stdout, Stderr: os.Stderr})
	if err != nil {
		return err
	}
	p.Printf("%s ended with exit code %d", args[0], code)
	faults := watch.check(ctx, filepath.Join(artifacts, "kernel.log"))
	if code == 0 {
		return faults
	}
	if faults != nil {
		p.Printf("%v", faults)
	}
	return exitError(code)
}

// privateDir makes a directory in the cache, which a virtual machine also sees (unlike /tmp). It removes directories of
// runs that were killed: a directory is locked as long as its run lasts.
func privateDir(prefix string) (dir string, remove func(), err error) {
	root, err := cache.Root()
	if err != nil {
		return "", nil, err
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		return "", nil, err
	}
	// Held while a directory exists that is not locked yet.
	making, err := flock(root, unix.LOCK_EX)
	if err != nil {
		return "", nil, err
	}
	defer making.Close()
	old, err := filepath.Glob(filepath.Join(root, prefix+"*"))
	if err != nil {
		return "", nil, err
	}
	for _, stale := range old {
		if lock, err := flock(stale, unix.LOCK_EX|unix.LOCK_NB); err == nil {
			os.RemoveAll(stale)
			lock.Close()
		}
	}
	if dir, err = os.MkdirTemp(root, prefix); err != nil {
		return "", nil, err
	}
	lock, err := flock(dir, unix.LOCK_EX)
	if err != nil {
		os.Remove(dir)
		return "", nil, err
	}
	return dir, func() {
		os.RemoveAll(dir)
		lock.Close()
	}, nil
}

// flock locks a directory until the file is closed.
func flock(dir string, how int) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), how); err != nil {
		f.Close()
		return nil, fmt.Errorf("locking %s: %w", dir, err)
	}
	return f, nil
}
