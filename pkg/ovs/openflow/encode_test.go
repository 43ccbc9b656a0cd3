// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEncodeRefuses(t *testing.T) {
	ip := netip.MustParsePrefix("10.0.0.0/8")
	match := func(m ...Match) FlowMod { return FlowMod{Flow: Flow{Match: m}} }
	actions := func(a ...Action) FlowMod { return FlowMod{Flow: Flow{Table: 5, Actions: a}} }
	for _, tc := range []struct {
		name, err string
		mod       FlowMod
	}{
		{"unknown field", "unknown field Field(99)", match(Match{Field: 99, Value: []byte{1}})},
		{"field 0", "unknown field Field(0)", match(Match{})},
		{"IPv6 prefix in an IPv4 field", "has 16 bytes, want 4", match(IPv4Src(netip.MustParsePrefix("fd00::/8")))},
		{"IPv4 prefix in an IPv6 field", "has 4 bytes, want 16", match(IPv6Src(ip))},
		{"invalid prefix", "has 0 bytes, want 4", match(IPv4Dst(netip.Prefix{}))},
		{"invalid address", "has 0 bytes, want 4", match(ARPSPA(netip.Addr{}))},
		{"short MAC", "has 2 bytes, want 6", match(EthSrc([]byte{1, 2}))},
		{"short mask", "the mask 0xff has 1 bytes", match(Match{Field: FieldReg0, Value: make([]byte, 4), Mask: []byte{0xff}})},
		{"mask on a field without", "cannot be matched in part", match(Match{Field: FieldInPort, Value: make([]byte, 4), Mask: make([]byte, 4)})},
		{"value outside the mask", "bits outside the mask", match(CTMark(0x10, 0xf))},
		{"contradiction", "can never match", match(Reg(0, Range{0, 3}, 1), Reg(0, Range{3, 4}, 1))},
		{"table 255", "table 255: want 0..254", FlowMod{Flow: Flow{Table: 255}}},
		{"unknown command", "unknown command 9", FlowMod{Command: 9}},
		{"cookie mask 0", "would delete every flow", FlowMod{Command: DeleteByCookie}},
		{"goto not last", "must be the last one, NORMAL follows", actions(GotoTable{6}, Normal{})},
		{"goto backwards", "want a table above", actions(GotoTable{5})},
		{"load too big", "does not fit 4 bits", actions(LoadField{FieldReg0, Range{0, 3}, 16})},
		{"load of over 64 bits", "at most 64 bits", actions(LoadField{FieldCTLabel, Range{0, 64}, 1})},
		{"load of unknown field", "unknown field", actions(LoadField{0, Range{0, 3}, 1})},
		{"load outside the field", "has 32 bits only", actions(LoadField{FieldReg0, Range{30, 32}, 1})},
		{"load of reversed bits", "must not be above", actions(LoadField{FieldReg0, Range{3, 2}, 1})},
		{"move of different widths", "source has 4 bits and the destination 5", actions(MoveField{FieldReg0, Range{0, 3}, FieldReg0, Range{8, 12}})},
		{"move from outside", "only", actions(MoveField{FieldReg0, Range{30, 33}, FieldReg0, Range{8, 11}})},
		{"move to outside", "only", actions(MoveField{FieldReg0, Range{0, 3}, FieldReg0, Range{30, 33}})},
		{"output of 64 bits", "at most 32", actions(OutputField{FieldCTLabel, Range{0, 63}})},
		{"output of unknown field", "unknown field", actions(OutputField{99, Range{0, 3}})},
		{"MAC of 3 bytes", "has 3 bytes, want 6", actions(SetEthDst{[]byte{1, 2, 3}})},
		{"tunnel to nowhere", "address is not set", actions(SetTunnelDst{})},
		{"clause 0", "want 2 to 64 clauses", actions(Conjunction{1, 0, 2})},
		{"clause beyond their number", "want 2 to 64 clauses", actions(Conjunction{1, 3, 2})},
		{"one clause", "want 2 to 64 clauses", actions(Conjunction{1, 1, 1})},
		{"exec without commit", "only together with commit", actions(CT{Exec: []Action{LoadField{FieldCTMark, all, 1}}})},
		{"exec into a register", "into ct_mark or ct_label", actions(CT{Commit: true, Exec: []Action{LoadField{FieldReg0, all, 1}}})},
		{"exec of output", "into ct_mark or ct_label", actions(CT{Commit: true, Exec: []Action{Normal{}}})},
		{"exec that is wrong itself", "does not fit", actions(CT{Commit: true, Exec: []Action{LoadField{FieldCTMark, Range{0, 0}, 2}}})},
		{"too long an exec", "want at most 256", actions(CT{Commit: true, Exec: make([]Action, 257)})},
		{"ct to table 255", "table 255", actions(CT{Table: 255})},
		{"pointer to an action", "by value", actions(&pointerAction{})},
		{"nil action", "unknown type <nil>", actions(nil)},
	} {
		t.Run(tc.name, func(t *testing.T) { requireRefused(t, tc.mod, tc.err) })
	}
}

