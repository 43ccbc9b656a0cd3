// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// original returns the content of the mutant's file in the repository, which contains the mutant's place.
func (m *mutant) original(repository string) (string, error) {
	content, err := os.ReadFile(filepath.Join(repository, m.file))
	if err != nil {
		return "", fmt.Errorf("%s: %w", m.name, err)
	}
	if !strings.Contains(string(content), m.from) {
		return "", fmt.Errorf("%s: %s no longer contains %q; update the mutant", m.name, m.file, m.from)
	}
	return string(content), nil
}

// repositoryRoot returns the root of the repository that contains the working directory.
func repositoryRoot() (string, error) {
	out, err := exec.Command("git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		return "", fmt.Errorf("git rev-parse: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// copyTree copies the files of the repository that git does not ignore. Compiled with -trimpath, packages in the copy are found in Go's
// build cache.
func copyTree(repository, to string) error {
	cmd := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = repository
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("git ls-files: %w", err)
	}
	for name := range bytes.SplitSeq(bytes.TrimSuffix(out, []byte{0}), []byte{0}) {
		if err := copyFile(filepath.Join(repository, string(name)), filepath.Join(to, string(name))); err != nil {
			return err
		}
	}
	return nil
}

// copyFile copies a regular file; it ignores symbolic links and deleted files.
func copyFile(from, to string) error {
	info, err := os.Lstat(from)
	if os.IsNotExist(err) || err == nil && info.Mode()&fs.ModeType != 0 {
		return nil
	}
	if err != nil {
		return err
	}
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, content, info.Mode().Perm())
}
