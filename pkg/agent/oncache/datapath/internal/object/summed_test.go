// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"testing"

	"github.com/cilium/ebpf/btf"
	"github.com/stretchr/testify/require"
)

func TestBitField(t *testing.T) {
	byteType := &btf.Int{Name: "unsigned char", Size: 1}
	group := &btf.Struct{Members: []btf.Member{
		{Name: "pkt_type", Type: byteType, Offset: 0, BitfieldSize: 3},
		{Name: "ip_summed", Type: byteType, Offset: 5, BitfieldSize: 2},
		{Name: "wide", Type: byteType, Offset: 7, BitfieldSize: 2},
	}}
	members := []btf.Member{
		{Name: "len", Type: &btf.Int{Size: 4}, Offset: 0},
		{Name: "named", Type: group, Offset: 32},
		{Type: &btf.Union{Members: []btf.Member{{Type: group}, {Name: "headers", Type: group}}}, Offset: 128},
	}
	at, ok := bitField(members, "ip_summed", 2)
	require.True(t, ok)
	require.EqualValues(t, 133, at)
	_, ok = bitField(members, "ip_summed", 3)
	require.False(t, ok, "another width")
	_, ok = bitField(members, "wide", 2)
	require.False(t, ok, "in two bytes")
	_, ok = bitField(members, "absent", 2)
	require.False(t, ok)
}
