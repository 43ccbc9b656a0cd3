// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
)

// Inside has the private parts of a Datapath: its programs and its maps, arrays also as this process's memory.
type Inside struct {
	Programs object.BpfPrograms
	Maps     object.BpfMaps

	control   *object.Mapped[object.BpfOncControl]
	endpoints *object.Mapped[object.BpfOncEndpoint]
	nodes     *object.Mapped[object.BpfOncNode]
	restores  *object.Mapped[object.BpfOncRestore]
	counts    *object.Mapped[object.BpfOncCount]
	limits    *object.Mapped[object.BpfOncLimit]

	// cpus is the number of values of an element in a per-CPU map, keys has room for the keys of the counters.
	cpus int
	keys []uint32
}

// Look finds the maps that a Datapath has pinned below pinPath, and the programs that the kernel runs with them. If ONCACHE_OBJECT
// names a file, the programs come from this object, with the same maps: test/tools/mutants puts faults into them.
func Look(t testing.TB, pinPath string) *Inside {
	t.Helper()
	return look(t, pinPath, programs{})
}

// programs says which programs a world has. rewrite: they rewrite packets. helpers: they change checksums by the kernel's helpers, as on
// kernels that do not tell what a checksum field contains (object.FindSummed). openings: they learn openings. direct: they know Nodes without
// a tunnel.
type programs struct{ rewrite, helpers, openings, direct bool }

// look is Look for other programs.
func look(t testing.TB, pinPath string, kind programs) *Inside {
	t.Helper()
	in := &Inside{}
	controls, err := filepath.Glob(filepath.Join(pinPath, "*", "maps", object.BpfMapControl))
	require.NoError(t, err)
	require.Len(t, controls, 1, "layouts below %s", pinPath)
	eachField(&in.Maps, func(name string, m **ebpf.Map) {
		*m, err = ebpf.LoadPinnedMap(filepath.Join(filepath.Dir(controls[0]), name), nil)
		require.NoError(t, err, name)
	})
	if path := os.Getenv("ONCACHE_OBJECT"); path != "" || kind.helpers {
		in.loadPrograms(t, path, kind)
	} else {
		in.findPrograms(t)
	}
	in.control = share[object.BpfOncControl](t, in.Maps.Control)
	in.endpoints = share[object.BpfOncEndpoint](t, in.Maps.Endpoints)
	in.nodes = share[object.BpfOncNode](t, in.Maps.Nodes)
	in.restores = share[object.BpfOncRestore](t, in.Maps.Restores)
	in.counts = share[object.BpfOncCount](t, in.Maps.FlowCounts)
	in.limits = share[object.BpfOncLimit](t, in.Maps.FlowLimits)
	in.cpus, in.keys = ebpf.MustPossibleCPU(), make([]uint32, in.Maps.Counters.MaxEntries())
	return in
}

// eachField calls f for each field, with its name in the object.
func eachField[S, F any](s *S, f func(name string, field *F)) {
	fields := reflect.ValueOf(s).Elem()
	for i := range fields.NumField() {
		f(fields.Type().Field(i).Tag.Get("ebpf"), fields.Field(i).Addr().Interface().(*F))
	}
}

func share[T any](t testing.TB, m *ebpf.Map) *object.Mapped[T] {
	array, err := object.MapArray[T](m)
	require.NoError(t, err)
	return array
}

// findPrograms searches all programs of the kernel for those that use the control map. Of several with the same name it takes the
// latest, which a restarted agent has loaded.
func (in *Inside) findPrograms(t testing.TB) {
	t.Helper()
	info, err := in.Maps.Control.Info()
	require.NoError(t, err)
	control, _ := info.ID()
	found := map[string]*ebpf.Program{}
	for id, err := ebpf.ProgramGetNextID(0); !errors.Is(err, os.ErrNotExist); id, err = ebpf.ProgramGetNextID(id) {
		require.NoError(t, err)
		if p, name := usesMap(t, id, control); p != nil {
			require.NoError(t, found[name].Close())
			found[name] = p
		}
	}
	eachField(&in.Programs, func(name string, p **ebpf.Program) {
		require.NotNil(t, found[name], "program %s", name)
		*p = found[name]
	})
}

