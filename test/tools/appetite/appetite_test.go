// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package appetite

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// recorder is a test that may fail.
type recorder struct {
	testing.TB
	failed bool
}

func (*recorder) Helper()                 {}
func (r *recorder) Errorf(string, ...any) { r.failed = true }

var sink []byte

func TestBounded(t *testing.T) {
	for _, test := range []struct {
		name         string
		takes, input int
		fails        bool
	}{
		{"little", 100, 100, false},
		{"as much as allowed", 8 << 20, 1 << 20, false},
		{"the length that a short input claims", 8 << 20, 4, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := &recorder{TB: t}
			Bounded(r, test.input, 8, func() { sink = make([]byte, test.takes) })
			require.Equal(t, test.fails, r.failed)
		})
	}
}

// Other goroutines of the test also allocate, but not each time.
func TestBoundedIgnoresWhatOthersAllocateOnce(t *testing.T) {
	r, calls := &recorder{TB: t}, 0
	Bounded(r, 4, 8, func() {
		if calls++; calls == 1 {
			sink = make([]byte, 8<<20)
		}
	})
	require.False(t, r.failed)
	require.Equal(t, 2, calls)
}
