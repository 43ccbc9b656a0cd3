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
	unlock, err := lock(ctx, entry+".lock", unix.LOCK_EX)
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

// Use is Populate for an entry that RemoveOthers, of this or another process, must not remove until release is called or this process ends.
func Use(ctx context.Context, tool, version string, fill func(dir string) error) (entry string, release func(), err error) {
	root, err := Root()
	if err != nil {
		return "", nil, err
	}
	if err := os.MkdirAll(filepath.Join(root, tool), 0o755); err != nil {
		return "", nil, fmt.Errorf("creating cache directory: %w", err)
	}
	release, err = lock(ctx, filepath.Join(root, tool, version+usedSuffix), unix.LOCK_SH)
	if err != nil {
		return "", nil, err
	}
	if entry, err = Populate(ctx, tool, version, fill); err != nil {
		release()
		return "", nil, err
	}
	return entry, release, nil
}

// usedSuffix ends the names of the files that users of an entry share a lock on.
const usedSuffix = ".used"

// RemoveOthers removes all versions of a tool that are not in use, except one.
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
			errs = append(errs, removeUnused(filepath.Join(root, tool, name)))
		}
	}
	return errors.Join(errs...)
}

func removeUnused(entry string) error {
	unlock, err := tryLock(entry+usedSuffix, unix.LOCK_EX)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unlock()
	return os.RemoveAll(entry)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// lock waits for a lock of one kind, unix.LOCK_EX or unix.LOCK_SH.
func lock(ctx context.Context, path string, kind int) (unlock func(), err error) {
	for {
		unlock, err = tryLock(path, kind)
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return unlock, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for the process that holds %s: %w", path, ctx.Err())
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// tryLock returns unix.EWOULDBLOCK if another process, or another caller, holds the lock.
func tryLock(path string, kind int) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening cache lock: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), kind|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	return func() { f.Close() }, nil
}
