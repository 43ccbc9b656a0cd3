// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package tunnelprobe

import (
	"net/netip"
	"time"
)

const (
	// round is the time between two rounds of requests, perRound how many are sent in one, of which suspectsPerRound to peers that have lost some.
	round            = time.Second
	perRound         = 4
	suspectsPerRound = 2
	// answerTime limits the time for an answer, restTime is the time between two requests to a peer that answers.
	answerTime = 2 * time.Second
	restTime   = 5 * time.Second
	// maxLost is the number of requests in a row that must be lost: one or two are lost when Open vSwitch is replaced
	// or a Node is busy.
	maxLost = 5
	// silence is the time without an answer of any peer, while there is one to answer, after which this Node is to
	// blame.
	silence = 20 * time.Second
)

// Peer is another Node with a gateway.
type Peer struct {
	Name string
	// Gateway is the address of its gateway, of a family that this Node's gateway has.
	Gateway netip.Addr
}

// peerState is the state of a peer.
type peerState struct {
	Peer
	// asked is the time of the last request; waiting is set while its answer is expected.
	asked   time.Time
	waiting bool
	// lost counts the last requests without an answer. answered is set once the peer has answered: one whose firewall drops such requests never
	// does, and is not missed.
	lost     int
	answered bool
}

func (p *peerState) missed() bool { return p.answered && p.lost >= maxLost }

// core decides whom to ask, and what silence means. It is not safe for concurrent use.
type core struct {
	byName    map[string]*peerState
	byGateway map[netip.Addr]*peerState
	order     []*peerState
	// next are positions in order: of the next peer to ask in turn, and of the next suspect.
	next, nextSuspect int
	// proof is the gateway of a peer that has answered this agent or an earlier one. While it is a peer, the silence of
	// all is not caused by firewalls.
	proof netip.Addr
	// heard is the last time at which a peer answered or silence meant nothing.
	heard time.Time
}

func newCore(now time.Time, proof netip.Addr) *core {
	return &core{byName: map[string]*peerState{}, byGateway: map[netip.Addr]*peerState{}, proof: proof, heard: now}
}

func (c *core) proved() bool { return c.byGateway[c.proof] != nil }

// setPeers replaces the peers: the Nodes that are ready. The state of a peer stays while its gateway does.
func (c *core) setPeers(peers []Peer) {
	byName := make(map[string]*peerState, len(peers))
	c.byGateway, c.order = make(map[netip.Addr]*peerState, len(peers)), c.order[:0]
	for _, p := range peers {
		s := c.byName[p.Name]
		if s == nil || s.Peer != p {
			s = &peerState{Peer: p}
		}
		byName[p.Name], c.byGateway[p.Gateway] = s, s
		c.order = append(c.order, s)
	}
	clear(c.order[len(c.order):cap(c.order)])
	c.byName = byName
}

// ask returns the peers to which requests are due.
func (c *core) ask(now time.Time) []Peer {
	for _, p := range c.order {
		if p.waiting && now.Sub(p.asked) >= answerTime {
			p.waiting = false
			p.lost++
		}
	}
	if !c.proved() {
		c.heard = now
	}
	asked := c.pick(nil, &c.nextSuspect, suspectsPerRound, func(p *peerState) bool { return !p.waiting && p.lost > 0 && !p.missed() }, now)
	return c.pick(asked, &c.next, perRound, func(p *peerState) bool { return !p.waiting && now.Sub(p.asked) >= restTime }, now)
}

// pick adds peers that are due to asked, from the position at, until there are limit.
func (c *core) pick(asked []Peer, at *int, limit int, due func(*peerState) bool, now time.Time) []Peer {
	for range c.order {
		if len(asked) == limit {
			break
		}
		p := c.order[*at%len(c.order)]
		*at = (*at + 1) % len(c.order)
		if due(p) {
			p.asked, p.waiting = now, true
			asked = append(asked, p.Peer)
		}
	}
	return asked
}

// answer notes an answer from a gateway. It reports whether the gateway has become the proof.
func (c *core) answer(now time.Time, gateway netip.Addr) (proof bool) {
	p := c.byGateway[gateway]
	if p == nil {
		return false
	}
	p.waiting, p.lost, p.answered = false, 0, true
	c.heard = now
	if c.proved() {
		return false
	}
	c.proof = gateway
	return true
}

// verdict says which peers cannot be reached, in order; alone is set instead if none can.
func (c *core) verdict(now time.Time) (missed []string, alone bool) {
	if c.proved() && now.Sub(c.heard) >= silence {
		return nil, true
	}
	for _, p := range c.order {
		if p.missed() {
			missed = append(missed, p.Name)
		}
	}
	return missed, false
}
