// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/test/sandbox"
)

// shared is what the worlds of one test after the other use: the verifier takes a second for the programs on an emulated machine, and
// there are some hundred worlds.
var shared struct {
	*Datapath
	taken bool
}

// borrow gives the shared programs, whose maps are as new ones, to a world until its test ends. Who attaches them to devices, or
// removes their pins, must use newWorldWith instead.
func borrow(t testing.TB) *Datapath {
	if shared.Datapath == nil {
		d, err := Load(Options{PinPath: filepath.Join(sandbox.BPFFS, "shared", "oncache"), MaxFlows: 4096, MaxFlows6: 4096})
		requireVerified(t, err)
		shared.Datapath = d
	}
	require.False(t, shared.taken, "a test has one world at a time; another one needs programs of its own: newWorldWith")
	shared.taken = true
	t.Cleanup(func() {
		shared.taken = false
		require.NoError(t, empty(shared.Datapath))
		attached, err := Attached(shared.opts.PinPath)
		require.NoError(t, err)
		require.Empty(t, attached, "programs that were attached are no longer as new")
	})
	return shared.Datapath
}

// empty makes all maps what they are when they have been made: arrays have zeros, all others nothing.
func empty(d *Datapath) error {
	_, err := passed(d)
	errs := []error{err}
	for _, m := range mapsOf(d) {
		if m.Type() == ebpf.Array || m.Type() == ebpf.PerCPUArray {
			errs = append(errs, zero(m))
			continue
		}
		for {
			key, err := m.NextKeyBytes(nil)
			if key == nil || err != nil {
				errs = append(errs, err)
				break
			}
			if err := m.Delete(key); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) { // an LRU map makes room by itself
				errs = append(errs, err)
				break
			}
		}
	}
	return errors.Join(errs...)
}

// mapsOf are all maps but the ring buffer, which has no entries to look up.
func mapsOf(d *Datapath) (all []*ebpf.Map) {
	maps := reflect.ValueOf(d.objects.bpfMaps)
	for i := range maps.NumField() {
		if m := maps.Field(i).Interface().(*ebpf.Map); m.Type() != ebpf.RingBuf {
			all = append(all, m)
		}
	}
	return all
}

// passed are the connections in the ring buffer, which is empty then.
func passed(d *Datapath) (all []Connection, err error) {
	reader, err := d.NewPassedReader()
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	return all, reader.Drain(func(c Connection) { all = append(all, c) })
}

// zero makes an array what it has been when it was made.
func zero(m *ebpf.Map) error {
	keys := make([]uint32, m.MaxEntries())
	for i := range keys {
		keys[i] = uint32(i)
	}
	if m.Type() == ebpf.Array {
		value := reflect.ArrayOf(int(m.ValueSize()), reflect.TypeFor[byte]())
		_, err := m.BatchUpdate(keys, reflect.MakeSlice(reflect.SliceOf(value), len(keys), len(keys)).Interface(), nil)
		return err
	}
	for _, key := range keys {
		if err := m.Put(key, filled(m, 0)); err != nil {
			return err
		}
	}
	return nil
}

// filled is a value of the map with this byte everywhere, for each CPU if it has them.
func filled(m *ebpf.Map, b byte) any {
	value := bytes.Repeat([]byte{b}, int(m.ValueSize()))
	if m.Type() != ebpf.PerCPUArray {
		return value
	}
	return slices.Repeat([][]byte{value}, ebpf.MustPossibleCPU())
}

// contents are all entries of a map as they are printed.
func contents(t *testing.T, m *ebpf.Map) (all []string) {
	if m.Type() == ebpf.PerCPUArray {
		var key uint32
		var values [][]byte
		for entries := m.Iterate(); entries.Next(&key, &values); {
			all = append(all, fmt.Sprint(key, values))
		}
		return all
	}
	var key, value []byte
	entries := m.Iterate()
	for entries.Next(&key, &value) {
		all = append(all, fmt.Sprint(key, value))
	}
	require.NoError(t, entries.Err())
	return all
}

// TestEmptyMapsAreAsNewOnes: what is left in one would be seen by the next test.
func TestEmptyMapsAreAsNewOnes(t *testing.T) {
	d := load(t, filepath.Join(sandbox.BPFFS, t.Name(), "oncache"), HookAuto)
	before := map[*ebpf.Map][]string{}
	for _, m := range mapsOf(d) {
		before[m] = contents(t, m)
		key := make([]byte, m.KeySize())
		if m.Type() == ebpf.LPMTrie {
			key[0] = 8 // bits
		}
		require.NoError(t, m.Put(key, filled(m, 1)), "%v", m)
		require.NotEqual(t, before[m], contents(t, m), "%v", m)
	}
	require.NoError(t, empty(d))
	for m, contentsBefore := range before {
		require.Equal(t, contentsBefore, contents(t, m), "%v", m)
	}
}
