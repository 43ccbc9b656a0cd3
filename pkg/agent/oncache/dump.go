// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"fmt"
	"io"
)

// Maps are the names of the maps that DumpMap knows. There are none while the cache is not available.
func (m *Manager) Maps() ([]string, error) {
	if m.Unavailable() != nil {
		return nil, nil
	}
	stats, err := m.dp.MapStats()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, s := range stats {
		names = append(names, s.Name)
	}
	return names, nil
}

// DumpMap writes the first limit entries of a map, in the form of datapath.DumpMap.
func (m *Manager) DumpMap(name string, limit int, w io.Writer) error {
	if reason := m.Unavailable(); reason != nil {
		return fmt.Errorf("ONCache is not available on this Node: %w", reason)
	}
	return m.dp.DumpMap(name, limit, w)
}

// DescribePrograms writes what datapath.DescribePrograms does.
func (m *Manager) DescribePrograms(w io.Writer) error {
	if reason := m.Unavailable(); reason != nil {
		return fmt.Errorf("ONCache is not available on this Node: %w", reason)
	}
	return m.dp.DescribePrograms(w)
}
