// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package result

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Load reads a file.
func Load(path string) (*Run, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var r Run
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if r.Schema != Schema {
		return nil, fmt.Errorf("%s has schema %d, this program reads %d: measure again with make bench", path, r.Schema, Schema)
	}
	return &r, nil
}

// LoadDir reads the file of each bed, <bed>.json, by bed. Beds without a file are absent.
func LoadDir(dir string, beds ...string) (map[string]*Run, error) {
	runs := map[string]*Run{}
	for _, bed := range beds {
		r, err := Load(filepath.Join(dir, bed+".json"))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		runs[bed] = r
	}
	return runs, nil
}

// Save writes a file atomically.
func Save(path string, r *Run) error {
	data, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return Replace(path, append(compact(data), '\n'))
}

// Replace writes a file atomically, and creates its directory if there is none.
func Replace(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	draft := path + ".new"
	if err := os.WriteFile(draft, data, 0o644); err != nil {
		return err
	}
	return os.Rename(draft, path)
}

// compact puts arrays of numbers on one line each: a file mostly consists of them.
func compact(indented []byte) []byte {
	var out []byte
	numbers := false
	for i := 0; i < len(indented); i++ {
		c := indented[i]
		switch {
		case c == '[':
			numbers = onlyNumbers(indented[i+1:])
		case c == ']':
			numbers = false
		case numbers && (c == '\n' || c == ' '):
			continue
		}
		out = append(out, c)
		if numbers && c == ',' {
			out = append(out, ' ')
		}
	}
	return out
}

// onlyNumbers reports whether an array contains neither strings nor objects.
func onlyNumbers(rest []byte) bool {
	for _, c := range rest {
		switch c {
		case ']':
			return true
		case '"', '{', '[':
			return false
		}
	}
	return false
}
