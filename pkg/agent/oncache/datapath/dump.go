// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/cilium/ebpf"
)

// DumpMap writes the first limit entries of a map that MapStats lists, so that its state can be restored and a verdict replayed
// elsewhere: a line about the map, then a line for each entry with key and value in hexadecimal, as they are in memory. A map
// with values for each CPU has them separated by commas. Elements of arrays that are zero are left out. The ring buffer has no
// entries to read.
func (d *Datapath) DumpMap(name string, limit int, w io.Writer) error {
	for _, m := range d.maps() {
		info, err := m.Info()
		if err != nil {
			return fmt.Errorf("read info of map %v: %w", m, err)
		}
		if info.Name == name {
			return d.dump(m, name, limit, w)
		}
	}
	return fmt.Errorf("there is no map %q", name)
}

func (d *Datapath) dump(m *ebpf.Map, name string, limit int, w io.Writer) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "# map=%s type=%s key=%d value=%d max=%d layout=%s\n", name, m.Type(), m.KeySize(), m.ValueSize(), m.MaxEntries(), d.layout)
	array := m.Type() == ebpf.Array || m.Type() == ebpf.PerCPUArray
	written, more := 0, false
	err := eachRaw(m, func(key []byte, values ...[]byte) bool {
		if array && isZero(values) {
			return true
		}
		if more = written == limit; more {
			return false
		}
		written++
		texts := make([]string, len(values))
		for i, value := range values {
			texts[i] = hex.EncodeToString(value)
		}
		_, err := fmt.Fprintf(out, "%x %s\n", key, strings.Join(texts, ","))
		return err == nil
	})
	fmt.Fprintf(out, "# entries=%d\n", written)
	if more {
		fmt.Fprintf(out, "# there are more than %d entries\n", limit)
	}
	return errors.Join(err, out.Flush())
}

// eachRaw calls yield for the entries of a map of any kind, with a value for each CPU in per-CPU maps, until it returns false.
func eachRaw(m *ebpf.Map, yield func(key []byte, values ...[]byte) bool) error {
	switch m.Type() {
	case ebpf.RingBuf:
		return nil
	case ebpf.PerCPUArray:
		var key []byte
		var values [][]byte
		entries := m.Iterate()
		for entries.Next(&key, &values) && yield(key, values...) {
		}
		return entries.Err()
	case ebpf.LPMTrie: // small, and older kernels have no batches of it
		var key, value []byte
		entries := m.Iterate()
		for entries.Next(&key, &value) && yield(key, value) {
		}
		return entries.Err()
	}
	bytesOf := func(size uint32) reflect.Value {
		return reflect.MakeSlice(reflect.SliceOf(reflect.ArrayOf(int(size), reflect.TypeFor[byte]())), flowBatch, flowBatch)
	}
	keys, values := bytesOf(m.KeySize()), bytesOf(m.ValueSize())
	var cursor ebpf.MapBatchCursor
	for {
		n, err := m.BatchLookup(&cursor, keys.Interface(), values.Interface(), nil)
		for i := range n {
			if !yield(keys.Index(i).Bytes(), values.Index(i).Bytes()) {
				return nil
			}
		}
		if errors.Is(err, ebpf.ErrKeyNotExist) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read map %v: %w", m, err)
		}
	}
}

func isZero(values [][]byte) bool {
	for _, value := range values {
		if len(bytes.Trim(value, "\x00")) > 0 {
			return false
		}
	}
	return true
}