// usesMap returns a program and its name, or nil if it does not use the map or is gone.
func usesMap(t testing.TB, id ebpf.ProgramID, m ebpf.MapID) (*ebpf.Program, string) {
	p, err := ebpf.NewProgramFromID(id)
	if errors.Is(err, os.ErrNotExist) {
		return nil, ""
	}
	require.NoError(t, err)
	info, err := p.Info()
	require.NoError(t, err)
	if maps, _ := info.MapIDs(); !slices.Contains(maps, m) {
		require.NoError(t, p.Close())
		return nil, ""
	}
	return p, info.Name
}

// loadPrograms loads the programs of an object file, or the agent's if path is empty, with the existing maps.
func (in *Inside) loadPrograms(t testing.TB, path string, kind programs) {
	t.Helper()
	load := object.LoadBpf
	if path != "" {
		load = func() (*ebpf.CollectionSpec, error) { return ebpf.LoadCollectionSpec(path) }
	}
	spec, err := load()
	require.NoError(t, err)
	require.NoError(t, spec.Variables[object.BpfVarRewrites].Set(kind.rewrite))
	require.NoError(t, spec.Variables[object.BpfVarHasOpenings].Set(kind.openings))
	require.NoError(t, spec.Variables[object.BpfVarHasDirect].Set(kind.direct))
	if !kind.helpers {
		require.NoError(t, object.FindSummed(spec))
	}
	present := map[string]*ebpf.Map{}
	eachField(&in.Maps, func(name string, m **ebpf.Map) {
		present[name] = *m
		spec.Maps[name].MaxEntries = (*m).MaxEntries()
	})
	RequireVerified(t, spec.LoadAndAssign(&in.Programs, &ebpf.CollectionOptions{MapReplacements: present}))
}

// Close releases the programs and maps that Look has found.
func (in *Inside) Close() error {
	return errors.Join(in.control.Unmap(), in.endpoints.Unmap(), in.nodes.Unmap(), in.restores.Unmap(), in.counts.Unmap(), in.limits.Unmap(),
		in.Programs.Close(), in.Maps.Close())
}

// zeroMapped resets the arrays that this process has in its memory, and returns them.
func (in *Inside) zeroMapped() []*ebpf.Map {
	clear(in.control.Elements)
	clear(in.endpoints.Elements)
	clear(in.nodes.Elements)
	clear(in.restores.Elements)
	clear(in.counts.Elements)
	clear(in.limits.Elements)
	return []*ebpf.Map{in.Maps.Control, in.Maps.Endpoints, in.Maps.Nodes, in.Maps.Restores, in.Maps.FlowCounts, in.Maps.FlowLimits}
}

// Control is the only element of the control map.
func (in *Inside) Control() *object.BpfOncControl { return &in.control.Elements[0] }

// EndpointAt is the slot of a local Pod.
func (in *Inside) EndpointAt(slot int) *object.BpfOncEndpoint { return &in.endpoints.Elements[slot] }

// NodeAt is the slot of a remote Node.
func (in *Inside) NodeAt(slot int) *object.BpfOncNode { return &in.nodes.Elements[slot] }

// RestoreAt is the programs' record of a key.
func (in *Inside) RestoreAt(key uint16) *object.BpfOncRestore { return &in.restores.Elements[key] }

// CountAt is the programs' count of a slot's entries in a flow map.
func (in *Inside) CountAt(m object.FlowMap, slot int) *object.BpfOncCount {
	return &in.counts.Elements[object.CountAt(m, slot)]
}

// LimitOf is the limit of a flow map, with the number of its entries.
func (in *Inside) LimitOf(m object.FlowMap) *object.BpfOncLimit { return &in.limits.Elements[m] }

// Jiffies returns the time of the programs' clock, in ticks of the kernel.
func (in *Inside) Jiffies(t testing.TB) uint64 {
	t.Helper()
	_, err := in.Programs.OncacheJiffies.Run(&ebpf.RunOptions{Data: make([]byte, 14)})
	require.NoError(t, err)
	return in.Control().Now
}
