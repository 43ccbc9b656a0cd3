// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/policy"
)

func tierPlace(tier int32, priority float64, rule int32) place {
	return place{order: policy.OrderOf(tier, priority, rule), strictness: 2}
}

func requireInOrder(t *testing.T, n *numbering) {
	t.Helper()
	for i := range n.seats {
		require.True(t, n.seats[i].number >= n.bottom && int(n.seats[i].number) <= n.highest(), "%+v", n.seats[i])
		if i > 0 {
			require.Negative(t, n.seats[i-1].place.compare(n.seats[i].place))
			require.Greater(t, n.seats[i-1].number, n.seats[i].number)
		}
	}
}

func TestNumbersAreTheGuessesWhereTheseAreInOrder(t *testing.T) {
	n := &numbering{numberRange: &tierNumbers, table: "T"}
	moves, err := n.insert([]place{tierPlace(250, 5, 1), tierPlace(250, 5, 0), tierPlace(50, 1.5, 0)}, nil)
	require.NoError(t, err)
	require.Empty(t, moves)
	require.Equal(t, uint16(64989-250*200-5*100), n.number(tierPlace(250, 5, 0)))
	require.Equal(t, uint16(64989-250*200-5*100-1), n.number(tierPlace(250, 5, 1)))
	require.Equal(t, uint16(64989-50*200-30), n.number(tierPlace(50, 1.5, 0)))
	b := &numbering{numberRange: &baselineNumbers, table: "B"}
	_, err = b.insert([]place{tierPlace(policy.TierBaseline, 1, 0)}, nil)
	require.NoError(t, err)
	require.Equal(t, uint16(170), b.number(tierPlace(policy.TierBaseline, 1, 0)))
	_, err = n.insert([]place{tierPlace(250, 7, 0)}, map[place]uint16{tierPlace(250, 7, 0): 123})
	require.NoError(t, err)
	require.Equal(t, uint16(123), n.number(tierPlace(250, 7, 0)), "the number of a former agent")
}

// The numbers of a set of places that come at once do not depend on their order.
func TestNumbersOfABatchAreDeterministic(t *testing.T) {
	places, err := randomPlaces(rand.New(rand.NewPCG(1, 0)), 5_000), error(nil)
	var first []seat
	for range 3 {
		n := &numbering{numberRange: &tierNumbers, table: "T"}
		rand.Shuffle(len(places), func(i, j int) { places[i], places[j] = places[j], places[i] })
		_, err = n.insert(places, nil)
		require.NoError(t, err)
		requireInOrder(t, n)
		if first != nil {
			require.Equal(t, first, n.seats)
		}
		first = n.seats
	}
}

func randomPlaces(rng *rand.Rand, n int) (places []place) {
	tiers := []int32{0, 50, 100, 150, 200, 250, 251}
	for range n {
		places = append(places, place{policy.OrderOf(tiers[rng.IntN(len(tiers))], float64(rng.IntN(10_000))/8, rng.Int32N(10)), rng.IntN(3), rng.IntN(2)})
	}
	return places
}

// However places come and go, numbers are in the order of places, and each is moved only if it has to be. The test states how many.
func TestRandomInsertionsKeepTheOrder(t *testing.T) {
	const insertions = 10_000
	for _, test := range []struct {
		name string
		next func(rng *rand.Rand, i int) place
		mean float64
	}{
		{"random", func(rng *rand.Rand, _ int) place { return randomPlaces(rng, 1)[0] }, 2},
		{"ascending", func(_ *rand.Rand, i int) place { return tierPlace(250, float64(i), 0) }, 20},
		{"descending", func(_ *rand.Rand, i int) place { return tierPlace(250, float64(insertions-i), 0) }, 20},
		{"always between the last two", func(_ *rand.Rand, i int) place {
			return tierPlace(250, 5+float64(i%2)-float64(i)/insertions/3*float64(1-2*(i%2)), 0)
		}, 20},
	} {
		t.Run(test.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(34, 0))
			n := &numbering{numberRange: &tierNumbers, table: "T"}
			total, most := 0, 0
			for i := range insertions {
				moves, err := n.insert([]place{test.next(rng, i)}, nil)
				require.NoError(t, err)
				total, most = total+len(moves), max(most, len(moves))
				for _, m := range moves {
					require.NotEqual(t, m.from, m.to)
					require.Equal(t, m.to, n.number(m.place))
				}
				if rng.IntN(4) == 0 && len(n.seats) > 0 {
					n.remove(n.seats[rng.IntN(len(n.seats))].place)
				}
				if i%1000 == 0 || i == insertions-1 {
					requireInOrder(t, n)
				}
			}
			mean := float64(total) / insertions
			t.Logf("%d insertions, %d seats: %.2f moves each, at most %d", insertions, len(n.seats), mean, most)
			require.LessOrEqual(t, mean, test.mean)
		})
	}
}

func TestNumbersRunOut(t *testing.T) {
	n := &numbering{numberRange: &baselineNumbers, table: "IngressDefaultRule"}
	for i := range int32(169) {
		_, err := n.insert([]place{tierPlace(policy.TierBaseline, 1, i)}, nil)
		require.NoError(t, err)
	}
	requireInOrder(t, n)
	_, err := n.insert([]place{tierPlace(policy.TierBaseline, 2, 0)}, nil)
	require.ErrorContains(t, err, "table IngressDefaultRule has 169 priorities (10 to 178)")
	require.ErrorContains(t, err, "169 are taken: 1 more find no room; give policies equal priorities, or merge rules")
	n.remove(tierPlace(policy.TierBaseline, 1, 7))
	_, err = n.insert([]place{tierPlace(policy.TierBaseline, 2, 0)}, nil)
	require.NoError(t, err)
	requireInOrder(t, n)
}
