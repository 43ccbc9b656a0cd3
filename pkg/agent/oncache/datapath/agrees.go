// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"sync/atomic"

	"github.com/cilium/ebpf"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
)

// Agrees reports whether the programs that an earlier agent has left running have hits, and whether everything that makes hits was
// learned under the epochs that Open vSwitch writes now, by Pod address. The epochs differ if the earlier agent ended after it had
// changed the flows of a Pod and before it told the programs. Maps of another layout or size cannot be examined, and never agree.
// opts are the options of the present agent's Load, with or without IPv6.
func Agrees(opts Options, written map[netip.Addr]uint16) (agree bool, err error) {
	pins, err := filepath.Glob(filepath.Join(opts.PinPath, "*", "maps", object.BpfMapControl))
	if err != nil {
		return false, fmt.Errorf("look for pinned maps: %w", err)
	}
	known, err := ownLayouts(opts)
	if err != nil {
		return false, err
	}
	if len(pins) != 1 || !slices.Contains(known, filepath.Base(filepath.Dir(filepath.Dir(pins[0])))) {
		return false, nil
	}
	err = withPinned(pins[0], func(control []object.BpfOncControl) {
		agree = Mode(atomic.LoadUint32(&control[0].Mode)) == ModeEnforce && (opts.Direct || control[0].Direct == 0)
	})
	if err != nil || !agree {
		return false, err
	}
	err = withPinned(filepath.Join(filepath.Dir(pins[0]), object.BpfMapEndpoints), func(endpoints []object.BpfOncEndpoint) {
		agree = !slices.ContainsFunc(endpoints, func(e object.BpfOncEndpoint) bool { return disagrees(&e, written) })
	})
	return agree && err == nil, err
}

// disagrees reports whether a slot may have entries that were learned under another epoch. Entries of a slot with epoch 0 are void.
func disagrees(e *object.BpfOncEndpoint, written map[netip.Addr]uint16) bool {
	if e.Ifindex == 0 || e.Epoch == 0 {
		return false
	}
	ips := addresses(e)
	return len(ips) == 0 || slices.ContainsFunc(ips, func(ip netip.Addr) bool { return uint32(written[ip]) != e.Epoch })
}

// ownLayouts returns the layouts of this version's maps, without IPv6 and with it.
func ownLayouts(opts Options) (layouts []string, err error) {
	for _, opts.MaxFlows6 = range []uint32{0, opts.MaxFlows} {
		spec, err := newSpec(opts)
		if err != nil {
			return nil, err
		}
		layouts = append(layouts, layoutOf(spec))
	}
	return layouts, nil
}

// withPinned calls use with the elements of a pinned array.
func withPinned[T any](path string, use func([]T)) error {
	m, err := ebpf.LoadPinnedMap(path, nil)
	if err != nil {
		return fmt.Errorf("open pinned map %s: %w", path, err)
	}
	defer m.Close()
	mapped, err := object.MapArray[T](m)
	if err != nil {
		return err
	}
	use(mapped.Elements)
	return mapped.Unmap()
}
