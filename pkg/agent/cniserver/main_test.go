// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cniserver

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
)

// insideEnv tells the second run of the test binary that it is in namespaces of its own.
const insideEnv = "CNISERVER_TEST_INSIDE"

// TestMain runs the tests again in a network and a mount namespace of their own: every thread of the process, and so every
// goroutine of the server, then sees a host network that belongs to the tests.
func TestMain(m *testing.M) {
	os.Exit(func() int {
		if os.Getenv(insideEnv) != "" {
			lo, err := netlink.LinkByName("lo")
			if err == nil {
				err = netlink.LinkSetUp(lo)
			}
			if err != nil {
				fmt.Fprintln(os.Stderr, "set lo up:", err)
				return 1
			}
			return runWithBuildDir(m)
		}
		if os.Geteuid() != 0 {
			return m.Run()
		}
		inner := exec.Command("/proc/self/exe", os.Args[1:]...)
		inner.Args[0] = os.Args[0]
		inner.Env = append(os.Environ(), insideEnv+"=1")
		inner.Stdin, inner.Stdout, inner.Stderr = os.Stdin, os.Stdout, os.Stderr
		inner.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
		err := inner.Run()
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			return exit.ExitCode()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "run the tests in their own namespaces:", err)
			return 1
		}
		return 0
	}())
}

var buildDir string

func runWithBuildDir(m *testing.M) int {
	dir, err := os.MkdirTemp("", "cniserver-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	buildDir = dir
	return m.Run()
}

func requireNamespaces(t *testing.T) {
	t.Helper()
	if os.Getenv(insideEnv) == "" {
		t.Skip("needs root, to make network namespaces")
	}
}

var buildPlugins = sync.OnceValues(func() (string, error) {
	for output, pkg := range map[string]string{
		hostLocalType: "github.com/containernetworking/plugins/plugins/ipam/host-local",
		"antrea":      "github.com/antrea-oncache/antrea/cmd/antrea-cni",
	} {
		build := exec.Command("go", "build", "-o", filepath.Join(buildDir, output), pkg)
		// As the Makefile builds: the race detector's setting would compile all libraries once more.
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		out, err := build.CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("go build %s: %w\n%s", pkg, err, out)
		}
	}
	return buildDir, nil
})

// pluginDir returns a directory with the real host-local and our own plugin. CNISERVER_TEST_PLUGINS names it where Go is
// not installed.
func pluginDir(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv("CNISERVER_TEST_PLUGINS"); dir != "" {
		return dir
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("needs the go command, to build the CNI plugins")
	}
	dir, err := buildPlugins()
	require.NoError(t, err)
	return dir
}
