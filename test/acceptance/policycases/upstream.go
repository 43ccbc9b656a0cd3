// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policycases

import (
	_ "embed"
	"fmt"
	"strings"
)

//go:embed upstream.txt
var upstream string

// UpstreamCase is a case of upstream's.
type UpstreamCase struct {
	// Name is the name of the test here that does the same.
	Name string
	// Needs are the needs of upstream's case: "2" or "3" Nodes, or "internet".
	Needs string
}

// Upstream returns all of upstream's cases of its policies.
func Upstream() (cases []UpstreamCase, err error) {
	for line := range strings.Lines(upstream) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		needs, name, ok := strings.Cut(line, "\t")
		if !ok {
			return nil, fmt.Errorf("upstream.txt: %q has no tab", line)
		}
		cases = append(cases, UpstreamCase{name, needs})
	}
	return cases, nil
}
