// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle_test

import (
	"testing"
)

// FuzzCases passes packets that are hits, or nearly, with map states that fit them, or nearly, through Egress and Ingress, and compares
// with the oracle. Its input is a recipe.
func FuzzCases(f *testing.F) {
	w := newFuzzWorld(f)
	for kind := range 32 {
		f.Add([]byte{byte(kind)})
		f.Add([]byte{byte(kind) | 64})
	}
	f.Fuzz(func(t *testing.T, input []byte) { w.check(t, w.cook(input)) })
}

// FuzzFrames runs arbitrary frames. With the same maps, the base packet of the kind is a hit; the entry is the frame's.
func FuzzFrames(f *testing.F) {
	w := newFuzzWorld(f)
	for kind := range w.bases {
		f.Add(byte(kind), w.bases[kind].packet.Frame)
	}
	f.Fuzz(func(t *testing.T, kind byte, frame []byte) {
		// A frame shorter than an Ethernet header never reaches a hook; one longer than a page is not linear.
		if len(frame) < 14 || len(frame) > 3500 {
			t.Skip()
		}
		c := w.bases[kind%16].clone()
		c.packet.Frame = frame
		if kind&16 == 0 {
			c.follow()
		}
		w.check(t, c)
	})
}
