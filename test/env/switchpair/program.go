// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package switchpair

import (
	"fmt"
	"os"
)

// Program stands in for testing.T in a program: it collects cleanup functions, and Fatalf panics with a failure, which Try
// recovers.
type Program struct {
	cleanups []func()
	failed   bool
}

type failure struct{ error }

// Cleanup registers what Close does.
func (h *Program) Cleanup(f func()) { h.cleanups = append(h.cleanups, f) }

// Errorf prints an error.
func (h *Program) Errorf(format string, args ...any) {
	h.failed = true
	h.Logf(format, args...)
}

// Failed reports whether there was an error.
func (h *Program) Failed() bool { return h.failed }

// Fatalf panics with a failure, which Try returns as an error.
func (h *Program) Fatalf(format string, args ...any) {
	h.failed = true
	panic(failure{fmt.Errorf(format, args...)})
}

// Helper does nothing.
func (h *Program) Helper() {}

// Logf prints.
func (h *Program) Logf(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

// Skip and Skipf panic like Fatalf: a program that cannot do its work has failed.
func (h *Program) Skip(args ...any) { panic(failure{fmt.Errorf("%s", fmt.Sprint(args...))}) }

// Skipf is described with Skip.
func (h *Program) Skipf(format string, args ...any) { h.Skip(fmt.Sprintf(format, args...)) }

// Close cleans up, last registered first.
func (h *Program) Close() {
	for ; len(h.cleanups) > 0; h.cleanups = h.cleanups[:len(h.cleanups)-1] {
		h.cleanups[len(h.cleanups)-1]()
	}
}

// Try runs f and returns its error, or the error of Fatalf or Skip.
func (h *Program) Try(f func() error) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case failure:
			err = r.error
		default:
			panic(r)
		}
	}()
	return f()
}
