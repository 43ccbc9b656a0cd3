// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openings

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
)

// untracked is an entry in memory. between runs before each of the agent's steps, as other CPUs' programs may.
type untracked struct {
	word Word
	Connection
	between func()
}

func (u *untracked) step() {
	if u.between != nil {
		u.between()
	}
}

func (u *untracked) Note(promoted func(Word) bool) (Word, Connection, error) {
	u.step()
	if u.word.live() && promoted(u.word) {
		u.word |= Noted
	}
	return u.word, u.Connection, nil
}

func (u *untracked) Swap(old, next Word) (bool, error) {
	u.step()
	if u.word != old {
		return false, nil
	}
	u.word = next
	return true, nil
}

var errTable = errors.New("table full")

// table is conntrack with the entries of one zone.
type table struct {
	entries map[conntrack.Tuple]conntrack.Entry
	step    func()
	fails   func() bool
	// forgets: the kernel drops labels.
	forgets bool
}

func (t *table) find(tuple conntrack.Tuple) (conntrack.Tuple, bool) {
	for _, key := range []conntrack.Tuple{tuple, tuple.Reversed()} {
		if _, ok := t.entries[key]; ok {
			return key, true
		}
	}
	return tuple, false
}

func (t *table) before() error {
	if t.step != nil {
		t.step()
	}
	if t.fails != nil && t.fails() {
		return errTable
	}
	return nil
}

func (t *table) Get(_ uint16, tuple conntrack.Tuple) (*conntrack.Connection, error) {
	if err := t.before(); err != nil {
		return nil, err
	}
	key, ok := t.find(tuple)
	if !ok {
		return nil, nil
	}
	e := t.entries[key]
	return &conntrack.Connection{Original: e.Original, Mark: e.Mark, Labels: e.Labels}, nil
}

func (t *table) Create(e conntrack.Entry) error {
	if err := t.before(); err != nil {
		return err
	}
	if _, ok := t.find(e.Original); ok {
		return fs.ErrExist
	}
	if t.forgets {
		e.Labels = [2]uint64{}
	}
	t.entries[e.Original] = e
	return nil
}

func (t *table) Remove(_ uint16, tuple conntrack.Tuple) (bool, error) {
	if err := t.before(); err != nil {
		return false, err
	}
	key, ok := t.find(tuple)
	delete(t.entries, key)
	return ok, nil
}

func connection() Connection {
	return Connection{Zone: zone, Mark: 3, Labels: [2]uint64{7, 9}, Original: conntrack.Tuple{
		Source: netip.MustParseAddr("10.0.0.1"), Destination: netip.MustParseAddr("10.0.1.1"), Protocol: 6, SourcePort: 40000, DestinationPort: 80}}
}

func seconds(conntrack.State) time.Duration { return time.Minute }

// segment changes the entry as a segment on the fast path does: a SYN begins another connection, with another opening.
func (u *untracked) segment(r *rand.Rand) {
	if !u.word.live() {
		return
	}
	switch r.IntN(6) {
	case 0, 1:
		u.word |= Answered
	case 2:
		u.word |= OpenerFIN
	case 3:
		u.word |= AnswererFIN
	case 4:
		u.word |= Closed
	case 5:
		u.word = There | u.word&Noted | (u.word>>32+1)<<32
		u.Labels[0]++
	}
}

