// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package logtest lets tests look at what is logged: that something is said once, and not once per attempt.
package logtest

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr/funcr"
	"k8s.io/klog/v2"
)

// Capture takes what klog logs until the test ends. The returned function returns the lines so far that contain one of the
// given texts, or all lines without texts. Tests that use it must not be parallel.
func Capture(t *testing.T) func(containing ...string) []string {
	var mu sync.Mutex
	var lines []string
	state := klog.CaptureState()
	t.Cleanup(state.Restore)
	klog.SetLogger(funcr.New(func(_, line string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, line)
	}, funcr.Options{}))
	return func(containing ...string) []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
			return len(containing) > 0 && !slices.ContainsFunc(containing, func(text string) bool { return strings.Contains(line, text) })
		})
	}
}

// text is a buffer for several writers.
type text struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (t *text) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buffer.Write(b)
}

func (t *text) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buffer.String()
}

// Text records klog's output until the test ends. The returned function returns the output so far. Unlike with Capture,
// other goroutines may log at all times, also after the test: goroutines of the API machinery end in the background.
func Text(t *testing.T) func() string {
	written := &text{}
	klog.SetOutput(written)
	klog.LogToStderr(false)
	t.Cleanup(func() { klog.LogToStderr(true) })
	return func() string {
		klog.Flush()
		return written.String()
	}
}
