// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTableOrder(t *testing.T) {
	p := newPipeline([][]TableSpec{
		{{Name: "b1", Stage: StageOutput, Before: "B"}, {Name: "a1", Stage: StageOutput, After: "A"}},
		{{Name: "A", Stage: StageOutput}, {Name: "B", Stage: StageOutput}, {Name: "root", Stage: StageRoot}},
		{{Name: "b2", Stage: StageOutput, Before: "B"}, {Name: "a2", Stage: StageOutput, After: "A"}},
	})
	var order []string
	for _, spec := range p.tables {
		order = append(order, spec.Name)
	}
	require.Equal(t, []string{"root", "A", "a1", "a2", "b1", "b2", "B"}, order)
}
