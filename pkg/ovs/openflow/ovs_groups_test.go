// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// endpoint is a bucket like the buckets of Antrea's Service groups.
func endpoint(ip uint32, weight uint16) Bucket {
	return Bucket{Weight: weight, Actions: []Action{LoadField{reg(3), all, uint64(ip)}, LoadField{reg(4), Range{0, 15}, 80}, Resubmit{30}}}
}

// everyGroup has every type of group; the values are printed by ovs-ofctl with OpenFlow 1.3.
var everyGroup = []struct {
	want  string
	group GroupEntry
}{
	{"group_id=1,type=select,bucket=weight:100,actions=load:0xa000001->NXM_NX_REG3[],load:0x50->NXM_NX_REG4[0..15],resubmit(,30)," +
		"bucket=weight:50,actions=load:0xa000002->NXM_NX_REG3[],load:0x50->NXM_NX_REG4[0..15],resubmit(,30)",
		GroupEntry{ID: 1, Type: GroupSelect, Buckets: []Bucket{endpoint(0x0a000001, 100), endpoint(0x0a000002, 50)}}},
	{"group_id=2,type=all,bucket=actions=output:1,bucket=actions=resubmit(,31)",
		GroupEntry{ID: 2, Buckets: []Bucket{{Actions: []Action{Output{1}}}, {Actions: []Action{Resubmit{31}}}}}},
	{"group_id=3,type=indirect,bucket=actions=dec_ttl,output:1",
		GroupEntry{ID: 3, Type: GroupIndirect, Buckets: []Bucket{{Actions: []Action{DecTTL{}, Output{1}}}}}},
	{"group_id=4,type=select", GroupEntry{ID: 4, Type: GroupSelect}},
	{"group_id=5,type=select,bucket=weight:0,actions=drop,bucket=weight:65535,actions=group:2",
		GroupEntry{ID: 5, Type: GroupSelect, Buckets: []Bucket{{}, {Weight: 65535, Actions: []Action{Group{2}}}}}},
	{"group_id=4294967040,type=all,bucket=actions=controller(id=8,userdata=01,pause)",
		group(MaxGroupID, Controller{ID: 8, UserData: []byte{1}, Pause: true})},
	{"group_id=6,type=all,bucket=actions=ct(commit,table=30,zone=5,nat(dst=[fd00::9]:80),exec(load:0x1->NXM_NX_CT_MARK[4]))",
		group(6, CT{Commit: true, Table: 30, Zone: 5, NATTo: &NATTo{First: netip.MustParseAddr("fd00::9"), FirstPort: 80},
			Exec: []Action{LoadField{FieldCTMark, Range{4, 4}, 1}}})},
}

// selections are groups with a Selection as ovs-ofctl prints them with OpenFlow 1.5, without the ids of buckets.
var selections = []struct {
	want      string
	selection Selection
}{
	{"selection_method=hash", Selection{Method: "hash"}},
	{"selection_method=hash,selection_method_param=7,fields(ip_src,ip_dst,nw_proto)",
		Selection{Method: "hash", Param: 7, Fields: []Field{FieldIPProto, FieldIPv4Dst, FieldIPv4Src}}},
	{"selection_method=hash,fields=ipv6_src", Selection{Method: "hash", Fields: []Field{FieldIPv6Src}}},
	{"selection_method=dp_hash,selection_method_param=4294967296", Selection{Method: "dp_hash", Param: 1 << 32}},
}

// dumpGroups are the groups that ovs-ofctl prints, without the ids of buckets.
func dumpGroups(s string) []string {
	var groups []string
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "group_id=") {
			for i := range 10 {
				line = strings.ReplaceAll(line, fmt.Sprintf("bucket=bucket_id:%d,", i), "bucket=")
			}
			groups = append(groups, line)
		}
	}
	slices.Sort(groups)
	return groups
}

