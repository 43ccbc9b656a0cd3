// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTableOrder(t *testing.T) {
	p := newPipeline([][]tableSpec{
		{{name: "b1", stage: stageOutput, before: "B"}, {name: "a1", stage: stageOutput, after: "A"}},
		{{name: "A", stage: stageOutput}, {name: "B", stage: stageOutput}, {name: "root", stage: stageRoot}},
		{{name: "b2", stage: stageOutput, before: "B"}, {name: "a2", stage: stageOutput, after: "A"}},
	})
	var order []string
	for _, spec := range p.tables {
		order = append(order, spec.name)
	}
	require.Equal(t, []string{"root", "A", "a1", "a2", "b1", "b2", "B"}, order)
}
