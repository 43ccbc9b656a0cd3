// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"math/rand/v2"
)

const (
	// contentPeriod is prime, so that content shifted by a power of two (a wrapped sequence number) differs.
	contentPeriod = 1_048_573
	maxChunk      = 256 << 10
)

// pattern is one period of the content and the start of the next.
var pattern = func() []byte {
	p := make([]byte, contentPeriod+maxChunk)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range contentPeriod {
		p[i] = byte(random.Uint32())
	}
	copy(p[contentPeriod:], p)
	return p
}()

// content returns the n bytes at offset of the endless stream that every sender sends. n is at most maxChunk.
func content(offset uint64, n int) []byte {
	start := offset % contentPeriod
	return pattern[start : start+uint64(n)]
}

// isContent reports whether data is the content at offset.
func isContent(data []byte, offset uint64) bool {
	for len(data) > 0 {
		n := min(len(data), maxChunk)
		if !bytes.Equal(data[:n], content(offset, n)) {
			return false
		}
		data, offset = data[n:], offset+uint64(n)
	}
	return true
}
