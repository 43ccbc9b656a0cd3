// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"sync"
)

// lineWriter passes on what it gets until discard is called.
type lineWriter struct {
	mu sync.Mutex
	to io.Writer
}

func (w *lineWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(p)
}

func (w *lineWriter) discard() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.to = io.Discard
}
