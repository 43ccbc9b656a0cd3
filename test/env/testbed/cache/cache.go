// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cache keeps what is expensive to make (built binaries, unpacked packages) between runs of the testbed.
//
// Layout: <root>/<tool>/<version>/..., and optionally <root>/<tool>/current, a symbolic link to one version.
// hack/install-deps.sh fills the entries "kernel", "kernel-stable" and "virtiofsd" in the same layout, package umlkernel the entry "uml-kernel".
package cache

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Root is ${XDG_CACHE_HOME:-$HOME/.cache}/antrea-oncache. It need not exist yet.
func Root() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no cache directory, set HOME or XDG_CACHE_HOME: %w", err)
	}
	return filepath.Join(dir, "antrea-oncache"), nil
}

// Current returns the directory that <root>/<tool>/current points to. An entry that does not exist is fs.ErrNotExist.
func Current(tool string) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	dir, err := filepath.EvalSymlinks(filepath.Join(root, tool, "current"))
	if err != nil {
		return "", fmt.Errorf("cache has no %s: %w", tool, err)
	}
	return dir, nil
}

// Has reports whether <root>/<tool>/<version> exists.
func Has(tool, version string) bool {
	root, err := Root()
	return err == nil && exists(filepath.Join(root, tool, version))
}

// Populate returns <root>/<tool>/<version>, calling fill with a temporary directory first when that entry does not
// exist. The entry appears only when fill has succeeded, and only one process at a time fills it; others wait until it is
// there or ctx ends.
func Populate(ctx context.Context, tool, version string, fill func(dir string) error) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	parent := filepath.Join(root, tool)
	entry := filepath.Join(parent, version)
	if exists(entry) {
		return entry, nil
	}
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", fmt.Errorf("creating cache directory: %w", err)
	}
	unlock, err := lock(ctx, entry+".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	if exists(entry) {
		return entry, nil
	}
	tmp, err := os.MkdirTemp(parent, "."+version+"-")
	if err != nil {
		return "", fmt.Errorf("creating cache entry %s: %w", entry, err)
	}
	defer os.RemoveAll(tmp)
	if err := os.Chmod(tmp, 0o755); err != nil {
		return "", err
	}
	if err := fill(tmp); err != nil {
		return "", fmt.Errorf("filling cache entry %s %s: %w", tool, version, err)
	}
	if err := os.Rename(tmp, entry); err != nil {
		return "", fmt.Errorf("publishing cache entry: %w", err)
	}
	return entry, nil
}

// RemoveOthers removes all versions of a tool but one. They must not be in use.
func RemoveOthers(tool, version string) error {
	root, err := Root()
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(filepath.Join(root, tool))
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		// Names that begin with a dot are being filled; a lock stays because another process may wait for it.
		if name := e.Name(); e.IsDir() && name != version && !strings.HasPrefix(name, ".") {
			errs = append(errs, os.RemoveAll(filepath.Join(root, tool, name)))
		}
	}
	return errors.Join(errs...)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

func lock(ctx context.Context, path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening cache lock: %w", err)
	}
	for {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			f.Close()
			return nil, fmt.Errorf("locking %s: %w", path, err)
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, fmt.Errorf("waiting for the process that holds %s: %w", path, ctx.Err())
		case <-time.After(200 * time.Millisecond):
		}
	}
}
