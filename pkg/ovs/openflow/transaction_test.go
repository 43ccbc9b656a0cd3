// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// group is a group of type all whose one bucket has actions.
func group(id uint32, actions ...Action) GroupEntry {
	return GroupEntry{ID: id, Buckets: []Bucket{{Actions: actions}}}
}

func groupMods(command GroupCommand, groups ...GroupEntry) []GroupMod {
	var mods []GroupMod
	for _, g := range groups {
		mods = append(mods, GroupMod{command, g})
	}
	return mods
}

func meter(id, rate uint32) MeterEntry { return MeterEntry{ID: id, Rate: rate, Burst: 2 * rate} }

func meterMods(command MeterCommand, meters ...MeterEntry) []MeterMod {
	var mods []MeterMod
	for _, m := range meters {
		mods = append(mods, MeterMod{command, m})
	}
	return mods
}

// to is a flow in the given table, with the given actions.
func to(table uint8, actions ...Action) Flow {
	return Flow{Table: table, Priority: 1, Actions: actions}
}

// transactionCase is the effect of a Transaction on a switch with two groups, two meters and four flows.
type transactionCase struct {
	name string
	t    Transaction
	// err is the error of the switch, text a part of the error's message; nil and "" for success.
	err  *Error
	text string
	// flows (tables), groups and meters are in the switch afterwards.
	flows          []uint8
	groups, meters []uint32
}

// startState begins every case: flow 1 points to group 1, 2 to group 2, 3 to meter 1, 4 to nothing; group 2 points to group 1.
var startState = Transaction{
	Meters: meterMods(MeterAdd, meter(1, 10), meter(2, 10)),
	Groups: groupMods(GroupAdd, group(1, Output{1}), group(2, Group{1})),
	Flows:  adds(to(1, Group{1}), to(2, LoadField{FieldReg0, all, 1}, Group{2}), to(3, Meter{1}, Output{1}), to(4, Controller{Meter: 2})),
}

var (
	allFlows = []uint8{1, 2, 3, 4}
	both     = []uint32{1, 2}
)

