// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package logtest lets tests look at what is logged: that something is said once, and not once per attempt.
package logtest

import (
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
