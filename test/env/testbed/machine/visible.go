// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

var (
	// privateDirs are a virtual machine's own: of the host's directories below them it sees only those that are lent to it.
	privateDirs = []string{"/tmp", "/run"}
	// kernelDirs belong to the kernel, so the host's cannot be lent.
	kernelDirs = []string{"/dev", "/proc", "/sys"}
)

// CheckVisible returns an error for a directory that a virtual machine cannot see, even if it is among Options.Directories.
func CheckVisible(dir string) error {
	_, err := lentDirectories([]string{dir})
	return err
}

// lentDirectories returns the directories among dirs that the host has to lend to a virtual machine: absolute, with symbolic links
// resolved, each once and none below another one.
func lentDirectories(dirs []string) ([]string, error) {
	var lent []string
	for _, dir := range dirs {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return nil, err
		}
		if abs, err = filepath.EvalSymlinks(abs); err != nil {
			return nil, err
		}
		if own := parentAmong(kernelDirs, abs); own != "" || slices.Contains(privateDirs, abs) {
			if own == "" {
				own = abs
			}
			return nil, fmt.Errorf("%s is not visible in the virtual machine, which has a %s of its own: use another directory", abs, own)
		}
		if parentAmong(privateDirs, abs) != "" {
			lent = append(lent, abs)
		}
	}
	slices.Sort(lent)
	var needed []string
	for _, dir := range lent {
		if parentAmong(needed, dir) == "" {
			needed = append(needed, dir)
		}
	}
	return needed, nil
}

// parentAmong returns the one of the directories that is dir or contains it, "" for none.
func parentAmong(dirs []string, dir string) string {
	for _, parent := range dirs {
		if dir == parent || strings.HasPrefix(dir, parent+"/") {
			return parent
		}
	}
	return ""
}
