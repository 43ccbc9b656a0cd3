// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/cilium/ebpf"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
)

// Former are the maps of programs that an earlier agent has left running. Its methods load nothing, so they take microseconds, and are safe for
// concurrent use.
type Former struct {
	pinPath string
	// layouts are the layouts that this version can read.
	layouts func() ([]string, error)
}

// NewFormer does nothing yet. opts are the options of the present agent's Load.
func NewFormer(opts Options) *Former {
	return &Former{opts.PinPath, sync.OnceValues(func() ([]string, error) { return ownLayouts(opts) })}
}

// DeleteFlow does the same as Datapath.DeleteFlow. Programs that are off have no hits, so nothing need be removed. In maps of another
// layout entries cannot be found, so all hits end (StopHits).
func (f *Former) DeleteFlow(protocol uint8, client, dialed, server netip.AddrPort) error {
	controls, err := filepath.Glob(filepath.Join(f.pinPath, "*", "maps", object.BpfMapControl))
	if err != nil {
		return fmt.Errorf("look for pinned maps: %w", err)
	}
	var errs []error
	for _, control := range controls {
		errs = append(errs, f.deleteFlow(control, entriesOf(protocol, client, dialed, server)))
	}
	return errors.Join(errs...)
}

// deleteFlow removes entries of the maps beside a pinned control map.
func (f *Former) deleteFlow(control string, entries []entry) error {
	off := false
	err := changeMode(control, func(mode *uint32) { off = Mode(atomic.LoadUint32(mode)) == ModeOff })
	if errors.Is(err, os.ErrNotExist) {
		return nil // Start has removed these programs
	}
	if err != nil || off {
		return err
	}
	maps := filepath.Dir(control)
	if known, err := f.layouts(); err != nil || !slices.Contains(known, filepath.Base(filepath.Dir(maps))) {
		return errors.Join(err, changeMode(control, stopHits))
	}
	names := [object.FlowMaps]string{object.BpfMapEgressFlows4, object.BpfMapIngressFlows4, object.BpfMapEgressFlows6, object.BpfMapIngressFlows6}
	var errs []error
	for _, e := range entries {
		errs = append(errs, deletePinned(filepath.Join(maps, names[e.in]), e))
	}
	return errors.Join(errs...)
}

func deletePinned(path string, e entry) error {
	m, err := ebpf.LoadPinnedMap(path, nil)
	if err != nil {
		return fmt.Errorf("open pinned map %s: %w", path, err)
	}
	defer m.Close()
	var key any = e.key6()
	if e.in == object.Egress4 || e.in == object.Ingress4 {
		key = e.key4()
	}
	if err := m.Delete(key); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
		return fmt.Errorf("delete the entry from %v to %v of pinned map %s: %w", e.source, e.destination, path, err)
	}
	return nil
}
