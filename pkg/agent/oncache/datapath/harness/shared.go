// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/test/env/sandbox"
)

// shared are the programs and maps that the worlds use one after the other. On an emulated machine the verifier takes a second for the
// programs, and there are some hundred worlds.
type shared struct {
	*datapath.Datapath
	*Inside
	pins  string
	kind  programs
	taken bool
}

// encapsulating is for NewWorld, rewriting for NewRewritingWorld, byHelpers for NewHelpersWorld, opening for NewOpeningsWorld,
// direct for NewDirectWorld.
var (
	encapsulating = shared{pins: sandbox.BPFFS + "/shared/oncache"}
	rewriting     = shared{pins: sandbox.BPFFS + "/shared-rewriting/oncache", kind: programs{rewrite: true}}
	byHelpers     = shared{pins: sandbox.BPFFS + "/shared-helpers/oncache", kind: programs{rewrite: true, helpers: true}}
	opening       = shared{pins: sandbox.BPFFS + "/shared-openings/oncache", kind: programs{openings: true}}
	direct        = shared{pins: sandbox.BPFFS + "/shared-direct/oncache", kind: programs{direct: true}}
)

// borrow gives the shared programs, with maps like new, to a world until its test ends. A test that attaches them to devices, or
// removes their pins, must use NewWorldWith instead.
func (shared *shared) borrow(t testing.TB) (*datapath.Datapath, *Inside) {
	if shared.Datapath == nil {
		d, err := datapath.Load(datapath.Options{PinPath: shared.pins, MaxFlows: 4096, MaxFlows6: 4096, Rewrite: shared.kind.rewrite, Openings: shared.kind.openings, Direct: shared.kind.direct})
		RequireVerified(t, err)
		shared.Datapath, shared.Inside = d, look(t, shared.pins, shared.kind)
	}
	require.False(t, shared.taken, "a test has one world at a time; another one needs programs of its own: NewWorldWith")
	shared.taken = true
	t.Cleanup(func() {
		shared.taken = false
		require.NoError(t, empty(shared.Datapath, shared.Inside))
		attached, err := datapath.Attached(shared.pins)
		require.NoError(t, err)
		require.Empty(t, attached, "programs that were attached are no longer like new")
	})
	return shared.Datapath, shared.Inside
}

// empty resets all maps to their initial state: arrays have zeros, all others no entries.
func empty(d *datapath.Datapath, in *Inside) error {
	_, err := Passed(d)
	errs := []error{err}
	_, err = Retired(d)
	errs = append(errs, err)
	zeroed := in.zeroMapped()
	for _, m := range mapsOf(in) {
		if slices.Contains(zeroed, m) {
			continue
		}
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

// mapsOf returns all maps except the ring buffer, which has no entries to look up.
func mapsOf(in *Inside) (all []*ebpf.Map) {
	eachField(&in.Maps, func(_ string, m **ebpf.Map) {
		if (*m).Type() != ebpf.RingBuf {
			all = append(all, *m)
		}
	})
	return all
}

// Passed returns the connections of which a segment has passed, and empties the ring buffer.
func Passed(d *datapath.Datapath) (all []datapath.Connection, err error) {
	reports, err := PassedReports(d)
	for _, p := range reports {
		if !p.Over {
			all = append(all, p.Connection)
		}
	}
	return all, err
}

// PassedReports returns what is in the ring buffer, and empties it.
func PassedReports(d *datapath.Datapath) (all []datapath.Passed, err error) {
	reader, err := d.NewPassedReader()
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	return all, reader.Drain(func(p datapath.Passed) { all = append(all, p) })
}

// Retired returns the entries in the ring buffer and empties it.
func Retired(d *datapath.Datapath) (all []datapath.Retired, err error) {
	reader, err := d.NewRetiredReader()
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	return all, reader.Drain(func(r datapath.Retired) { all = append(all, r) })
}

// zero resets an array to its initial state.
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

// filled returns a value of the map with this byte everywhere; for a per-CPU map, one for each CPU.
func filled(m *ebpf.Map, b byte) any {
	value := bytes.Repeat([]byte{b}, int(m.ValueSize()))
	if m.Type() != ebpf.PerCPUArray {
		return value
	}
	return slices.Repeat([][]byte{value}, ebpf.MustPossibleCPU())
}
