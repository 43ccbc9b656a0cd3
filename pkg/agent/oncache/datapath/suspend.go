// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
)

// Suspend turns off the programs that an earlier agent, of any version, has left running. While the flows of Open vSwitch
// are replaced, nothing may act on the old ones. Established connections continue through Open vSwitch.
func Suspend(pinPath string) error {
	return eachMode(pinPath, func(mode *uint32) { atomic.StoreUint32(mode, uint32(ModeOff)) })
}

// StopHits changes ModeEnforce of the programs that an earlier agent, of any version, has left running to ModeObserve: they continue
// to stamp packets. Whatever they learn is void once an agent has adopted or removed their maps.
func StopHits(pinPath string) error {
	return eachMode(pinPath, stopHits)
}

func stopHits(mode *uint32) {
	atomic.CompareAndSwapUint32(mode, uint32(ModeEnforce), uint32(ModeObserve))
}

// eachMode changes the modes of all programs that are pinned.
func eachMode(pinPath string, change func(mode *uint32)) error {
	controls, err := filepath.Glob(filepath.Join(pinPath, "*", "maps", object.BpfMapControl))
	if err != nil {
		return fmt.Errorf("look for pinned maps: %w", err)
	}
	var errs []error
	for _, path := range controls {
		errs = append(errs, changeMode(path, change))
	}
	return errors.Join(errs...)
}

func changeMode(path string, change func(mode *uint32)) error {
	m, err := ebpf.LoadPinnedMap(path, nil)
	if err != nil {
		return fmt.Errorf("open pinned map %s: %w", path, err)
	}
	defer m.Close()
	memory, err := unix.Mmap(m.FD(), 0, unix.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("mmap of pinned map %s: %w", path, err)
	}
	// The mode is the first word in every version, and its values mean the same.
	change((*uint32)(unsafe.Pointer(&memory[0])))
	return unix.Munmap(memory)
}