var transactionCases = []transactionCase{
	{"nothing", Transaction{}, nil, "", allFlows, both, both},
	{"a group and a flow that points to it", Transaction{Groups: groupMods(GroupAdd, group(3)), Flows: adds(to(5, Group{3}))},
		nil, "", []uint8{1, 2, 3, 4, 5}, []uint32{1, 2, 3}, both},
	{"an unknown group", Transaction{Flows: adds(to(5), to(6, Group{9}), to(7))}, &errBadOutGroup,
		`actions=group:9": OFPBAC_BAD_OUT_GROUP (type 2, code 9): one of the groups [9] does not exist: want it added before`, allFlows, both, both},
	{"a group of the same transaction that is deleted in it", Transaction{Groups: groupMods(GroupDelete, group(1)), Flows: adds(to(5, Group{1}))},
		nil, "", []uint8{2, 3, 4}, []uint32{2}, both},
	{"a duplicate group", Transaction{Groups: groupMods(GroupAdd, group(3), group(1, Output{2})), Flows: adds(to(5))}, &errGroupExists,
		`group "group_id=1,type=all,bucket=actions=output:2": OFPGMFC_GROUP_EXISTS (type 6, code 0): there is a group with this id: want GroupModify`,
		allFlows, both, both},
	{"modification of an unknown group", Transaction{Groups: groupMods(GroupModify, group(1, Output{7}), group(3))}, &errUnknownGroup,
		`"modify group_id=3,type=all,bucket=actions=drop": OFPGMFC_UNKNOWN_GROUP (type 6, code 8): there is no group with this id: want GroupAdd`, allFlows, both, both},
	{"put adds and replaces", Transaction{Groups: groupMods(GroupPut, group(1, Output{7}), group(3))}, nil, "", allFlows, []uint32{1, 2, 3}, both},
	{"modification of a group keeps its flows", Transaction{Groups: groupMods(GroupModify, group(1))}, nil, "", allFlows, both, both},
	{"a deleted group takes its flows", Transaction{Groups: groupMods(GroupDelete, group(2))}, nil, "", []uint8{1, 3, 4}, []uint32{1}, both},
	{"a group that another one points to", Transaction{Groups: groupMods(GroupDelete, group(1))}, nil, "", []uint8{2, 3, 4}, []uint32{2}, both},
	{"deletion of an unknown group", Transaction{Groups: groupMods(GroupDelete, group(9))}, nil, "", allFlows, both, both},
	{"deletion of all groups comes first", Transaction{Groups: slices.Concat(groupMods(GroupAdd, group(1)), groupMods(GroupDeleteAll, GroupEntry{})),
		Flows: adds(to(5, Group{1}))}, nil, "", []uint8{3, 4, 5}, []uint32{1}, both},
	{"a bucket that points to an unknown group", Transaction{Groups: groupMods(GroupAdd, group(3, Group{9}))}, nil, "", allFlows, []uint32{1, 2, 3}, both},
	{"two changes of one group", Transaction{Groups: slices.Concat(groupMods(GroupDelete, group(1)), groupMods(GroupAdd, group(1)))}, nil,
		"a transaction can change it only once", allFlows, both, both},
	{"a group id beyond the last", Transaction{Groups: groupMods(GroupAdd, group(MaxGroupID+1))}, nil, "want at most 0xffffff00", allFlows, both, both},
	{"a meter and a flow that points to it", Transaction{Meters: meterMods(MeterAdd, meter(3, 10)), Flows: adds(to(5, Meter{3}))}, nil, "",
		[]uint8{1, 2, 3, 4, 5}, both, []uint32{1, 2, 3}},
	{"an unknown meter", Transaction{Flows: adds(to(5, Meter{9}))}, &errInvalidMeter,
		`actions=meter:9": OFPMMFC_INVALID_METER (type 12, code 2): the meter 9 does not exist: want it added before`, allFlows, both, both},
	{"an unknown meter of a controller action", Transaction{Flows: adds(to(5, Controller{Meter: 9}))}, nil, "", []uint8{1, 2, 3, 4, 5}, both, both},
	{"a meter that was added for a bundle that fails", Transaction{Meters: meterMods(MeterAdd, meter(3, 10)), Flows: adds(to(5, Meter{3}), to(6, Group{9}))},
		&errBadOutGroup, "OFPBAC_BAD_OUT_GROUP", allFlows, both, both},
	{"a duplicate meter", Transaction{Meters: meterMods(MeterAdd, meter(3, 10), meter(1, 10)), Flows: adds(to(5))}, &errMeterExists,
		`meter "meter=1 pktps burst stats bands= type=drop rate=10 burst_size=20": OFPMMFC_METER_EXISTS (type 12, code 1): there is a meter with this id: want MeterModify`,
		allFlows, both, both},
	{"modification of an unknown meter, behind the bundle", Transaction{Meters: meterMods(MeterModify, meter(9, 10)), Flows: adds(to(5))}, &errUnknownMeter,
		"there is no meter with this id: want MeterAdd", []uint8{1, 2, 3, 4, 5}, both, both},
	{"a deleted meter takes its flows", Transaction{Meters: meterMods(MeterDelete, meter(1, 0))}, nil, "", []uint8{1, 2, 4}, both, []uint32{2}},
	{"a deleted meter leaves controller actions", Transaction{Meters: meterMods(MeterDelete, meter(2, 0))}, nil, "", allFlows, both, []uint32{1}},
	{"deletion of all meters comes first", Transaction{Meters: slices.Concat(meterMods(MeterAdd, meter(1, 5)), meterMods(MeterDeleteAll, MeterEntry{})),
		Flows: adds(to(5, Meter{1}))}, nil, "", []uint8{1, 2, 4, 5}, both, []uint32{1}},
	{"two changes of one meter", Transaction{Meters: slices.Concat(meterMods(MeterAdd, meter(3, 1)), meterMods(MeterDelete, meter(3, 1)))}, nil,
		"a transaction can change it only once", allFlows, both, both},
	{"a meter without rate, so nothing is sent", Transaction{Meters: meterMods(MeterAdd, meter(3, 1), meter(4, 0))}, nil,
		"the rate is 0", allFlows, both, both},
	{"a flow that cannot be sent, behind a meter", Transaction{Meters: meterMods(MeterAdd, meter(3, 1)), Flows: adds(to(255))}, nil,
		"table 255: want 0..254", allFlows, both, both},
}

