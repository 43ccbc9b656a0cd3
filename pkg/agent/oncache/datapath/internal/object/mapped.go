// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"fmt"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// Mapped is an array map in this process's memory. The programs read single fields while the agent writes them: fields
// are therefore written with sync/atomic, each at once, in an order that the reader relies on. The map update system
// call would copy whole elements in no defined order.
type Mapped[T any] struct {
	memory   []byte
	Elements []T
}

// MapArray maps an array into memory, until Unmap.
func MapArray[T any](m *ebpf.Map) (*Mapped[T], error) {
	var zero T
	if size := m.ValueSize(); size != uint32(unsafe.Sizeof(zero)) || size%8 != 0 {
		return nil, fmt.Errorf("map %v: value size %d, Go type has %d; both must be equal and a multiple of 8", m, size, unsafe.Sizeof(zero))
	}
	page := unix.Getpagesize()
	length := (int(m.MaxEntries())*int(m.ValueSize()) + page - 1) / page * page
	memory, err := unix.Mmap(m.FD(), 0, length, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mmap of map %v (needs Linux 5.5): %w", m, err)
	}
	return &Mapped[T]{memory: memory, Elements: unsafe.Slice((*T)(unsafe.Pointer(&memory[0])), m.MaxEntries())}, nil
}

// Unmap ends the use of the memory. A map that was never mapped, or is nil, is unmapped.
func (m *Mapped[T]) Unmap() error {
	if m == nil || m.memory == nil {
		return nil
	}
	memory := m.memory
	m.memory, m.Elements = nil, nil
	return unix.Munmap(memory)
}
