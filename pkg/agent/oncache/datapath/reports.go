// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath

import (
	"errors"
	"fmt"
	"os"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/ringbuf"
)

// Reader reads reports of programs from a ring buffer. It is for one goroutine, but Close may be called by another one.
type Reader[T any] struct {
	reader *ringbuf.Reader
	record ringbuf.Record
	parse  func(sample []byte) (T, error)
}

func newReader[T any](m *ebpf.Map, parse func([]byte) (T, error)) (*Reader[T], error) {
	reader, err := ringbuf.NewReader(m)
	if err != nil {
		return nil, fmt.Errorf("read the ring buffer %v: %w", m, err)
	}
	return &Reader[T]{reader: reader, parse: parse}, nil
}

// Wait waits until there are reports and hands them to yield. At the deadline it returns os.ErrDeadlineExceeded; the zero time means
// no deadline.
func (r *Reader[T]) Wait(deadline time.Time, yield func(T)) error {
	r.reader.SetDeadline(deadline)
	return r.next(yield)
}

// Drain hands all available reports to yield, and does not wait.
func (r *Reader[T]) Drain(yield func(T)) error {
	r.reader.SetDeadline(time.Unix(1, 0))
	for {
		err := r.next(yield)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (r *Reader[T]) next(yield func(T)) error {
	if err := r.reader.ReadInto(&r.record); err != nil {
		return err
	}
	report, err := r.parse(r.record.RawSample)
	if err != nil {
		return err
	}
	yield(report)
	return nil
}

// decode copies a report of a program to a value of its type, which has no pointers. If the report is shorter, but has at least least
// bytes, the rest of the value stays as it is. There are thousands a second, too many for package reflect.
func decode[T any](sample []byte, to *T, least uintptr) error {
	if uintptr(len(sample)) < least {
		return fmt.Errorf("%d bytes; want at least %d", len(sample), least)
	}
	copy(unsafe.Slice((*byte)(unsafe.Pointer(to)), unsafe.Sizeof(*to)), sample)
	return nil
}

// Close ends a Wait, which returns os.ErrClosed.
func (r *Reader[T]) Close() error { return r.reader.Close() }