// requireRefused checks that the encoder and the Fake refuse mod before it is sent.
func requireRefused(t *testing.T, mod FlowMod, text string) {
	t.Helper()
	for _, v := range []version{version13, version15} {
		_, err := encodeFlowMod(&mod, v, 1)
		require.ErrorContains(t, err, text)
		var fe *FlowError
		require.ErrorAs(t, err, &fe)
		require.NotEmpty(t, fe.Flow)
	}
	s := NewFake()
	_, err := s.Connect(t.Context())
	require.NoError(t, err)
	good := FlowMod{Flow: Flow{Table: 1}}
	var fe *FlowError
	require.ErrorAs(t, s.Commit(t.Context(), []FlowMod{good, mod}), &fe)
	require.Empty(t, s.Flows(), "a refused bundle changes nothing")
}

func TestEncodeRefusesActions(t *testing.T) {
	ip := netip.MustParseAddr("10.0.0.0")
	nat := func(n NATTo) Action { return CT{Commit: true, NATTo: &n} }
	learn := func(s LearnSpec) Action { return Learn{Specs: []LearnSpec{s}} }
	for _, tc := range []struct {
		name, err string
		actions   []Action
	}{
		{"meter not first", "must be the first one of a flow", []Action{Normal{}, Meter{5}}},
		{"meter in a clone", "meter:5: not in a clone", []Action{Clone{[]Action{Meter{5}}}}},
		{"clone in a clone", "not in a clone", []Action{Clone{[]Action{Clone{}}}}},
		{"group beyond the last", "want at most 0xffffff00", []Action{Group{0xfffffffc}}},
		{"resubmit from a port of over 16 bits", "want a port below 65280", []Action{ResubmitFrom{Port: 70000, Table: 7}}},
		{"set of an unknown field", "unknown field Field(99)", []Action{SetField{Field: 99}}},
		{"set of too few bytes", "has 1 bytes, want 4", []Action{SetField{Field: FieldReg0, Value: []byte{1}}}},
		{"set under a short mask", "mask 01 has 1 bytes, want 4", []Action{SetField{FieldReg0, make([]byte, 4), []byte{1}}}},
		{"set outside the mask", "bits outside the mask", []Action{SetField{FieldReg0, []byte{0, 0, 0, 2}, []byte{0, 0, 0, 1}}}},
		{"nat without commit", "only together with commit", []Action{CT{NATTo: &NATTo{}}}},
		{"nat twice", "not both", []Action{CT{Commit: true, NAT: true, NATTo: &NATTo{}}}},
		{"force without commit", "force: only together with commit", []Action{CT{Force: true}}},
		{"zone twice", "either a number or 16 bits", []Action{CT{Zone: 1, ZoneField: FieldReg0, ZoneRange: Range{0, 15}}}},
		{"zone of 8 bits", "either a number or 16 bits", []Action{CT{ZoneField: FieldReg0, ZoneRange: Range{0, 7}}}},
		{"zone outside its field", "has 32 bits only", []Action{CT{ZoneField: FieldReg0, ZoneRange: Range{20, 35}}}},
		{"nat to mixed versions", "want two of one IP version", []Action{nat(NATTo{First: ip, Last: netip.MustParseAddr("fd00::1")})}},
		{"nat to reversed addresses", "first not above the last", []Action{nat(NATTo{First: ip.Next(), Last: ip})}},
		{"nat to a last address only", "first not above the last", []Action{nat(NATTo{Last: ip})}},
		{"nat to a zone", "without zone", []Action{nat(NATTo{First: netip.MustParseAddr("fe80::1%eth0")})}},
		{"nat to reversed ports", "not above the last", []Action{nat(NATTo{First: ip, FirstPort: 2, LastPort: 1})}},
		{"nat to a last port only", "not above the last", []Action{nat(NATTo{First: ip, LastPort: 1})}},
		{"nat to ports only", "without an address", []Action{nat(NATTo{FirstPort: 1})}},
		{"nat, hash and random", "at most one of them", []Action{nat(NATTo{First: ip, Hash: true, Random: true})}},
		{"learn into table 255", "table 255", []Action{Learn{Table: 255}}},
		{"learn of an unknown kind", "unknown kind 3", []Action{learn(LearnSpec{Kind: 3})}},
		{"learned output of a constant", "want the field that has the port", []Action{learn(LearnSpec{Kind: LearnOutput})}},
		{"learn from bits outside", "has 32 bits only", []Action{learn(LearnLoadField(FieldReg0, all, FieldReg0, Range{1, 32}))}},
		{"learn of bits outside", "has 32 bits only", []Action{learn(LearnSpec{Dst: FieldReg0, DstRange: Range{1, 32}})}},
		{"learn of different widths", "source has 4 bits and the destination 32", []Action{learn(LearnLoadField(FieldReg0, all, FieldReg0, Range{0, 3}))}},
		{"learn of a long constant", "want 1 bytes with a value of at most 4 bits", []Action{learn(LearnSpec{Dst: FieldReg0, DstRange: Range{0, 3}, Value: []byte{16}})}},
		{"learn of a constant of wrong size", "want 4 bytes", []Action{learn(LearnSpec{Dst: FieldReg0, DstRange: all, Value: []byte{1}})}},
		{"an action of over 64 KiB", "want at most 65535", []Action{Note{make([]byte, 70000)}}},
	} {
		t.Run(tc.name, func(t *testing.T) { requireRefused(t, FlowMod{Flow: Flow{Table: 5, Actions: tc.actions}}, tc.err) })
	}
	requireRefused(t, FlowMod{Flow: Flow{Match: []Match{{Field: FieldXXReg0 + 3, Value: make([]byte, 16)}}}}, "want matches on the four registers")
}

