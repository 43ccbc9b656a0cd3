// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/test/env/testbed/proc"
)

// privateMounts gives the calling thread, which has a new network and mount namespace, its own /sys.
func privateMounts() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("making mounts private: %w", err)
	}
	// A sysfs shows the network devices of the namespace in which it was mounted.
	if err := unix.Mount("sysfs", "/sys", "sysfs", 0, ""); err != nil {
		return fmt.Errorf("mounting sysfs: %w", err)
	}
	return nil
}

// nodeMounts gives a Node its own /run (which /var/run is), /var/log (kept in logDir), bpffs, and writable layers over /etc,
// /opt and /var/lib, so that standard paths can be used without changing the machine.
func nodeMounts(logDir string) error {
	if err := privateMounts(); err != nil {
		return err
	}
	if err := unix.Mount("bpf", "/sys/fs/bpf", "bpf", 0, ""); err != nil {
		return fmt.Errorf("mounting bpffs: %w", err)
	}
	if err := unix.Mount("tmpfs", "/run", "tmpfs", 0, "mode=755"); err != nil {
		return fmt.Errorf("mounting /run: %w", err)
	}
	for _, dir := range []string{"/etc", "/opt", "/var/lib"} {
		layer := filepath.Join("/run/layers", dir)
		upper, work := filepath.Join(layer, "upper"), filepath.Join(layer, "work")
		for _, d := range []string{upper, work} {
			if err := os.MkdirAll(d, 0o755); err != nil {
				return err
			}
		}
		options := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", dir, upper, work)
		if err := unix.Mount("overlay", dir, "overlay", 0, options); err != nil {
			return fmt.Errorf("mounting a writable layer over %s: %w", dir, err)
		}
	}
	if err := os.MkdirAll("/run/lock", 0o1777); err != nil {
		return err
	}
	if err := unix.Mount(logDir, "/var/log", "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mounting %s on /var/log: %w", logDir, err)
	}
	return nil
}

// newNamespaces starts a thread in new namespaces and calls setup on it.
func newNamespaces(flags int, setup func() error) (*proc.Thread, error) {
	thread := proc.NewThread()
	err := thread.Do(func() error {
		if err := unix.Unshare(flags); err != nil {
			return fmt.Errorf("making namespaces: %w", err)
		}
		return setup()
	})
	if err != nil {
		thread.Close()
		return nil, err
	}
	return thread, nil
}

// addNetNS makes a network namespace with a name in /run/netns, as `ip netns add` does, leaving the calling thread in its
// own, and returns the open namespace.
func addNetNS(path string) (_ *os.File, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o444)
	if err != nil {
		return nil, err
	}
	f.Close()
	defer func() {
		if err != nil {
			os.Remove(path)
		}
	}()
	own, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return nil, err
	}
	defer own.Close()
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return nil, fmt.Errorf("making a network namespace: %w", err)
	}
	mountErr := unix.Mount("/proc/thread-self/ns/net", path, "", unix.MS_BIND, "")
	if err := unix.Setns(int(own.Fd()), unix.CLONE_NEWNET); err != nil {
		panic(fmt.Sprintf("cannot return to the network namespace: %v", err))
	}
	if mountErr != nil {
		return nil, fmt.Errorf("naming the network namespace %s: %w", path, mountErr)
	}
	ns, err := os.Open(path)
	if err != nil {
		_ = unix.Unmount(path, unix.MNT_DETACH) // only the error of Open matters
	}
	return ns, err
}

// removeNetNS undoes addNetNS.
func removeNetNS(path string) error {
	if err := unix.Unmount(path, unix.MNT_DETACH); err != nil {
		return fmt.Errorf("removing the network namespace %s: %w", path, err)
	}
	return os.Remove(path)
}

func writeFile(path string, data []byte, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, data, mode)
}
