// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package shares

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

func TestLimits(t *testing.T) {
	for name, c := range map[string]struct{ capacity, cpus, pods, usable, full, share int }{
		"default":                        {1 << 20, 8, 100, 1047552, 916480, 10475},
		"many CPUs":                      {1 << 20, 256, 100, 1015808, 884736, 10158},
		"smallest map":                   {1024, 2, 2, 768, 512, 384},
		"one Pod has all to itself":      {4096, 2, 1, 3840, 3328, 0},
		"no Pod":                         {4096, 2, 0, 3840, 3328, 0},
		"more Pods than a map has room":  {1024, 2, 1000, 768, 512, 1},
		"never less than one entry each": {256, 2, 2, 1, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.usable, Usable(c.capacity, c.cpus))
			require.Equal(t, c.full, Full(c.capacity, c.cpus))
			require.Equal(t, c.share, Share(c.capacity, c.cpus, c.pods))
		})
	}
}

func TestPlan(t *testing.T) {
	const full, share = 800, 100
	for name, c := range map[string]struct {
		held []Held
		want []Counts
	}{
		"no Pod has anything":      {[]Held{{}, {}}, []Counts{{}, {}}},
		"not nearly full":          {[]Held{{Counts: Counts{Void: 100, Idle: 300, Live: 300}, Refused: 9}, {Counts: Counts{Live: 99}}}, []Counts{{}, {}}},
		"less than half as full":   {[]Held{{Counts: Counts{Unanswered: 300}, Refused: 9}, {Counts: Counts{Live: 99}}}, []Counts{{}, {}}},
		"half as full":             {[]Held{{Counts: Counts{Void: 9, Unanswered: 200, Idle: 91}, Refused: 9}, {Counts: Counts{Unanswered: 1, Live: 99}}}, []Counts{{Unanswered: 200}, {Unanswered: 1}}},
		"unanswered ones go":       {[]Held{{Counts: Counts{Unanswered: 1, Live: 700}}, {Counts: Counts{Unanswered: 2, Live: 97}}}, []Counts{{Unanswered: 1}, {Unanswered: 2}}},
		"just nearly full":         {[]Held{{Counts: Counts{Live: 700}}, {Counts: Counts{Live: 100}}}, []Counts{{}, {}}},
		"void ones go, whoever's":  {[]Held{{Counts: Counts{Void: 1, Live: 700}}, {Counts: Counts{Void: 2, Live: 97}}, {Counts: Counts{Void: 3}}}, []Counts{{Void: 1}, {Void: 2}, {Void: 3}}},
		"others want their shares": {[]Held{{Counts: Counts{Live: 760}}, {Counts: Counts{Live: 100}}}, []Counts{{Live: 60}, {}}},
		"idle ones first":          {[]Held{{Counts: Counts{Idle: 50, Live: 710}}, {Counts: Counts{Live: 100}}}, []Counts{{Idle: 50, Live: 10}, {}}},
		"Pods with most give":      {[]Held{{Counts: Counts{Live: 600}}, {Counts: Counts{Live: 300}}, {Counts: Counts{Live: 100}}}, []Counts{{Live: 200}, {}, {}}},
		"two with most":            {[]Held{{Counts: Counts{Live: 600}}, {Counts: Counts{Live: 500}}, {Counts: Counts{Live: 100}}}, []Counts{{Live: 250}, {Live: 150}, {}}},
		"no Pod gives of a share": {[]Held{{Counts: Counts{Live: 120}}, {Counts: Counts{Live: 100}}, {Counts: Counts{Live: 100}}, {Counts: Counts{Live: 100}}, {Counts: Counts{Live: 100}}, {Counts: Counts{Live: 100}}, {Counts: Counts{Live: 100}}, {Counts: Counts{Live: 100}}, {Counts: Counts{Live: 99}}},
			[]Counts{{Live: 20}, {}, {}, {}, {}, {}, {}, {}, {}}},
		"refused, and has idle ones":                      {[]Held{{Counts: Counts{Idle: 700}, Refused: 5}, {Counts: Counts{Live: 100}}}, []Counts{{Idle: 5}, {}}},
		"refused often":                                   {[]Held{{Counts: Counts{Idle: 700}, Refused: 1000}, {Counts: Counts{Live: 100}}}, []Counts{{Idle: 12}, {}}},
		"refused, but all are in use":                     {[]Held{{Counts: Counts{Live: 700}, Refused: 1000}, {Counts: Counts{Live: 100}}}, []Counts{{}, {}}},
		"refused, and has too much":                       {[]Held{{Counts: Counts{Idle: 65, Live: 695}, Refused: 1000}, {Counts: Counts{Live: 100}}}, []Counts{{Idle: 65}, {}}},
		"idle ones of others are theirs":                  {[]Held{{Counts: Counts{Live: 700}, Refused: 1000}, {Counts: Counts{Idle: 100}}}, []Counts{{}, {}}},
		"what is left after void ones is not nearly full": {[]Held{{Counts: Counts{Void: 500, Idle: 300}}}, []Counts{{Void: 500}}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Empty(t, cmp.Diff(c.want, Plan(full, share, c.held)))
		})
	}
}

// TestNoLimit: with a single Pod, the LRU map alone decides what is evicted.
func TestNoLimit(t *testing.T) {
	require.Equal(t, []Counts{{}}, Plan(800, 0, []Held{{Counts: Counts{Void: 1000, Idle: 1000}, Refused: 5}}))
	require.Equal(t, []Counts{{Unanswered: 7}}, Plan(800, 0, []Held{{Counts: Counts{Unanswered: 7, Live: 800}}}), "its handshakes need room")
}

// TestPlanIsFair: after a plan for any state, the map is at most nearly full if the shares allow that. No Pod loses entries
// in use within its share, and a Pod that loses entries keeps at least as many as any other has.
func TestPlanIsFair(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1))
		pods := 2 + r.IntN(20)
		full, share := 800, 1000/pods
		held := make([]Held, pods)
		for i := range held {
			held[i] = Held{Counts: Counts{Void: r.IntN(50), Idle: r.IntN(1000) / pods, Live: r.IntN(4000) / pods}}
		}
		drops := Plan(full, share, held)
		kept, most, floor := 0, 0, full
		for i, h := range held {
			left := h.Used() - drops[i].Used()
			require.GreaterOrEqual(t, left, min(share, h.Used()), "seed %d", seed)
			require.True(t, drops[i][Live] == 0 || drops[i][Idle] == h.Counts[Idle], "seed %d: idle ones first", seed)
			kept += left
			most = max(most, left)
			if left < h.Used() {
				floor = min(floor, left)
			}
		}
		require.True(t, kept <= full || most <= share, "seed %d: %d are left, one has %d: %v", seed, kept, most, held)
		require.GreaterOrEqual(t, floor, min(most, full), "seed %d", seed)
	}
}
