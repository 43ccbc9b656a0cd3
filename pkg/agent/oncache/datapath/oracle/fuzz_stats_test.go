// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fuzzStats counts the cases that were run. The fuzzer's workers are separate processes, so each writes a file into the directory
// ONCACHE_FUZZ_STATS, and `make fuzz` adds them up.
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
