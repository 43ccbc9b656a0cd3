// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package assign

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/memberlist"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

const (
	tick = 50 * time.Millisecond
	// gossipLag and apiLag bound the time after which a Node sees a change of the members and of an Egress, deathLag the time for a death.
	gossipLag, apiLag, deathLag = 8, 4, 60 // ticks
	// loneliness is the number of ticks after which an agent without any answer acts alone.
	loneliness = 100
)

// simNode is a Node of the simulation. Its addresses outlive its agent.
type simNode struct {
	name      string
	running   bool
	partition int
	device    sets.Set[netip.Addr]
	waiting   map[netip.Addr]time.Time
	// view has the members that the agent sees, and for others the tick at which its view of them becomes true.
	view map[string]bool
	due  map[string]int
	// statuses are the Egresses' Nodes as the agent sees them, by name; statusDue is the tick at which that becomes true.
	statuses  map[string]string
	statusDue map[string]int
	// known is the tick from which the agent knows the members.
	known int
}

// simulation has Nodes, and what the Kubernetes API has. Each agent decides with its own view.
type simulation struct {
	t        *testing.T
	rng      *rand.Rand
	now      int
	nodes    []*simNode
	addrs    map[string]netip.Addr
	statuses map[string]string
	selected sets.Set[string]
}

func newSimulation(t *testing.T, seed uint64) *simulation {
	s := &simulation{t: t, rng: rand.New(rand.NewPCG(seed, 37)), addrs: map[string]netip.Addr{}, statuses: map[string]string{}, selected: sets.New[string]()}
	for i := range 2 + s.rng.IntN(3) {
		name := fmt.Sprint("node-", i)
		s.selected.Insert(name)
		s.nodes = append(s.nodes, &simNode{name: name, device: sets.New[netip.Addr](), due: map[string]int{}, statusDue: map[string]int{}})
	}
	for i := range 6 {
		s.addrs[fmt.Sprint("e", i)] = netip.AddrFrom4([4]byte{10, 0, 0, byte(i)})
	}
	for _, n := range s.nodes {
		s.start(n)
	}
	return s
}

// start starts an agent: it sees the present objects, and knows the members once it has joined.
func (s *simulation) start(n *simNode) {
	n.running, n.waiting, n.view, n.statuses = true, map[netip.Addr]time.Time{}, map[string]bool{}, map[string]string{}
	n.known = s.now + loneliness
	for name, node := range s.statuses {
		n.statuses[name] = node
	}
	for _, other := range s.nodes {
		if s.connected(n, other) {
			n.view[other.name] = true // by the answer to its join
			if other != n {
				n.known = s.now + 1 + s.rng.IntN(gossipLag)
			}
		}
	}
}

func (s *simulation) connected(a, b *simNode) bool {
	return a.running && b.running && a.partition == b.partition
}

// learn lets an agent's view follow what is true, after a time.
func (s *simulation) learn(n *simNode) {
	for _, other := range s.nodes {
		truth := s.connected(n, other)
		if n.view[other.name] == truth {
			delete(n.due, other.name)
			continue
		}
		due, ok := n.due[other.name]
		if !ok {
			lag := gossipLag
			if !truth {
				lag = deathLag
			}
			due = s.now + 1 + s.rng.IntN(lag)
			n.due[other.name] = due
		}
		if s.now >= due {
			n.view[other.name] = truth
			n.known = min(n.known, s.now)
		}
	}
	for name := range s.addrs {
		if n.statuses[name] == s.statuses[name] {
			delete(n.statusDue, name)
			continue
		}
		due, ok := n.statusDue[name]
		if !ok {
			due = s.now + 1 + s.rng.IntN(apiLag)
			n.statusDue[name] = due
		}
		if s.now >= due {
			n.statuses[name] = s.statuses[name]
		}
	}
}

func (s *simulation) snapshot(n *simNode) *memberlist.Snapshot {
	if s.now < n.known {
		return &memberlist.Snapshot{Unknown: errors.New("joining")}
	}
	var alive, selected []string
	for _, other := range s.nodes {
		if n.view[other.name] {
			alive = append(alive, other.name)
			if s.selected.Has(other.name) {
				selected = append(selected, other.name)
			}
		}
	}
	return &memberlist.Snapshot{
		Alive: sets.New(alive...), Rings: map[string]*memberlist.Ring{"": ringOf(alive), "p": ringOf(selected)},
	}
}

var rings = map[string]*memberlist.Ring{}

// ringOf makes each ring once.
func ringOf(nodes []string) *memberlist.Ring {
	name := fmt.Sprint(nodes)
	if rings[name] == nil {
		rings[name] = memberlist.NewRing(nodes)
	}
	return rings[name]
}

