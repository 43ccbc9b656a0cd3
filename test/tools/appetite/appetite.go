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

// overhead is the tolerated allocation of any call and of other goroutines of the test during it.
const overhead = 1 << 20

// attempts is the number of times that parse may seem to allocate too much. A parser that does so does it each time;
// other goroutines, such as the fuzzer's that writes an input down, do it now and then.
const attempts = 3

// Bounded fails the test if parse, which must do the same each time, allocates more than the factor times the size of
// its input in bytes, and 1 MiB. Earlier objects below 32 KiB may also be counted, so it does not notice less than
// that.
func Bounded(t testing.TB, input, factor int, parse func()) {
	t.Helper()
	most := uint64(factor*input + overhead)
	var took uint64
	for range attempts {
		before := read()
		parse()
		if took = read() - before; took <= most {
			return
		}
	}
	t.Errorf("%d bytes were allocated for an input of %d; allowed: %d", took, input, most)
}

func read() uint64 {
	sample := []metrics.Sample{{Name: allocated}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