type pointerAction struct{ Normal }

// TestOutGroupIsAlwaysAny guards against a deletion that is wider than requested.
func TestOutGroupIsAlwaysAny(t *testing.T) {
	for _, mod := range []FlowMod{
		{Command: Add, Flow: Flow{Actions: []Action{Output{5}}}},
		{Command: DeleteStrict},
		{Command: DeleteByCookie, CookieMask: 1},
	} {
		b, err := encodeFlowMod(&mod, version13, 7)
		require.NoError(t, err)
		require.Equal(t, uint32(7), binary.BigEndian.Uint32(b[4:]), "xid")
		require.Equal(t, len(b), int(binary.BigEndian.Uint16(b[2:])), "length")
		require.Equal(t, uint32(0xffffffff), binary.BigEndian.Uint32(b[36:]), "out_port")
		require.Equal(t, uint32(0xffffffff), binary.BigEndian.Uint32(b[40:]), "out_group")
	}
}

func TestHugeFlowsAreRefusedNotTruncated(t *testing.T) {
	for _, n := range []int{2730, 5461, 10000} {
		mod := FlowMod{Flow: Flow{Actions: make([]Action, n)}}
		for i := range mod.Flow.Actions {
			mod.Flow.Actions[i] = LoadField{FieldReg0, all, 1}
		}
		_, err := encodeFlowMod(&mod, version13, 1)
		require.ErrorContains(t, err, "want at most 65511", "%d actions", n)
	}
}