// TestPromote: whatever segments and failures come between the steps, a word that is gone and conntrack agree, as does the last error with
// a word that is not gone.
func TestPromote(t *testing.T) {
	const runs = 20000
	promoted := 0
	for seed := range uint64(runs) {
		r := rand.New(rand.NewPCG(seed, 4))
		c := connection()
		w := &untracked{word: There, Connection: c}
		budget := r.IntN(12)
		w.between = func() {
			if budget > 0 {
				budget--
				w.segment(r)
			}
		}
		// An entry that was left in the way, in either direction.
		tab := &table{entries: map[conntrack.Tuple]conntrack.Entry{}, step: w.between}
		left := false
		if r.IntN(2) == 0 {
			left = true
			stale := conntrack.Entry{Original: c.Original, State: conntrack.StateSynSent}
			if r.IntN(2) == 0 {
				stale.Original = c.Original.Reversed()
			}
			tab.entries[stale.Original] = stale
		}
		failing := r.IntN(3) == 0
		tab.fails = func() bool { return failing && r.IntN(4) == 0 }
		p := &Promoter{Table: tab, Timeout: seconds}
		err := p.Promote(w)
		if err != nil {
			require.ErrorIs(t, err, errTable)
			require.True(t, w.word.live(), "seed %d: segments reach conntrack after %v", seed, err)
			failing = false
			require.NoError(t, p.Promote(w))
		}
		require.Zero(t, w.word&Gone^Gone, "seed %d", seed)
		final := w.word &^ Gone
		key, ok := tab.find(c.Original)
		if final.promoted() {
			promoted++
			want := w.entry(final)
			want.Timeout = time.Minute
			require.True(t, ok, "seed %d: word %b has no entry", seed, final)
			require.Equal(t, want, tab.entries[key], "seed %d: word %b", seed, final)
		} else if final&Noted != 0 || !left {
			require.False(t, ok, "seed %d: word %b left %+v", seed, final, tab.entries[key])
		}
	}
	require.Greater(t, promoted, runs/10)
}

// TestEntries: what conntrack gets for each word.
func TestEntries(t *testing.T) {
	const usual, init = conntrack.FlagSACKPermitted | conntrack.FlagLiberal, conntrack.FlagCloseInit
	for word, want := range map[Word]*conntrack.Entry{
		0:                          nil,
		OpenerFIN:                  nil,
		Closed:                     nil,
		Answered | Closed:          nil,
		Answered | Closed | Noted:  nil,
		Answered:                   {State: conntrack.StateEstablished, Flags: [2]conntrack.Flags{usual, usual}},
		Answered | OpenerFIN:       {State: conntrack.StateCloseWait, Flags: [2]conntrack.Flags{usual | init, usual}},
		Answered | AnswererFIN:     {State: conntrack.StateCloseWait, Flags: [2]conntrack.Flags{usual, usual | init}},
		Answered | bothFINs | New:  {State: conntrack.StateLastAck, Flags: [2]conntrack.Flags{usual | init, usual | init}},
		Answered | bothFINs | Gone: nil,
	} {
		tab := &table{entries: map[conntrack.Tuple]conntrack.Entry{}}
		c := connection()
		w := &untracked{word: There | word, Connection: c}
		require.NoError(t, (&Promoter{Table: tab, Timeout: seconds}).Promote(w))
		require.False(t, w.word.live(), "word %b", word)
		if want == nil {
			require.Empty(t, tab.entries, "word %b", word)
			continue
		}
		want.Zone, want.Original, want.Mark, want.Labels, want.Timeout = c.Zone, c.Original, c.Mark, c.Labels, time.Minute
		require.Equal(t, map[conntrack.Tuple]conntrack.Entry{c.Original: *want}, tab.entries, "word %b", word)
	}
}

// TestLostLabel: an entry without the label of its rule does not stay.
func TestLostLabel(t *testing.T) {
	tab := &table{entries: map[conntrack.Tuple]conntrack.Entry{}, forgets: true}
	w := &untracked{word: There | Answered, Connection: connection()}
	err := (&Promoter{Table: tab, Timeout: seconds}).Promote(w)
	require.ErrorContains(t, err, "with label")
	require.Empty(t, tab.entries)
	require.True(t, w.word.live())
}

// TestWithoutConnection: what is gone, or was never there, is left alone.
func TestWithoutConnection(t *testing.T) {
	for _, word := range []Word{0, There | Gone | Answered} {
		w := &untracked{word: word}
		require.NoError(t, (&Promoter{}).Promote(w))
		require.Equal(t, word, w.word)
	}
}

// TestRestless: a word that changes without end is an error, not a loop.
func TestRestless(t *testing.T) {
	w := &untracked{word: There | Answered, Connection: connection()}
	w.between = func() { w.word ^= OpenerFIN }
	tab := &table{entries: map[conntrack.Tuple]conntrack.Entry{}}
	require.ErrorContains(t, (&Promoter{Table: tab, Timeout: seconds}).Promote(w), "has changed 32 times")
	require.True(t, w.word.live())
}
