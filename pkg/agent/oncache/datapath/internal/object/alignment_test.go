// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package object_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/cilium/ebpf/btf"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
)

// TestAlignment compares the Go types with the compiled object's type information, field by field: the agent writes these
// structures in the programs' memory.
func TestAlignment(t *testing.T) {
	spec, err := object.LoadBpf()
	require.NoError(t, err)
	for name, goType := range map[string]reflect.Type{
		"onc_flow4":    reflect.TypeFor[object.BpfOncFlow4](),
		"onc_flow6":    reflect.TypeFor[object.BpfOncFlow6](),
		"onc_validity": reflect.TypeFor[object.BpfOncValidity](),
		"onc_seen":     reflect.TypeFor[object.BpfOncSeen](),
		"onc_passed":   reflect.TypeFor[object.BpfOncPassed](),
		"onc_retired":  reflect.TypeFor[object.BpfOncRetired](),
		"onc_egress":   reflect.TypeFor[object.BpfOncEgress](),
		"onc_ingress":  reflect.TypeFor[object.BpfOncIngress](),
		"onc_egress4":  reflect.TypeFor[object.BpfOncEgress4](),
		"onc_ingress4": reflect.TypeFor[object.BpfOncIngress4](),
		"onc_endpoint": reflect.TypeFor[object.BpfOncEndpoint](),
		"onc_node":     reflect.TypeFor[object.BpfOncNode](),
		"onc_control":  reflect.TypeFor[object.BpfOncControl](),
		"onc_count":    reflect.TypeFor[object.BpfOncCount](),
		"onc_limit":    reflect.TypeFor[object.BpfOncLimit](),
		"onc_prefix4":  reflect.TypeFor[object.BpfOncPrefix4](),
		"onc_prefix6":  reflect.TypeFor[object.BpfOncPrefix6](),
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

// TestWordsAreAligned: a word that is written with one atomic store must not straddle a cache line.
func TestWordsAreAligned(t *testing.T) {
	endpoint := reflect.TypeFor[object.BpfOncEndpoint]()
	generation, _ := endpoint.FieldByName("Generation")
	epoch, _ := endpoint.FieldByName("Epoch")
	require.Zero(t, generation.Offset%8, "generation and epoch are one 64-bit word")
	require.Equal(t, generation.Offset+4, epoch.Offset)
	require.Zero(t, endpoint.Size()%8)
	node := reflect.TypeFor[object.BpfOncNode]()
	require.Zero(t, node.Size()%8)
	mode, _ := reflect.TypeFor[object.BpfOncControl]().FieldByName("Mode")
	require.Zero(t, mode.Offset, "Suspend of other versions relies on it")
	tag, _ := reflect.TypeFor[object.BpfOncValidity]().FieldByName("Tag")
	require.Zero(t, tag.Offset, "is overwritten first")
	validity, _ := reflect.TypeFor[object.BpfOncEgress]().FieldByName("V")
	require.Zero(t, validity.Offset)
}

// TestValuesOfIPv4AreBeginnings: programs use one type for the values of both IP versions.
func TestValuesOfIPv4AreBeginnings(t *testing.T) {
	for four, six := range map[reflect.Type]reflect.Type{
		reflect.TypeFor[object.BpfOncEgress4]():      reflect.TypeFor[object.BpfOncEgress](),
		reflect.TypeFor[object.BpfOncIngress4]():     reflect.TypeFor[object.BpfOncIngress](),
		reflect.TypeFor[object.BpfOncTranslation4](): reflect.TypeFor[object.BpfOncTranslation](),
	} {
		for i := range four.NumField() {
			f := four.Field(i)
			if f.Name == "_" || f.Name == "Pad" {
				continue
			}
			same, ok := six.FieldByName(f.Name)
			require.True(t, ok, "%v.%s", six, f.Name)
			require.Equal(t, f.Offset, same.Offset, "%v.%s", four, f.Name)
			if f.Name != "To" && f.Name != "Addr" {
				require.Equal(t, f.Type, same.Type, "%v.%s", four, f.Name)
			}
		}
	}
}
