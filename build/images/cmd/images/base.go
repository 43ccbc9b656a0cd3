// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// base is the content of base/release: the releases of Debian, and of its Open vSwitch, that the images have.
type base struct {
	debian, openVSwitch string
}

// readBase reads it; folder has the images' sources.
func readBase(folder string) (b base, err error) {
	file := filepath.Join(folder, "base/release")
	text, err := os.ReadFile(file)
	if err != nil {
		return b, fmt.Errorf("reading the images' base: %w", err)
	}
	values := map[string]*string{"DEBIAN": &b.debian, "OPENVSWITCH": &b.openVSwitch}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, value, _ := strings.Cut(line, "=")
		if values[key] == nil || value == "" {
			return b, fmt.Errorf("%s has the line %q, must be like DEBIAN=12 or OPENVSWITCH=3.1", file, line)
		}
		*values[key] = value
	}
	for key, value := range values {
		if *value == "" {
			return b, fmt.Errorf("%s lacks %s", file, key)
		}
	}
	return b, nil
}
