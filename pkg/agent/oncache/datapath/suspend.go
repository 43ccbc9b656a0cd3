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

// Suspend lets the programs that an earlier agent, of any version, has left running forward nothing any more. While the flows of
// Open vSwitch are replaced, nothing may act on the old ones. Established connections continue through Open vSwitch: the programs observe
// and are not off, because packets without stamps would match none of the kernel's flows, and vswitchd, which could make new ones, does not
// forward until the agent has installed its flows. What they learn meanwhile is void once Reset has evicted everything.
func Suspend(pinPath string) error {
	controls, err := filepath.Glob(filepath.Join(pinPath, "*", "maps", object.BpfMapControl))
	if err != nil {
		return fmt.Errorf("look for pinned maps: %w", err)
	}
	var errs []error
	for _, path := range controls {
		errs = append(errs, suspend(path))
	}
	return errors.Join(errs...)
}

func suspend(path string) error {
	m, err := ebpf.LoadPinnedMap(path, nil)
	if err != nil {
		return fmt.Errorf("open pinned map %s: %w", path, err)
	}
	defer m.Close()
	memory, err := unix.Mmap(m.FD(), 0, unix.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("mmap of pinned map %s: %w", path, err)
	}
	// The mode is the first word in every version. Programs that are off stay so.
	atomic.CompareAndSwapUint32((*uint32)(unsafe.Pointer(&memory[0])), uint32(ModeEnforce), uint32(ModeObserve))
	return unix.Munmap(memory)
}