func TestEveryGroupOnOVS(t *testing.T) {
	ovs, s, _ := connectOVS(t)
	var mods []GroupMod
	var want []string
	var groups []GroupEntry
	for _, g := range everyGroup {
		require.Equal(t, g.want, g.group.String())
		mods, want, groups = append(mods, groupMods(GroupAdd, g.group)...), append(want, g.want), append(groups, g.group)
	}
	require.NoError(t, s.Apply(t.Context(), Transaction{Groups: mods}))
	slices.Sort(want)
	require.Equal(t, want, dumpGroups(ovs.Ofctl("dump-groups", testBridge)))
	dumped, err := s.DumpGroups(t.Context())
	require.NoError(t, err)
	byID := func(a, b GroupEntry) int { return cmp.Compare(a.ID, b.ID) }
	slices.SortFunc(dumped, byID)
	slices.SortFunc(groups, byID)
	require.Equal(t, groups, dumped)

	t.Run("a modification replaces type and buckets", func(t *testing.T) {
		g := GroupEntry{ID: 2, Type: GroupSelect, Buckets: []Bucket{endpoint(9, 1)}}
		require.NoError(t, s.Apply(t.Context(), Transaction{Groups: groupMods(GroupModify, g)}))
		require.Contains(t, dumpGroups(ovs.Ofctl("dump-groups", testBridge)), g.String())
	})
	t.Run("put replaces and adds", func(t *testing.T) {
		g, fresh := GroupEntry{ID: 2, Type: GroupAll, Buckets: []Bucket{{Actions: []Action{Output{7}}}}}, GroupEntry{ID: 4000, Type: GroupAll}
		require.NoError(t, s.Apply(t.Context(), Transaction{Groups: groupMods(GroupPut, g, fresh)}))
		dumped := dumpGroups(ovs.Ofctl("dump-groups", testBridge))
		require.Contains(t, dumped, g.String())
		require.Contains(t, dumped, fresh.String())
	})
}

func TestSelectionWithOpenFlow15(t *testing.T) {
	ovs, old, _ := connectOVS(t)
	s := connect(t, ovs.MgmtSocket(testBridge), WithOpenFlow15())
	for i, tc := range selections {
		g := GroupEntry{ID: uint32(i + 1), Type: GroupSelect, Selection: &tc.selection,
			Buckets: []Bucket{{Weight: 1, Actions: []Action{Output{1}}}, {Weight: 2, Actions: []Action{Group{9}}}}}
		require.NoError(t, s.Apply(t.Context(), Transaction{Groups: groupMods(GroupAdd, g)}))
		text := fmt.Sprintf("group_id=%d,type=select,%s,bucket=actions=output:1,bucket=weight:2,actions=group:9", g.ID, tc.want)
		require.Equal(t, text, g.String())
		require.Contains(t, dumpGroups(ovs.Ofctl("-OOpenFlow15", "dump-groups", testBridge)), text)
		dumped, err := s.DumpGroups(t.Context())
		require.NoError(t, err)
		found := slices.IndexFunc(dumped, func(d GroupEntry) bool { return d.ID == g.ID })
		require.Equal(t, text, dumped[found].String())
		require.ErrorContains(t, old.Apply(t.Context(), Transaction{Groups: groupMods(GroupModify, g)}), "make the switch with WithOpenFlow15")
	}
	groups, err := old.DumpGroups(t.Context())
	require.NoError(t, err)
	require.Len(t, groups, len(selections), "OpenFlow 1.3 reports the same groups without the selection")
	require.Nil(t, groups[0].Selection)
}

