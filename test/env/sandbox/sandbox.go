// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sandbox runs a package's tests, or a program, in network and mount namespaces of their own, with a bpffs, so that
// they can create devices, attach programs and pin maps without touching the machine.
package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// inside marks the process that runs in the namespaces, insideWorker a worker that a fuzzing process there has started.
const (
	inside       = "ONCACHE_TEST_SANDBOX"
	insideWorker = "ONCACHE_TEST_SANDBOX_WORKER"
)

// BPFFS is the mount point of the sandbox's bpffs.
const BPFFS = "/sys/fs/bpf"

// Main is for TestMain: it runs the test binary again in the sandbox and exits with its code. Without root the tests run
// unsandboxed, and those that call RequireRoot are skipped.
func Main(m *testing.M) {
	if os.Geteuid() != 0 {
		os.Exit(m.Run())
	}
	if os.Getenv(inside) == "" {
		os.Exit(again(context.Background(), inside))
	}
	// Workers of `go test -fuzz` talk to their parent through pipes, which follow the standard files.
	if slices.Contains(os.Args, "-test.fuzzworker") && os.Getenv(insideWorker) == "" {
		os.Exit(again(context.Background(), insideWorker, os.NewFile(3, "in"), os.NewFile(4, "out"), os.NewFile(5, "memory")))
	}
	if err := setUp(); err != nil {
		fmt.Fprintln(os.Stderr, "sandbox:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// Run is Main for a program: it runs the program again in the sandbox and returns its exit code. In the sandbox it calls
// run. It needs root. When ctx ends the program in the sandbox gets SIGTERM.
func Run(ctx context.Context, run func() int) int {
	if os.Getenv(inside) == "" {
		return again(ctx, inside)
	}
	if err := setUp(); err != nil {
		fmt.Fprintln(os.Stderr, "sandbox:", err)
		return 1
	}
	return run()
}

// RequireRoot skips a test that cannot run without the sandbox.
func RequireRoot(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: network namespaces and eBPF")
	}
}

func again(ctx context.Context, mark string, files ...*os.File) int {
	cmd := exec.CommandContext(ctx, "/proc/self/exe", os.Args[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.ExtraFiles = files
	cmd.Env = append(os.Environ(), mark+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	fmt.Fprintln(os.Stderr, "sandbox:", err)
	return 1
}

func setUp() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	// A sysfs that shows this network namespace; bpffs is mounted on top of it.
	if err := unix.Mount("sysfs", "/sys", "sysfs", 0, ""); err != nil {
		return fmt.Errorf("mount sysfs: %w", err)
	}
	if err := unix.Mount("bpf", BPFFS, "bpf", 0, ""); err != nil {
		return fmt.Errorf("mount bpffs: %w", err)
	}
	// A device without a link-local address sends nothing on its own, so a test sees only its own packets.
	if err := os.WriteFile("/proc/sys/net/ipv6/conf/default/addr_gen_mode", []byte("1"), 0); err != nil {
		return fmt.Errorf("switch link-local addresses off: %w", err)
	}
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return err
	}
	return netlink.LinkSetUp(lo)
}
