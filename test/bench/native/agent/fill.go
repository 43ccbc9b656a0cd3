// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
	"reflect"

	"github.com/cilium/ebpf"
)

const (
	// fillBatch is the number of entries per system call.
	fillBatch = 1 << 14
	// fillPorts is the first second port of copied flows; workloads use lower ones.
	fillPorts = 60000
)

// flowMaps is the pattern for the names of the maps that contain the Pod's flows.
const flowMaps = "*gress_flows?"

// fill adds copies of a learned entry to every flow map that has one. Their addresses are the Pods', so that the maps
// look like a Node's with as many connections. No packet belongs to them.
func fill(pinPath string, flows int) error {
	paths, err := filepath.Glob(filepath.Join(pinPath, "*", "maps", flowMaps))
	if err != nil {
		return err
	}
	filled := 0
	for _, path := range paths {
		m, err := ebpf.LoadPinnedMap(path, nil)
		if err != nil {
			return fmt.Errorf("open pinned map %s: %w", path, err)
		}
		ok, err := fillMap(m, flows)
		m.Close()
		if err != nil {
			return fmt.Errorf("fill map %s with %d entries: %w", path, flows, err)
		}
		if ok {
			filled++
		}
	}
	if filled != 2 {
		return fmt.Errorf("%d of the maps %v have an entry that could be copied, want one per direction: let traffic flow first", filled, paths)
	}
	return nil
}

// fillMap reports whether the map had an entry.
func fillMap(m *ebpf.Map, flows int) (bool, error) {
	key, err := m.NextKeyBytes(nil)
	if err != nil || key == nil {
		return false, err
	}
	value, err := m.LookupBytes(key)
	if err != nil || value == nil {
		return false, err
	}
	ports := len(key) - 8 // two ports, protocol, padding (struct onc_flow4 and onc_flow6)
	for n := 0; n < flows; n += fillBatch {
		count := min(fillBatch, flows-n)
		keys, values := copies(key, count), copies(value, count)
		for i := range count {
			k := keys.Index(i).Slice(0, len(key)).Bytes()
			binary.BigEndian.PutUint16(k[ports:], uint16(fillPorts+(n+i)>>16))
			binary.BigEndian.PutUint16(k[ports+2:], uint16(n+i))
		}
		if _, err := m.BatchUpdate(keys.Interface(), values.Interface(), nil); err != nil {
			return false, err
		}
	}
	return true, nil
}

// copies returns a slice of arrays that all have the content of b.
func copies(b []byte, count int) reflect.Value {
	out := reflect.MakeSlice(reflect.SliceOf(reflect.ArrayOf(len(b), reflect.TypeFor[byte]())), count, count)
	for i := range count {
		reflect.Copy(out.Index(i), reflect.ValueOf(b))
	}
	return out
}
