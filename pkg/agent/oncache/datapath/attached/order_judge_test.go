// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package attached

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// tally counts packets of a burst. Measured: of 212,640 datagrams 4 were overtaken, by up to nine places; in bursts of 192, by 127 places,
// which is the bound.
type tally struct{ hits, slow, overtaken, furthest int }

// judge checks the order in which the packets of a burst have arrived: arrived are their places in the burst, slow says which of them
// took the slow path. A fault is described with its surroundings.
func judge(packets []sending, arrived []int, slow []bool) (got tally, fault string) {
	at := make([]int, len(packets))
	for i := range at {
		at[i] = -1
	}
	for i, place := range arrived {
		if place >= len(packets) || at[place] >= 0 {
			return got, fmt.Sprintf("packet %d has arrived twice, or was not sent", place)
		}
		at[place] = i
	}
	for first := range packets {
		switch {
		case packets[first].flow == pause.flow:
			continue
		case slow[first]:
			got.slow++
		default:
			got.hits++
		}
		overtaken := false
		for second := first + 1; second < len(packets); second++ {
			if packets[first].flow != packets[second].flow || at[first] < at[second] {
				continue
			}
			overtaken = true
			got.furthest = max(got.furthest, second-first)
			what := ""
			switch {
			case !slow[first]:
				what = "a hit was overtaken"
			case slow[second]:
				what = "packets of the slow path have changed places"
			case second/pollWeight > first/pollWeight+1:
				what = "a hit that the device has passed on later than in the next turn has overtaken a packet of the slow path"
			default:
				continue
			}
			return got, fmt.Sprintf("flow %d: %s: packet %d arrived behind packet %d\n%s", packets[first].flow, what, first, second,
				surroundings(packets, arrived, slow, at[second], at[first]))
		}
		if overtaken {
			got.overtaken++
		}
	}
	return got, ""
}

// surroundings lists the packets of a flow around two arrivals, in the order of arrival, by their places in the burst.
func surroundings(packets []sending, arrived []int, slow []bool, from, to int) string {
	const more = 16
	flow := packets[arrived[from]].flow
	var out []string
	for i := max(0, from-more); i < min(len(arrived), to+more+1); i++ {
		place := arrived[i]
		if packets[place].flow != flow {
			continue
		}
		path := "hit"
		if slow[place] {
			path = "slow"
		}
		mark := ""
		if i == from || i == to {
			mark = "*"
		}
		out = append(out, fmt.Sprintf("%s%d %s", mark, place, path))
	}
	return "arrived: " + strings.Join(out, ", ")
}

// TestJudge: each kind of fault is found, and what the bound allows is not.
func TestJudge(t *testing.T) {
	slowUpTo := func(n int) (slow [maxBurst]bool) {
		for i := range n {
			slow[i] = true
		}
		return slow
	}
	for _, c := range []struct {
		name string
		// slow says which packets take the slow path. Packet first arrives behind packet second.
		slow          [maxBurst]bool
		first, second int
		// sameFlow: all packets are of one flow, otherwise of two in turn.
		sameFlow bool
		fault    string
	}{
		{name: "a hit behind a hit", first: 8, second: 9, sameFlow: true, fault: "a hit was overtaken"},
		{name: "a hit of another flow behind a hit", first: 8, second: 9},
		{name: "a hit behind a packet of the slow path", slow: [maxBurst]bool{9: true}, first: 8, second: 9, sameFlow: true, fault: "a hit was overtaken"},
		{name: "both on the slow path", slow: slowUpTo(maxBurst), first: 8, second: 9, sameFlow: true, fault: "have changed places"},
		{name: "behind hits of the next turn", slow: slowUpTo(1), first: 0, second: 2*pollWeight - 1, sameFlow: true},
		{name: "behind hits of the turn after the next", slow: slowUpTo(1), first: 0, second: 2 * pollWeight, sameFlow: true, fault: "later than in the next turn"},
		{name: "the last of a turn", slow: [maxBurst]bool{pollWeight - 1: true}, first: pollWeight - 1, second: 2 * pollWeight, sameFlow: true, fault: "later than in the next turn"},
	} {
		t.Run(c.name, func(t *testing.T) {
			packets := make([]sending, maxBurst)
			var arrived []int
			for i := range packets {
				if !c.sameFlow {
					packets[i].flow = i % 2
				}
				if i != c.first {
					arrived = append(arrived, i)
				}
				if i == c.second {
					arrived = append(arrived, c.first)
				}
			}
			got, fault := judge(packets, arrived, c.slow[:])
			if c.fault != "" {
				require.Contains(t, fault, c.fault)
				return
			}
			require.Empty(t, fault)
			if c.sameFlow {
				require.Equal(t, c.second-c.first, got.furthest)
			}
		})
	}
	_, fault := judge(make([]sending, 2), []int{1, 1}, make([]bool, 2))
	require.Contains(t, fault, "twice")
}
