// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
	"github.com/antrea-oncache/antrea/test/env/testbed/controlplane"
	"github.com/antrea-oncache/antrea/test/env/testbed/guest"
	"github.com/antrea-oncache/antrea/test/env/testbed/machine"
	"github.com/antrea-oncache/antrea/test/env/testbed/progress"
)

// bed is a machine with a Kubernetes API.
type bed struct {
	dir, logDir  string
	controlPlane *controlplane.ControlPlane
	machine      *machine.Machine
}

// bedFlags are the flags of the commands that start a bed.
type bedFlags struct {
	machine           string
	functional        bool
	countInstructions bool
	profiler          string
}

func (f *bedFlags) add(flags *pflag.FlagSet) {
	f.addMachine(flags)
	flags.BoolVar(&f.countInstructions, "count-instructions", false,
		fmt.Sprintf("a virtual machine with one processor, whose time is a count of executed instructions: one is %s", machine.InstructionTime))
	flags.StringVar(&f.profiler, "profiler", "", "a plugin of QEMU that counts instructions by their address between two marks of PROGRAM, into $TESTBED_ARTIFACTS/blocks")
}

// addMachine adds the flags that choose the kind of machine.
func (f *bedFlags) addMachine(flags *pflag.FlagSet) {
	flags.StringVar(&f.machine, "machine", os.Getenv("TESTBED_MACHINE"),
		`where to run: "host", "uml" (user-mode Linux), "vm" (QEMU), or "" to choose (default $TESTBED_MACHINE)`)
	flags.BoolVar(&f.functional, "functional", false, "times do not matter: user-mode Linux may be chosen, if `prepare --functional` has built it")
}

// startBed starts control plane and machine at the same time. dir and logDir exist; dir is private.
func startBed(ctx context.Context, flags bedFlags, dir, logDir string, p *progress.Printer) (_ *bed, err error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	workingDir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	b := &bed{dir: dir, logDir: logDir}
	defer func() {
		if err != nil {
			b.Close()
		}
	}()
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		b.controlPlane, err = controlplane.Start(gctx, controlplane.Options{
			StateDir: dir, LogDir: logDir, Progress: p,
			Addresses: []string{guest.HostAddress, cluster.FabricGateway.String()},
		})
		return err
	})
	g.Go(func() (err error) {
		b.machine, err = machine.Start(gctx, machine.Options{
			Kind: machine.Kind(flags.machine), Functional: flags.functional, CountInstructions: flags.countInstructions, StateDir: dir, LogDir: logDir,
			Directories: []string{workingDir, logDir}, Progress: p, Profiler: flags.profiler, GuestCommand: []string{exe, "guest"},
		})
		return err
	})
	if err := g.Wait(); err != nil {
		return nil, err
	}
	if err := b.machine.Publish(b.controlPlane.Port()); err != nil {
		return nil, err
	}
	return b, b.controlPlane.WriteKubeconfig(b.kubeconfig(), b.machine.HostAddress())
}

// kubeconfig is the path of the kubeconfig for programs in the machine.
func (b *bed) kubeconfig() string { return filepath.Join(b.dir, "kubeconfig") }

// environment is this program's environment plus what programs in the machine need to find the testbed.
func (b *bed) environment() ([]string, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return append(programEnvironment(),
		"TESTBED_DIR="+b.dir,
		"TESTBED_KUBECONFIG="+b.kubeconfig(),
		"TESTBED_APISERVER="+net.JoinHostPort(b.machine.HostAddress(), strconv.Itoa(b.controlPlane.Port())),
		"TESTBED_ARTIFACTS="+b.logDir,
		"TESTBED_BIN="+filepath.Dir(exe),
		"TESTBED_RUNS_ON="+string(b.machine.Kind()),
	), nil
}

// programEnvironment is this program's environment as far as it is true in a machine too.
func programEnvironment() []string {
	return slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return strings.HasPrefix(kv, "TMPDIR=") // the machine has a /tmp of its own
	})
}

// Close ends everything that startBed has started.
func (b *bed) Close() {
	if b.machine != nil {
		if err := b.machine.Close(); err != nil {
			fmt.Fprintln(os.Stderr, "testbed: ending the machine:", err)
		}
	}
	if b.controlPlane != nil {
		b.controlPlane.Close()
	}
}

// emptyDir makes dir an empty directory; it refuses to empty one that it has not made.
func emptyDir(dir string) error {
	const stamp = ".made-by-testbed"
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return err
	case len(entries) > 0:
		if _, err := os.Stat(filepath.Join(dir, stamp)); err != nil {
			return fmt.Errorf("%s is not empty and was not made by the testbed: name another directory", dir)
		}
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, stamp), nil, 0o644)
}
