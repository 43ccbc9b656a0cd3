// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package nodefacts

import "golang.org/x/sys/unix"

// kernelRelease returns the kernel's version as uname -r prints it.
func kernelRelease() (string, error) {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return "", err
	}
	return unix.ByteSliceToString(name.Release[:]), nil
}

// isBPFFS reports whether a bpffs is mounted at a path.
func isBPFFS(path string) bool {
	var mounted unix.Statfs_t
	return unix.Statfs(path, &mounted) == nil && mounted.Type == unix.BPF_FS_MAGIC
}
