// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package appetite bounds the memory that parsers allocate: one that believes a length in its input can be made to take far more than
// the input is long.
package appetite

import (
	"runtime/metrics"
	"testing"
)

const allocated = "/gc/heap/allocs:bytes"

// overhead is what any call may allocate, and what other goroutines of the test allocate meanwhile.
const overhead = 1 << 20

// Bounded fails the test if parse allocates more than the factor times the size of its input in bytes, and 1 MiB. Objects below 32 KiB
// that others have allocated before may be counted, too, so it does not tell apart less than that.
func Bounded(t testing.TB, input, factor int, parse func()) {
	t.Helper()
	before := read()
	parse()
	if took, most := read()-before, uint64(factor*input+overhead); took > most {
		t.Errorf("%d bytes were allocated for an input of %d; allowed: %d", took, input, most)
	}
}

func read() uint64 {
	sample := []metrics.Sample{{Name: allocated}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