// TestTransactions runs the same cases on the Fake and on Open vSwitch, with both versions.
func TestTransactions(t *testing.T) {
	t.Run("Fake", func(t *testing.T) {
		s := NewFake()
		_, err := s.Connect(t.Context())
		require.NoError(t, err)
		runTransactions(t, s)
	})
	t.Run("OVS", func(t *testing.T) {
		ovs, s, _ := connectOVS(t)
		t.Run("OpenFlow 1.3", func(t *testing.T) { runTransactions(t, s) })
		t.Run("OpenFlow 1.5", func(t *testing.T) { runTransactions(t, connect(t, ovs.MgmtSocket(testBridge), WithOpenFlow15())) })
	})
}

func runTransactions(t *testing.T, s Switch) {
	for _, tc := range transactionCases {
		t.Run(tc.name, func(t *testing.T) {
			require.NoError(t, s.Apply(t.Context(), Transaction{
				Meters: meterMods(MeterDeleteAll, MeterEntry{}), Groups: groupMods(GroupDeleteAll, GroupEntry{}),
				Flows: []FlowMod{{Command: DeleteByCookie, CookieMask: 1}},
			}))
			require.NoError(t, s.Apply(t.Context(), startState))
			err := s.Apply(t.Context(), tc.t)
			if tc.text == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, tc.text)
			}
			if tc.err != nil {
				var e *Error
				require.ErrorAs(t, err, &e)
				require.Equal(t, tc.err, e)
			}
			requireState(t, s, tc)
		})
	}
}

func requireState(t *testing.T, s Switch, tc transactionCase) {
	t.Helper()
	flows, err := s.DumpFlows(t.Context(), tableAll)
	require.NoError(t, err)
	var tables []uint8
	for _, f := range flows {
		tables = append(tables, f.Flow.Table)
	}
	slices.Sort(tables)
	require.Equal(t, tc.flows, tables, "flows")
	groups, err := s.DumpGroups(t.Context())
	require.NoError(t, err)
	require.Equal(t, tc.groups, slices.Sorted(slices.Values(idsOf(groups))), "groups")
	stats, err := s.DumpGroupStats(t.Context())
	require.NoError(t, err)
	require.Len(t, stats, len(groups))
	meters, err := s.DumpMeters(t.Context())
	require.NoError(t, err)
	var ids []uint32
	for _, m := range meters {
		ids = append(ids, m.ID)
	}
	slices.Sort(ids)
	require.Equal(t, tc.meters, ids, "meters")
}

// TestOrderOfATransaction has changes in an order that no switch would accept.
func TestOrderOfATransaction(t *testing.T) {
	tr := Transaction{
		Meters: []MeterMod{{MeterDelete, meter(1, 1)}, {MeterAdd, meter(2, 1)}, {MeterModify, meter(3, 1)}, {MeterDeleteAll, MeterEntry{}}},
		Groups: []GroupMod{{GroupDelete, group(1)}, {GroupDelete, group(2)}, {GroupModify, group(3)}, {GroupAdd, group(4)}, {GroupDeleteAll, GroupEntry{}}},
		Flows:  adds(to(1), to(2)),
	}
	p, err := tr.plan()
	require.NoError(t, err)
	require.Equal(t, []MeterMod{{MeterDeleteAll, MeterEntry{}}, {MeterAdd, meter(2, 1)}}, p.before)
	require.Equal(t, []MeterMod{{MeterDelete, meter(1, 1)}, {MeterModify, meter(3, 1)}}, p.after)
	require.Equal(t, []MeterMod{{MeterDelete, meter(2, 1)}}, p.undoing)
	require.Equal(t, []bundled{&GroupMod{GroupDeleteAll, GroupEntry{}}, &GroupMod{GroupModify, group(3)}, &GroupMod{GroupAdd, group(4)},
		&FlowMod{Flow: to(1)}, &FlowMod{Flow: to(2)}, &GroupMod{GroupDelete, group(2)}, &GroupMod{GroupDelete, group(1)}}, p.bundle)
}
