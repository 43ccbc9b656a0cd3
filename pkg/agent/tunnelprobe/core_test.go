// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package tunnelprobe

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// simulation runs a core against peers of which some are silent.
type simulation struct {
	*core
	now    time.Time
	silent map[string]bool
	// sent counts requests, most is the largest number in a round.
	sent, most int
}

func simulate(peers int) *simulation {
	s := &simulation{now: time.Unix(1000, 0), silent: map[string]bool{}}
	s.core = newCore(s.now, netip.Addr{})
	s.setPeers(peersOf(peers))
	return s
}

func peersOf(n int) []Peer {
	var peers []Peer
	for i := range n {
		peers = append(peers, Peer{fmt.Sprint("n", i), netip.AddrFrom4([4]byte{10, byte(i >> 8), byte(i), 1})})
	}
	return peers
}

func (s *simulation) run(seconds int) {
	for range seconds {
		asked := s.ask(s.now)
		s.sent += len(asked)
		s.most = max(s.most, len(asked))
		for _, p := range asked {
			if !s.silent[p.Name] {
				s.answer(s.now.Add(time.Millisecond), p.Gateway)
			}
		}
		s.now = s.now.Add(round)
	}
}

func (s *simulation) verdict() string {
	missed, alone := s.core.verdict(s.now)
	return fmt.Sprint(missed, alone)
}

const fine = "[] false"

func TestSilentPeerIsMissed(t *testing.T) {
	s := simulate(3)
	s.run(10)
	require.Equal(t, fine, s.verdict())
	s.silent["n1"] = true
	s.run(4)
	require.Equal(t, fine, s.verdict(), "some may be lost")
	s.run(16)
	require.Equal(t, "[n1] false", s.verdict())
	s.silent["n1"] = false
	s.run(7)
	require.Equal(t, fine, s.verdict())
	s.silent["n1"] = true
	s.run(30)
	require.Equal(t, "[n1] false", s.verdict())
	s.setPeers([]Peer{peersOf(3)[0], peersOf(3)[2]})
	require.Equal(t, fine, s.verdict(), "its Node is gone or not ready")
	s.setPeers(peersOf(3))
	s.run(30)
	require.Equal(t, fine, s.verdict(), "it has not answered since then")
}

func TestSilenceOfAllIsOfThisNode(t *testing.T) {
	s := simulate(40)
	s.run(60)
	for i := range 40 {
		s.silent[fmt.Sprint("n", i)] = true
	}
	s.run(21)
	require.Equal(t, "[] true", s.verdict())
	s.silent["n7"] = false
	s.run(60)
	missed, alone := s.core.verdict(s.now)
	require.False(t, alone)
	require.Len(t, missed, 39)
}

// Peers that drop requests, as their firewalls may, are not missed: neither one of many, nor all.
func TestWhoeverHasNeverAnsweredIsNotMissed(t *testing.T) {
	s := simulate(3)
	s.silent["n0"] = true
	s.run(120)
	require.Equal(t, fine, s.verdict())
	s = simulate(2)
	s.silent["n0"], s.silent["n1"] = true, true
	s.run(120)
	require.Equal(t, fine, s.verdict())
	// An earlier agent has had answers.
	s.proof = peersOf(2)[1].Gateway
	s.run(21)
	require.Equal(t, "[] true", s.verdict())
	s.setPeers(nil)
	s.run(1)
	require.Equal(t, fine, s.verdict(), "there is no peer to answer")
}

// When the only peer that has answered is removed, the silence of the others may be caused by firewalls.
func TestProofLeaves(t *testing.T) {
	s := simulate(3)
	s.silent["n1"], s.silent["n2"] = true, true
	s.run(30)
	s.silent["n0"] = true
	s.run(30)
	require.Equal(t, "[] true", s.verdict())
	s.setPeers(peersOf(3)[1:])
	s.run(30)
	require.Equal(t, fine, s.verdict())
	s.silent["n2"] = false
	s.run(10)
	s.silent["n2"] = true
	s.run(30)
	require.Equal(t, "[] true", s.verdict(), "another peer has answered since")
}

func TestRequestsDoNotGrowWithNodes(t *testing.T) {
	s := simulate(5000)
	s.run(2500)
	require.LessOrEqual(t, s.most, perRound)
	for _, p := range s.order {
		require.True(t, p.answered, "each peer in turn")
	}
	for i := range 5000 {
		s.silent[fmt.Sprint("n", i)] = i%2 == 0
	}
	s.most = 0
	s.run(5000)
	require.LessOrEqual(t, s.most, perRound)
	missed, alone := s.core.verdict(s.now)
	require.False(t, alone)
	require.NotEmpty(t, missed)
	s = simulate(1)
	s.run(60)
	require.Equal(t, 12, s.sent, "a peer that answers is asked every 5 s")
}
