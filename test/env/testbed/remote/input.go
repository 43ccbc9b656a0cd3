// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"io"
	"sync"
)

// input passes bytes on to a command without ever blocking the sender: a command that does not read its input must still get
// signals, which arrive on the same connection.
type input struct {
	mu      sync.Mutex
	changed *sync.Cond
	queue   []byte
	closed  bool
}

// newInput starts passing bytes on to w. It closes w when w fails, or after a call of close, once all bytes are passed on.
func newInput(w io.WriteCloser) *input {
	in := &input{}
	in.changed = sync.NewCond(&in.mu)
	go func() {
		defer w.Close()
		for {
			p := in.next()
			if p == nil {
				return
			}
			if _, err := w.Write(p); err != nil { // the command has ended, or has closed its input
				return
			}
		}
	}()
	return in
}

func (in *input) write(p []byte) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.queue = append(in.queue, p...)
	in.changed.Signal()
}

func (in *input) close() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.closed = true
	in.changed.Signal()
}

// next waits for bytes; nil means the end of the input.
func (in *input) next() []byte {
	in.mu.Lock()
	defer in.mu.Unlock()
	for len(in.queue) == 0 && !in.closed {
		in.changed.Wait()
	}
	p := in.queue
	in.queue = nil
	return p
}
