// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// FuzzCases runs packets that are hits, or almost, with map states that fit them, or almost, through Egress and Ingress, and
// compares with the oracle. Its input is a recipe.
func FuzzCases(f *testing.F) {
	w := newFuzzWorld(f)
	for kind := range 32 {
		f.Add([]byte{byte(kind)})
	}
	f.Fuzz(func(t *testing.T, input []byte) { w.check(t, w.cook(input)) })
}

// FuzzFrames runs arbitrary frames. The maps are those under which the base packet of the kind is a hit; the entry is that of
// the frame.
func FuzzFrames(f *testing.F) {
	w := newFuzzWorld(f)
	for kind := range w.bases {
		f.Add(byte(kind), w.bases[kind].packet.Frame)
	}
	f.Fuzz(func(t *testing.T, kind byte, frame []byte) {
		// Less than an Ethernet header never comes to a hook; more than a page is not linear.
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

// fuzzStats counts what was run. The fuzzer's workers are processes of their own, so each writes a file into the directory
// that ONCACHE_FUZZ_STATS names, for `make fuzz` to add up.
type fuzzStats struct {
	path             string
	executions, hits uint64
	written          time.Time
}

func newFuzzStats(t testing.TB) *fuzzStats {
	s := &fuzzStats{}
	if directory := os.Getenv("ONCACHE_FUZZ_STATS"); directory != "" {
		s.path = filepath.Join(directory, strconv.Itoa(os.Getpid()))
		t.Cleanup(func() { require.NoError(t, s.write()) })
	}
	return s
}

func (s *fuzzStats) note(hit bool) {
	s.executions++
	if hit {
		s.hits++
	}
	if s.path != "" && s.executions%1024 == 0 && time.Since(s.written) > time.Second {
		_ = s.write() // the last one counts
	}
}

func (s *fuzzStats) write() error {
	s.written = time.Now()
	return os.WriteFile(s.path, fmt.Appendf(nil, "%d %d\n", s.executions, s.hits), 0o644)
}
