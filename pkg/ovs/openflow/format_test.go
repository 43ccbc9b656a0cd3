// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFlowText(t *testing.T) {
	// TestEveryMatchAndActionOnOVS checks that these are the texts of ovs-ofctl.
	for _, m := range everyMatch {
		f := Flow{Table: 7, Priority: 200, Match: m.match}
		require.Equal(t, join("table=7,priority=200", m.want), f.Key())
		require.Equal(t, join("table=7", m.want), f.MatchString())
	}
	for _, a := range everyAction {
		f := Flow{Table: 7, Priority: 200, Cookie: 0x10, Actions: a.actions}
		require.Equal(t, "cookie=0x10, table=7, priority=200 actions="+a.want, f.String())
	}
	seen := map[Field]bool{}
	for _, m := range everyMatch {
		for _, f := range m.match {
			seen[f.Field] = true
		}
	}
	for f := FieldInPort; f <= FieldReg0; f++ {
		require.True(t, seen[f], "everyMatch has no %v", f)
	}
}

func TestKeyIgnoresHowTheMatchIsWritten(t *testing.T) {
	want := everyMatch[len(everyMatch)-1]
	shuffled := slices.Clone(want.match)
	for range 20 {
		rand.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		require.Equal(t, "table=0,priority=0,"+want.want, Flow{Match: shuffled}.Key())
	}
	for name, split := range map[string][]Match{
		"one match":         {Reg(0, Range{0, 7}, 0x21)},
		"two ranges":        {Reg(0, Range{4, 7}, 2), Reg(0, Range{0, 3}, 1)},
		"overlap, agree":    {Reg(0, Range{0, 7}, 0x21), Reg(0, Range{4, 7}, 2)},
		"with a wildcard":   {Reg(0, Range{0, 7}, 0x21), IPv4Src(netip.MustParsePrefix("0.0.0.0/0"))},
		"the same twice":    {Reg(0, Range{0, 7}, 0x21), Reg(0, Range{0, 7}, 0x21)},
		"a bit at a time":   {Reg(0, Range{0, 0}, 1), Reg(0, Range{1, 1}, 0), Reg(0, Range{2, 3}, 0), Reg(0, Range{4, 7}, 2)},
		"by value and mask": {{Field: FieldReg0, Value: []byte{0, 0, 0, 0x21}, Mask: []byte{0, 0, 0, 0xff}}},
	} {
		require.Equal(t, "table=0,priority=0,reg0=0x21/0xff", Flow{Match: split}.Key(), name)
	}
	require.Equal(t, "table=0,priority=0,reg0=0x5", Flow{Match: []Match{Reg(0, Range{0, 15}, 5), Reg(0, Range{16, 31}, 0)}}.Key(),
		"ranges that make up the whole field become an exact match")
}

func TestNormalizeDoesNotChangeItsInput(t *testing.T) {
	in := []Match{Reg(0, Range{0, 3}, 1), Reg(0, Range{4, 7}, 2)}
	_, err := normalize(in)
	require.NoError(t, err)
	require.Equal(t, []Match{Reg(0, Range{0, 3}, 1), Reg(0, Range{4, 7}, 2)}, in)
}

func TestConstructorsPanicOnImpossibleConstants(t *testing.T) {
	for name, f := range map[string]func(){
		"register 16":                 func() { Reg(16, all, 0) },
		"register of overflowing sum": func() { Reg(250, all, 0) },
		"bits beyond the register":    func() { Reg(0, Range{0, 32}, 0) },
		"bits in reverse order":       func() { Reg(0, Range{4, 3}, 0) },
		"value beyond the bits":       func() { Reg(0, Range{0, 3}, 16) },
		"label value beyond the bits": func() { CTLabel(Range{0, 3}, 16) },
		"unknown flag":                func() { CTState("+foo") },
		"flag without sign":           func() { CTState("trk") },
		"flag twice":                  func() { CTState("+trk-trk") },
		"sign only":                   func() { CTState("+") },
	} {
		require.Panics(t, f, name)
	}
}

func TestErrorNames(t *testing.T) {
	for want, e := range map[string]*Error{
		"OFPBMC_BAD_PREREQ (type 4, code 9)":            {Type: 4, Code: 9},
		"OFPFMFC_TABLE_FULL (type 5, code 1)":           {Type: 5, Code: 1},
		"OFPET_BAD_MATCH, unknown code 99 (type 4)":     {Type: 4, Code: 99},
		"unknown OpenFlow error (type 77, code 1)":      {Type: 77, Code: 1},
		"OFPBFC_MSG_FAILED (ONF error 2313)":            {Type: 0xffff, Code: 2313, Experimenter: onfExperimenter},
		"experimenter error 4250 (experimenter 0x2320)": {Type: 0xffff, Code: 4250, Experimenter: 0x2320},
		"malformed OpenFlow error message":              {Malformed: true},
	} {
		require.Equal(t, want, e.Error())
	}
}
