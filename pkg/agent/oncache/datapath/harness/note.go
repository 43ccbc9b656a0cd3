// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// inner is the offset of the inner IP header.
func (w *World) inner() int {
	if w.Family.Outer6 {
		return 14 + 40 + 8 + 8 + 14
	}
	return 14 + 20 + 8 + 8 + 14
}

// Note marks the flow of the IP packet at this offset as one that the programs have seen.
func (w *World) Note(t testing.TB, frame []byte, at int) {
	flow, ok := FiveTupleIn(frame, at)
	if !ok || w.strangers {
		return
	}
	hash := w.SlotHash(flow)
	require.NoError(t, w.Maps.Candidates.Put(w.CellOf(hash), hash))
}

// CellOf returns the index in the map of candidates that the programs' cell_of looks up.
func (w *World) CellOf(hash uint32) uint32 {
	return uint32(uint64(hash) * uint64(w.Maps.Candidates.MaxEntries()) >> 32)
}
