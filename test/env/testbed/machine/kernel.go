// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"bufio"
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/antrea-oncache/antrea/test/env/testbed/cache"
)

// Kernel names a distribution kernel in the cache, put there by hack/install-deps.sh.
type Kernel string

const (
	// KernelBackports is the kernel of the backports suite (Debian 12: Linux 6.12).
	KernelBackports Kernel = "backports"
	// KernelStable is the kernel of the release itself (Debian 12: Linux 6.1).
	KernelStable Kernel = "stable"
)

// cacheEntries are the names of the kernels' entries in the cache.
var cacheEntries = map[Kernel]string{KernelBackports: "kernel", KernelStable: "kernel-stable"}

// files are the files in the cache that a virtual machine is made of.
type files struct {
	kernel, modulesRoot, virtiofsd string
}

func findFiles(which Kernel) (files, error) {
	if which == "" {
		which = KernelBackports
	}
	entry, known := cacheEntries[which]
	if !known {
		return files{}, fmt.Errorf("kernel %q is not known, use %q or %q", which, KernelBackports, KernelStable)
	}
	kernelDir, err := cache.Current(entry)
	if err != nil {
		return files{}, fmt.Errorf("%w: run `make deps`", err)
	}
	kernels, err := filepath.Glob(filepath.Join(kernelDir, "boot", "vmlinuz-*"))
	if err != nil || len(kernels) != 1 {
		return files{}, fmt.Errorf("%s/boot has %d kernels, want 1: remove the directory and run `make deps`", kernelDir, len(kernels))
	}
	virtiofsd, err := cache.Current("virtiofsd")
	if err != nil {
		return files{}, fmt.Errorf("%w: run `make deps`", err)
	}
	return files{kernel: kernels[0], modulesRoot: kernelDir, virtiofsd: filepath.Join(virtiofsd, "virtiofsd")}, nil
}

// release is the kernel's version as uname shows it.
func (f files) release() string { return strings.TrimPrefix(filepath.Base(f.kernel), "vmlinuz-") }

// bootModules returns the modules without which the kernel cannot mount the host's file system, in the order of loading, except
// those that are built in.
func (f files) bootModules() ([]string, error) {
	cmd := exec.Command("modprobe", "-d", f.modulesRoot, "-S", f.release(), "-a", "--show-depends", "virtio_pci", "virtiofs")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", cmd, err, strings.TrimSpace(stderr.String()))
	}
	return modulesToLoad(out), nil
}

// modulesToLoad parses the output of `modprobe --show-depends`: lines of "insmod FILE" and "builtin NAME".
func modulesToLoad(shown []byte) []string {
	var modules []string
	seen := map[string]bool{}
	for lines := bufio.NewScanner(bytes.NewReader(shown)); lines.Scan(); {
		word := strings.Fields(lines.Text())
		if len(word) >= 2 && word[0] == "insmod" && !seen[word[1]] {
			seen[word[1]] = true
			modules = append(modules, word[1])
		}
	}
	return modules
}
