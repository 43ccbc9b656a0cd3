// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package umlkernel builds the kernel for user-mode Linux (Documentation/virt/uml in the kernel's sources), with everything that a Node
// needs built in, and keeps it in the cache.
//
// hack/build-uml-kernel.sh fetches Debian's newest kernel sources and configures them with the file config here. The cache has one entry
// for each version of that file, with the kernel as linux-<Debian's version of the sources>: a change of the configuration leads to
// a new build, a newer package does so only once the entry is removed.
package umlkernel

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/antrea-oncache/antrea/test/env/testbed/cache"
	"github.com/antrea-oncache/antrea/test/env/testbed/proc"
	"github.com/antrea-oncache/antrea/test/env/testbed/progress"
)

const (
	cacheEntry = "uml-kernel"
	script     = "hack/build-uml-kernel.sh" // relative to the repository
	prefix     = "linux-"
)

//go:embed config
var config []byte

// Kernel is a kernel in the cache.
type Kernel struct {
	// Path is the program, Version the version of Debian's sources it was built from ("7.3.4-1~bpo13+1").
	Path, Version string
}

// Find returns the kernel that Build has built, or fs.ErrNotExist.
func Find() (Kernel, error) {
	root, err := cache.Root()
	if err != nil {
		return Kernel{}, err
	}
	return findIn(filepath.Join(root, cacheEntry, digest()))
}

// Build builds the kernel if it is not in the cache, which takes ten minutes on two processors. repository is its root directory.
func Build(ctx context.Context, repository string, p *progress.Printer) (Kernel, error) {
	if runtime.GOARCH != "amd64" {
		return Kernel{}, fmt.Errorf("user-mode Linux runs on amd64, not on %s", runtime.GOARCH)
	}
	entry, err := cache.Populate(ctx, cacheEntry, digest(), func(out string) error {
		p.Printf("user-mode Linux: building the kernel, once on this machine (ten minutes)")
		defer p.Every(ctx, 30*time.Second, "user-mode Linux: building the kernel")()
		return runScript(ctx, filepath.Join(repository, script), out)
	})
	if err != nil {
		return Kernel{}, err
	}
	return findIn(entry)
}

// runScript lets the script put a kernel into the directory out. It gets the configuration as a file, which it may remove.
func runScript(ctx context.Context, path, out string) error {
	fragment := filepath.Join(out, "config")
	if err := os.WriteFile(fragment, config, 0o644); err != nil {
		return err
	}
	var output bytes.Buffer
	cmd := exec.Command(path, fragment, out)
	cmd.Stdout, cmd.Stderr = &output, &output
	child, err := proc.Start(cmd)
	if err != nil {
		return err
	}
	select {
	case <-child.Done():
	case <-ctx.Done():
		return errors.Join(ctx.Err(), child.Stop(5*time.Second))
	}
	if err := child.Err(); err != nil {
		lines := strings.Split(strings.TrimSpace(output.String()), "\n")
		return fmt.Errorf("%s: %w:\n%s", path, err, strings.Join(lines[max(0, len(lines)-20):], "\n"))
	}
	return nil
}

func findIn(entry string) (Kernel, error) {
	found, err := filepath.Glob(filepath.Join(entry, prefix+"*"))
	if err != nil {
		return Kernel{}, err
	}
	if len(found) != 1 {
		return Kernel{}, fmt.Errorf("%s has %d kernels, want 1 (`lab prepare --functional` builds it): %w", entry, len(found), fs.ErrNotExist)
	}
	return Kernel{Path: found[0], Version: strings.TrimPrefix(filepath.Base(found[0]), prefix)}, nil
}

// digest names the configuration in the cache.
func digest() string {
	sum := sha256.Sum256(config)
	return hex.EncodeToString(sum[:6])
}
