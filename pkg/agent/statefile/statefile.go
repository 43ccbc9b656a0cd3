// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package statefile replaces the files that the agent keeps for the next agent of this boot. They may be lost when the Node restarts,
// together with the things that they describe: nothing is synchronized to a disk.
package statefile

import (
	"errors"
	"os"
	"path/filepath"
)

// TemporarySuffix is the suffix of a file that is being written. An agent that is killed leaves it, and the next Replace overwrites it.
const TemporarySuffix = ".tmp"

// Replace replaces the file as a whole, or leaves it as it is: a reader sees the former content or the new one. Only root can read
// it. The directory is made if it does not exist.
func Replace(file string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
		return err
	}
	temporary := file + TemporarySuffix
	if err := ignoreMissing(os.Remove(temporary)); err != nil { // It may have another mode.
		return err
	}
	err := os.WriteFile(temporary, content, 0o600)
	if err == nil {
		err = os.Rename(temporary, file)
	}
	if err != nil {
		return errors.Join(err, ignoreMissing(os.Remove(temporary)))
	}
	return nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