func TestEncodeRefusesGroups(t *testing.T) {
	fields := func(f ...Field) *Selection { return &Selection{Method: "hash", Fields: f} }
	huge := make([]Action, 6000)
	for i := range huge {
		huge[i] = LoadField{reg(0), all, 1}
	}
	for _, tc := range []struct {
		name, err string
		mod       GroupMod
	}{
		{"unknown command", "unknown command 9: want GroupAdd", GroupMod{9, group(1)}},
		{"unknown type", "unknown type 3", GroupMod{GroupAdd, GroupEntry{Type: 3}}},
		{"indirect without bucket", "0 buckets: an indirect group has exactly 1", GroupMod{GroupAdd, GroupEntry{Type: GroupIndirect}}},
		{"weight in a group of type all", "bucket 0 has the weight 5", GroupMod{GroupAdd, GroupEntry{Buckets: []Bucket{{Weight: 5}}}}},
		{"selection in a group of type all", "only select groups have one", GroupMod{GroupAdd, GroupEntry{Selection: fields()}}},
		{"unknown method", "want hash or dp_hash", GroupMod{GroupAdd, GroupEntry{Type: GroupSelect, Selection: &Selection{Method: "long name of a method"}}}},
		{"dp_hash with fields", "only hash can have fields", GroupMod{GroupAdd, GroupEntry{Type: GroupSelect, Selection: &Selection{Method: "dp_hash", Fields: []Field{FieldIPProto}}}}},
		{"a field twice", "at most once", GroupMod{GroupAdd, GroupEntry{Type: GroupSelect, Selection: fields(FieldIPProto, FieldIPProto)}}},
		{"unknown field", "selection field Field(99)", GroupMod{GroupAdd, GroupEntry{Type: GroupSelect, Selection: fields(99)}}},
		{"goto in a bucket", "bucket 0: action goto_table:5: only a flow can have it", GroupMod{GroupAdd, group(1, GotoTable{5})}},
		{"meter in a bucket, not first", "must be the first one of a flow", GroupMod{GroupAdd, group(1, Output{1}, Meter{5})}},
		{"huge bucket", "want at most", GroupMod{GroupAdd, group(1, huge...)}},
		{"many buckets", "want at most", GroupMod{GroupAdd, GroupEntry{Buckets: make([]Bucket, 9000)}}},
		{"id of a deletion", "want at most 0xffffff00", GroupMod{GroupDelete, group(0xfffffffc)}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := encodeGroupMod(&tc.mod, version15, 1)
			require.ErrorContains(t, err, tc.err)
			var ge *GroupError
			require.ErrorAs(t, err, &ge)
			require.NotEmpty(t, ge.Group)
		})
	}
	require.ErrorContains(t, func() error {
		_, err := encodeGroupMod(&GroupMod{GroupAdd, group(1, Meter{5})}, version13, 1)
		return err
	}(), "must be the first one of a flow")
}

func TestMetersOnOVS(t *testing.T) {
	ovs, s, _ := connectOVS(t)
	meters := []MeterEntry{{ID: 1, Rate: 10}, {ID: 256, Rate: 5000, Burst: 10000}, {ID: 257, KBPS: true, Rate: 100, Burst: 7}}
	require.NoError(t, s.Apply(t.Context(), Transaction{Meters: meterMods(MeterAdd, meters...)}))
	// ovs-ofctl puts each band on a line of its own, and an empty line between meters.
	_, text, _ := strings.Cut(ovs.Ofctl("dump-meters", testBridge), "\n")
	var got, want []string
	for text := range strings.SplitSeq(text, "\n\n") {
		got = append(got, strings.Join(strings.Fields(text), " "))
	}
	for _, m := range meters {
		want = append(want, m.String())
	}
	require.ElementsMatch(t, want, got)
	dumped, err := s.DumpMeters(t.Context())
	require.NoError(t, err)
	require.ElementsMatch(t, meters, dumped)

	meters[0].Rate, meters[0].Burst = 20, 30
	require.NoError(t, s.Apply(t.Context(), Transaction{Meters: meterMods(MeterModify, meters[0]), Flows: adds(to(1, Meter{256}), to(2, Meter{256}))}))
	for _, s := range []Switch{s, connect(t, ovs.MgmtSocket(testBridge), WithOpenFlow15())} {
		dumped, err = s.DumpMeters(t.Context())
		require.NoError(t, err)
		require.ElementsMatch(t, meters, dumped)
		stats, err := s.DumpMeterStats(t.Context())
		require.NoError(t, err)
		require.Len(t, stats, len(meters))
		for _, m := range stats {
			require.Equal(t, m.ID == 256, m.Flows == 2, "%+v", m)
			require.Less(t, m.Age, waitTime)
		}
		features, err := s.MeterFeatures(t.Context())
		require.NoError(t, err)
		require.True(t, features.KBPS && features.PacketsPerSecond && features.Burst)
		require.NotZero(t, features.MaxMeters)
	}
}

func TestEncodeRefusesMeters(t *testing.T) {
	for _, tc := range []struct {
		name, err string
		mod       MeterMod
	}{
		{"unknown command", "unknown command 9: want MeterAdd", MeterMod{9, meter(1, 1)}},
		{"rate 0", "the rate is 0", MeterMod{MeterAdd, meter(1, 0)}},
		{"id 0", "meter id 0x0: want 1..0xffff0000", MeterMod{MeterDelete, meter(0, 1)}},
		{"id of all", "meter id 0xffffffff", MeterMod{MeterDelete, meter(0xffffffff, 1)}},
	} {
		_, err := encodeMeterMod(&tc.mod, version13, 1)
		require.ErrorContains(t, err, tc.err, tc.name)
		var me *MeterError
		require.ErrorAs(t, err, &me)
		require.NotEmpty(t, me.Meter)
	}
}
