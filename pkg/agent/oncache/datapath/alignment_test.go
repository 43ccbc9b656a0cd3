// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath

import (
	"reflect"
	"strings"
	"testing"

	"github.com/cilium/ebpf/btf"
	"github.com/stretchr/testify/require"
)

// TestAlignment compares the Go types with the compiled object's type information, field by field: the agent writes these
// structures in the programs' memory.
func TestAlignment(t *testing.T) {
	spec, err := loadBpf()
	require.NoError(t, err)
	for name, goType := range map[string]reflect.Type{
		"onc_flow4":    reflect.TypeFor[bpfOncFlow4](),
		"onc_flow6":    reflect.TypeFor[bpfOncFlow6](),
		"onc_validity": reflect.TypeFor[bpfOncValidity](),
		"onc_seen":     reflect.TypeFor[bpfOncSeen](),
		"onc_passed":   reflect.TypeFor[bpfOncPassed](),
		"onc_egress":   reflect.TypeFor[bpfOncEgress](),
		"onc_ingress":  reflect.TypeFor[bpfOncIngress](),
		"onc_endpoint": reflect.TypeFor[bpfOncEndpoint](),
		"onc_node":     reflect.TypeFor[bpfOncNode](),
		"onc_control":  reflect.TypeFor[bpfOncControl](),
		"onc_count":    reflect.TypeFor[bpfOncCount](),
		"onc_limit":    reflect.TypeFor[bpfOncLimit](),
		"onc_prefix4":  reflect.TypeFor[bpfOncPrefix4](),
		"onc_prefix6":  reflect.TypeFor[bpfOncPrefix6](),
	} {
		t.Run(name, func(t *testing.T) {
			var c *btf.Struct
			require.NoError(t, spec.Types.TypeByName(name, &c))
			require.EqualValues(t, c.Size, goType.Size(), "size")
			fields := map[string]reflect.StructField{}
			for i := range goType.NumField() {
				f := goType.Field(i)
				fields[strings.ToLower(f.Name)] = f
			}
			for _, m := range c.Members {
				f, ok := fields[strings.ReplaceAll(m.Name, "_", "")]
				require.True(t, ok, "field %s", m.Name)
				require.EqualValues(t, m.Offset.Bytes(), f.Offset, "offset of %s", m.Name)
				size, err := btf.Sizeof(m.Type)
				require.NoError(t, err)
				require.EqualValues(t, size, f.Type.Size(), "size of %s", m.Name)
			}
		})
	}
}

// TestMapStatsHaveAllMaps: what is not listed is missing from the memory that users are told of.
func TestMapStatsHaveAllMaps(t *testing.T) {
	w := newWorld(t)
	spec, err := loadBpf()
	require.NoError(t, err)
	var want, got []string
	for name := range spec.Maps {
		if !strings.HasPrefix(name, ".") { // the programs' constants
			want = append(want, name)
		}
	}
	stats, err := w.MapStats()
	require.NoError(t, err)
	for _, s := range stats {
		if s.Name != bpfMapPassed || minor(t, kernelRelease(t)) >= 6004 { // before, the kernel did not tell of ring buffers
			require.NotZero(t, s.Bytes, s.Name)
		}
		got = append(got, s.Name)
	}
	require.ElementsMatch(t, want, got)
}

// TestWordsAreAligned: what is written with one atomic store must not straddle a cache line.
func TestWordsAreAligned(t *testing.T) {
	endpoint := reflect.TypeFor[bpfOncEndpoint]()
	generation, _ := endpoint.FieldByName("Generation")
	epoch, _ := endpoint.FieldByName("Epoch")
	require.Zero(t, generation.Offset%8, "generation and epoch are one 64-bit word")
	require.Equal(t, generation.Offset+4, epoch.Offset)
	require.Zero(t, endpoint.Size()%8)
	node := reflect.TypeFor[bpfOncNode]()
	require.Zero(t, node.Size()%8)
	mode, _ := reflect.TypeFor[bpfOncControl]().FieldByName("Mode")
	require.Zero(t, mode.Offset, "Suspend of other versions relies on it")
	tag, _ := reflect.TypeFor[bpfOncValidity]().FieldByName("Tag")
	require.Zero(t, tag.Offset, "is overwritten first")
	validity, _ := reflect.TypeFor[bpfOncEgress]().FieldByName("V")
	require.Zero(t, validity.Offset)
}
