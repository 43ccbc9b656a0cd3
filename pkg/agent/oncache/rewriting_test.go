// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWithPort(t *testing.T) {
	tests := []struct{ name, present, want string }{
		{"none", "", "6083"},
		{"others", "5000,7000-7002", "5000,6083,7000-7002"},
		{"it is there", "6083", "6083"},
		{"in a range", "6000-6100", "6000-6100"},
		{"next to others", "6082,6084-6090", "6082-6090"},
		{"out of order", "7000,5000", "5000,6083,7000"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			got, err := withPort(tc.present, 6083)
			require.NoError(t, err)
			require.Equal(t, tc.want, got)
		})
	}
	_, err := withPort("many", 6083)
	require.ErrorContains(t, err, `"many" is not a list of ports`)
}

// TestRewriters: what the objects of Nodes say is known whether it comes before or after the Nodes are announced.
func TestRewriters(t *testing.T) {
	m := New(Config{Rewrite: true, RewritePort: 6083}, nil, nil, nil)
	m.SetNodeAnnotation("before", "6083")
	m.SetNodeAnnotation("other port", "6085")
	m.SetNodeAnnotation("none", "")
	require.True(t, m.rewriters.has("before"))
	require.False(t, m.rewriters.has("other port"))
	require.False(t, m.rewriters.has("none"))

	told := map[string]bool{}
	m.rewriters.follow(func(name string) { told[name] = m.rewriters.has(name) })
	m.SetNodeAnnotation("before", "6083")
	require.Empty(t, told, "nothing new")
	m.SetNodeAnnotation("before", "")
	m.SetNodeAnnotation("other port", "6083")
	require.Equal(t, map[string]bool{"before": false, "other port": true}, told)

	m = New(Config{RewritePort: 6083}, nil, nil, nil)
	m.SetNodeAnnotation("before", "6083")
	require.False(t, m.rewriters.has("before"), "this Node encapsulates")
}
