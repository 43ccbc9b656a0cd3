// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTableOrder(t *testing.T) {
	p := newPipeline([]TableSpec{{Name: "B", ID: 9, Stage: StageOutput}, {Name: "A", ID: 4, Stage: StageOutput}, {Name: "root", Stage: StageRoot}})
	require.Equal(t, map[uint8]string{0: "root", 4: "A", 9: "B"}, p.Names())
	require.EqualValues(t, 4, p.Next("root"))
	require.EqualValues(t, 9, p.Next("A"))
	require.EqualValues(t, 4, p.FirstOf(StageOutput))
	require.PanicsWithValue(t, "table B is the last one", func() { p.Next("B") })
	for id, want := range map[uint8]string{0: "root", 3: "", 4: "A", 10: ""} {
		spec, exists := p.at(id)
		require.Equal(t, want, spec.Name)
		require.Equal(t, want != "", exists)
	}
}
