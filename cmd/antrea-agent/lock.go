// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

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

const (
	// lockTimeout bounds the wait for a former agent to end: more than the stopTimeout that one takes at most. A DaemonSet's new
	// Pod starts when the old one has gone, so nobody waits as a rule; after a Pod was deleted by force the two overlap for
	// as long as the old one takes to stop, and giving up at once would cost a restart with the kubelet's back-off.
	lockTimeout  = 5 * time.Second
	lockInterval = 50 * time.Millisecond
)

// lockNode makes this process the only agent of the Node until it calls unlock or ends, in whatever way: the kernel gives up the
// lock of a process that was killed. Two agents would replace each other's flows, and reset each other's cache. The file
// stays: without it a third agent could lock another file of the same name.
func lockNode(ctx context.Context, path string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("lock file %s: %w", path, err)
	}
	// Programs that the agent runs do not inherit it: package os opens with O_CLOEXEC.
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock file: %w", err)
	}
	if err := waitForLock(ctx, f); err != nil {
		f.Close()
		return nil, err
	}
	if err := signLock(f); err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}

func waitForLock(ctx context.Context, f *os.File) error {
	ticker := time.NewTicker(lockInterval)
	defer ticker.Stop()
	timeout := time.NewTimer(lockTimeout)
	defer timeout.Stop()
	for waiting := false; ; waiting = true {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("lock file %s: %w", f.Name(), err)
		}
		if !waiting {
			klog.InfoS("Waiting for another antrea-agent on this Node to end", "lockFile", f.Name(), "holder", lockHolder(f.Name()), "timeout", lockTimeout)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-timeout.C:
			return fmt.Errorf("another antrea-agent runs on this Node: lock file %s is held by %s; want one agent per Node", f.Name(), lockHolder(f.Name()))
		case <-ticker.C:
		}
	}
}

// signLock writes who holds the lock. In a container the process id is that of the container; the Pod tells them apart.
func signLock(f *os.File) error {
	holder := fmt.Sprintf("process %d", os.Getpid())
	if pod := os.Getenv("POD_NAME"); pod != "" {
		holder += fmt.Sprintf(" of Pod %s/%s", os.Getenv("POD_NAMESPACE"), pod)
	}
	if err := f.Truncate(0); err != nil {
		return fmt.Errorf("lock file: %w", err)
	}
	if _, err := f.WriteAt([]byte(holder+"\n"), 0); err != nil {
		return fmt.Errorf("lock file: %w", err)
	}
	return nil
}

// lockHolder reads what signLock has written; for a moment after the lock was taken it may not be there yet.
func lockHolder(path string) string {
	text, err := os.ReadFile(path)
	if holder := strings.TrimSpace(string(text)); err == nil && holder != "" {
		return holder
	}
	return "a process that has not signed it yet"
}