// act lets an agent decide and do it, and write the statuses of its addresses, unless the write would be of an old object.
func (s *simulation) act(n *simNode) {
	var egresses []*v1beta1.Egress
	for name, addr := range s.addrs {
		e := &v1beta1.Egress{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1beta1.EgressSpec{EgressIP: addr.String(), ExternalIPPool: "p"}}
		if n.statuses[name] != "" {
			e.Status = v1beta1.EgressStatus{EgressNode: n.statuses[name], EgressIP: addr.String()}
		}
		egresses = append(egresses, e)
	}
	d := decide(input{
		refuse: func(netip.Addr) error { return nil }, node: n.name, egresses: egresses, pools: map[string]*v1beta1.ExternalIPPool{"p": {}}, members: s.snapshot(n),
		limit: func(string) int { return 255 }, places: placesOf(n.device), waiting: n.waiting, now: time.Unix(0, 0).Add(time.Duration(s.now) * tick),
	})
	n.waiting = d.waiting
	n.device.Insert(d.add...)
	n.device.Delete(d.remove...)
	for name, addr := range s.addrs {
		has := n.device.Has(addr)
		if n.statuses[name] != s.statuses[name] || has == (s.statuses[name] == n.name) {
			continue
		}
		if s.statuses[name] = ""; has {
			s.statuses[name] = n.name
		}
		n.statuses[name] = s.statuses[name]
	}
}

func (s *simulation) step() {
	s.now++
	for _, i := range s.rng.Perm(len(s.nodes)) {
		if n := s.nodes[i]; n.running {
			s.learn(n)
			s.act(n)
		}
	}
}

// disturb changes something.
func (s *simulation) disturb(partitions bool) {
	n := s.nodes[s.rng.IntN(len(s.nodes))]
	switch k := s.rng.IntN(5); {
	case k == 0 && n.running: // it is killed, and its device stays
		n.running = false
	case k <= 1 && !n.running:
		s.start(n)
	case k == 2:
		if s.selected.Has(n.name) {
			s.selected.Delete(n.name)
		} else {
			s.selected.Insert(n.name)
		}
	case partitions:
		n.partition = s.rng.IntN(2)
	}
}

// owners returns the number of Nodes with an address whose agents run and know the members.
func (s *simulation) owners(addr netip.Addr) (count int) {
	for _, n := range s.nodes {
		if n.running && n.device.Has(addr) && s.now >= n.known {
			count++
		}
	}
	return count
}

// requireOne: with all agents running that can, each address has one owner, the one in its status, if there is a Node for it.
func (s *simulation) requireOne(seed uint64) {
	var candidates int
	for _, n := range s.nodes {
		if n.running && s.selected.Has(n.name) {
			candidates++
		}
	}
	for name, addr := range s.addrs {
		require.Equal(s.t, min(candidates, 1), s.owners(addr), "%s at rest, seed %d", addr, seed)
		if candidates > 0 {
			require.NotEmpty(s.t, s.statuses[name], "seed %d", seed)
		}
	}
}

// TestOneOwner: without partitions, whatever starts, is killed and is selected, an address has two Nodes whose agents run and know the members
// for at most the time in which these hear of each other. After all disturbances each has one, at most 15 s later.
func TestOneOwner(t *testing.T) {
	worst, twice, steps := 0, 0, 0
	for seed := range uint64(40) {
		s := newSimulation(t, seed)
		lasting := map[netip.Addr]int{}
		for range 400 {
			if s.rng.IntN(40) == 0 {
				s.disturb(false)
			}
			s.step()
			for _, addr := range s.addrs {
				steps++
				if s.owners(addr) < 2 {
					lasting[addr] = 0
					continue
				}
				twice++
				lasting[addr]++
				worst = max(worst, lasting[addr])
				require.LessOrEqual(t, lasting[addr], gossipLag+apiLag, "%s at step %d, seed %d", addr, s.now, seed)
			}
		}
		s.rest()
		s.requireOne(seed)
	}
	t.Logf("two owners in %d of %d states, for at most %v", twice, steps, time.Duration(worst)*tick)
}

// TestOneOwnerAfterPartitions: 15 s after a partition has healed, each address has one Node, and nothing moves any more.
func TestOneOwnerAfterPartitions(t *testing.T) {
	for seed := range uint64(40) {
		s := newSimulation(t, seed)
		for range 400 {
			if s.rng.IntN(30) == 0 {
				s.disturb(true)
			}
			s.step()
		}
		for _, n := range s.nodes {
			n.partition = 0
		}
		s.rest()
		s.requireOne(seed)
	}
}

func (s *simulation) rest() {
	for range int(15 * time.Second / tick) {
		s.step()
	}
}

// placesOf returns the places of addresses without a subnet of their own.
func placesOf(addrs sets.Set[netip.Addr]) map[netip.Addr]place {
	places := map[netip.Addr]place{}
	for addr := range addrs {
		places[addr] = placeOf(addr, config.EgressSubnet{})
	}
	return places
}
