// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package nodelock lets one agent at a time work on a Node. Two of them would replace each other's flows, and reset each other's
// cache.
package nodelock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/klog/v2"
)

// DefaultFile is in the directory that agents of one Node share, regardless of their configuration and container.
const DefaultFile = "/var/run/antrea/antrea-agent.lock"

const (
	// timeout bounds the wait for a former agent to end: it is longer than the 2 s that this takes at most. A
	// DaemonSet's new Pod normally starts when the old one has gone, without a wait. After a Pod was deleted by force,
	// the two overlap until the old one has stopped, and giving up at once would cost a restart with the kubelet's
	// back-off.
	timeout  = 5 * time.Second
	interval = 50 * time.Millisecond
)

// Lock makes this process the only agent of the Node until it calls unlock or ends: the kernel releases the lock of a process that
// was killed. It waits for another agent for at most 5 s. The file stays, unless the holder removes it (antrea-agent cleanup does).
func Lock(ctx context.Context, path string) (unlock func(), err error) {
	for {
		f, err := lock(ctx, path)
		if err != nil {
			return nil, err
		}
		// If the former holder has removed the file, another agent may lock a new one of its name.
		if isAt(f, path) {
			return func() { f.Close() }, nil
		}
		f.Close()
	}
}

func lock(ctx context.Context, path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("lock file %s: %w", path, err)
	}
	// Programs that the agent runs do not inherit it: package os opens with O_CLOEXEC.
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock file: %w", err)
	}
	if err := wait(ctx, f); err != nil {
		f.Close()
		return nil, err
	}
	if err := sign(f); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// isAt reports whether an open file still has its path.
func isAt(f *os.File, path string) bool {
	held, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(path)
	return err == nil && os.SameFile(held, named)
}

func wait(ctx context.Context, f *os.File) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	giveUp := time.NewTimer(timeout)
	defer giveUp.Stop()
	for waiting := false; ; waiting = true {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("lock file %s: %w", f.Name(), err)
		}
		if !waiting {
			klog.InfoS("Waiting for another antrea-agent on this Node to end", "lockFile", f.Name(), "holder", holder(f.Name()), "timeout", timeout)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-giveUp.C:
			return fmt.Errorf("another antrea-agent runs on this Node: lock file %s is held by %s; want one agent per Node", f.Name(), holder(f.Name()))
		case <-ticker.C:
		}
	}
}

// sign writes the holder of the lock into the file. In a container the process id is the container's; the Pod tells
// them apart.
func sign(f *os.File) error {
	signature := fmt.Sprintf("process %d", os.Getpid())
	if pod := os.Getenv("POD_NAME"); pod != "" {
		signature += fmt.Sprintf(" of Pod %s/%s", os.Getenv("POD_NAMESPACE"), pod)
	}
	if err := f.Truncate(0); err != nil {
		return fmt.Errorf("lock file: %w", err)
	}
	if _, err := f.WriteAt([]byte(signature+"\n"), 0); err != nil {
		return fmt.Errorf("lock file: %w", err)
	}
	return nil
}

// holder reads what sign has written. For a moment after the lock was taken it may still be missing.
func holder(path string) string {
	text, err := os.ReadFile(path)
	if signature := strings.TrimSpace(string(text)); err == nil && signature != "" {
		return signature
	}
	return "a process that has not signed it yet"
}
