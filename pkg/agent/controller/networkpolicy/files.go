// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
)

// files keeps the objects of one resource, each as JSON in a file that has its name.
type files struct{ dir string }

// temporarySuffix is of files that are being written.
const temporarySuffix = ".tmp"

func newFiles(dir string) (*files, error) {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("make the directory for the last known policies: %w", err)
	}
	return &files{dir: dir}, nil
}

func (f *files) path(name string) (string, error) {
	if name == "" || strings.HasPrefix(name, ".") || strings.ContainsRune(name, filepath.Separator) || strings.HasSuffix(name, temporarySuffix) {
		return "", fmt.Errorf("object name %q cannot be that of a file", name)
	}
	return filepath.Join(f.dir, name), nil
}

// save writes the object's file, so that a reader sees the former content or the new one.
func (f *files) save(name string, object any) error {
	path, err := f.path(name)
	if err != nil {
		return err
	}
	content, err := json.Marshal(object)
	if err != nil {
		return fmt.Errorf("save %s: %w", path, err)
	}
	if err := os.WriteFile(path+temporarySuffix, content, 0o640); err != nil {
		return err
	}
	return os.Rename(path+temporarySuffix, path)
}

// remove deletes the object's file, if there is one.
func (f *files) remove(name string) error {
	path, err := f.path(name)
	if err != nil {
		return err
	}
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// names returns the names of all objects.
func (f *files) names() ([]string, error) {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), temporarySuffix) {
			names = append(names, entry.Name())
		}
	}
	return names, nil
}

// removeExcept deletes the files of all other objects.
func (f *files) removeExcept(keep sets.Set[string]) error {
	names, err := f.names()
	for _, name := range names {
		if !keep.Has(name) {
			err = errors.Join(err, f.remove(name))
		}
	}
	return err
}

// load reads all objects. A file that cannot be read does not keep the others away: the errors are joined.
func load[T any](f *files) ([]*T, error) {
	names, err := f.names()
	var objects []*T
	for _, name := range names {
		object := new(T)
		content, readErr := os.ReadFile(filepath.Join(f.dir, name))
		if readErr == nil {
			readErr = json.Unmarshal(content, object)
		}
		if readErr != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", filepath.Join(f.dir, name), readErr))
			continue
		}
		objects = append(objects, object)
	}
	return objects, err
}
