// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package memberlist

import (
	"bytes"
	"errors"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// freePort returns a port that is free on all loopback addresses.
func freePort(t *testing.T) int {
	listener, err := net.Listen("tcp", "0.0.0.0:0")
	require.NoError(t, err)
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

var testKey, otherKey = bytes.Repeat([]byte{1}, 32), bytes.Repeat([]byte{2}, 32)

// startSWIM starts the gossip of the Nodes node-1, node-2, ... on loopback addresses of their own. The first one has joined all others.
func startSWIM(t *testing.T, n int) (members []*swim) {
	port := freePort(t)
	for i := range n {
		addr := netip.AddrFrom4([4]byte{127, 0, 37, byte(i + 1)})
		started, err := newSWIM(gossipConfig{
			name: nameOf(i), listen: addr, addr: addr, port: port, verifyIncoming: true, verifyOutgoing: true, key: testKey, changed: func() {},
		})
		require.NoError(t, err)
		member := started.(*swim)
		t.Cleanup(func() { _ = member.list.Shutdown() })
		members = append(members, member)
		if i > 0 {
			requireJoin(t, members[0], addr, nil)
		}
	}
	for _, member := range members {
		requireAlive(t, member, 10*time.Second, n)
	}
	return members
}

// requireJoin joins until the error is the wanted one, or none: a busy machine may miss the library's time for it.
func requireJoin(t *testing.T, s *swim, addr netip.Addr, want error) {
	t.Helper()
	err := s.join(addr)
	for deadline := time.Now().Add(20 * time.Second); !errors.Is(err, want) && time.Now().Before(deadline); err = s.join(addr) {
		time.Sleep(10 * time.Millisecond)
	}
	require.True(t, errors.Is(err, want), "want %v, got %v", want, err)
}

func nameOf(i int) string { return "node-" + string(rune('1'+i)) }

// requireAlive waits until a Node sees the first n Nodes, and returns the time that this took.
func requireAlive(t *testing.T, s *swim, limit time.Duration, n int) time.Duration {
	t.Helper()
	var want []string
	for i := range n {
		want = append(want, nameOf(i))
	}
	began := time.Now()
	require.Eventually(t, func() bool {
		alive := s.alive()
		slices.Sort(alive)
		return slices.Equal(want, alive)
	}, limit, 10*time.Millisecond, "want %v", want)
	return time.Since(began)
}

// TestTimes: a dead Node is noticed soon enough for a failover within 3 s, and a slow one has time to answer.
func TestTimes(t *testing.T) {
	require.LessOrEqual(t, (2+suspicionMult)*probeInterval, 2*time.Second)
	require.LessOrEqual(t, (1+slowProbes+suspicionMult)*probeInterval, 2500*time.Millisecond)
	require.GreaterOrEqual(t, suspicionMult*probeInterval, 1500*time.Millisecond)
	require.Less(t, 2*probeTimeout, probeInterval+1, "an indirect probe has as long as a direct one")
}

// TestDeath: a Node that ends without a word is dead for the others after some 2 s (the limit is for busy machines), one that says so before any death
// could be seen. On a busy machine its word may come late, but not in each of three clusters.
func TestDeath(t *testing.T) {
	const soonest = suspicionMult * probeInterval
	end := soonest
	for range 3 {
		members := startSWIM(t, 3)
		require.NoError(t, members[2].list.Shutdown())
		t.Log("death was seen after", requireAlive(t, members[0], 20*time.Second, 2))
		began := time.Now()
		members[1].end()
		requireAlive(t, members[0], 20*time.Second, 1)
		end = time.Since(began)
		t.Log("the end was seen after", end)
		if end < soonest {
			return
		}
	}
	require.Less(t, end, soonest)
}

// TestPartition: members with different keys do not hear each other, and find each other again with one key. Nothing that they send with another
// key, and nothing without one, changes the members.
func TestPartition(t *testing.T) {
	members := startSWIM(t, 2)
	require.NoError(t, members[1].setKey(otherKey))
	requireAlive(t, members[0], 20*time.Second, 1)
	requireJoin(t, members[1], netip.MustParseAddr("127.0.37.1"), errOtherKey)
	nobody := members[1].join(netip.MustParseAddr("127.0.37.99"))
	require.Error(t, nobody)
	require.NotErrorIs(t, nobody, errOtherKey)
	requireAlive(t, members[0], 20*time.Second, 1)
	require.NoError(t, members[0].setKey(otherKey))
	requireJoin(t, members[1], netip.MustParseAddr("127.0.37.1"), nil)
	requireAlive(t, members[0], 10*time.Second, 2)
	requireAlive(t, members[1], 10*time.Second, 2)
}

// TestPortTaken: the error names the port.
func TestPortTaken(t *testing.T) {
	members := startSWIM(t, 1)
	addr := netip.MustParseAddr("127.0.37.1")
	_, err := newSWIM(gossipConfig{name: "x", listen: addr, addr: addr, port: members[0].port, key: testKey, changed: func() {}})
	require.ErrorContains(t, err, "(clusterPort)")
}

// TestPlainMember: an agent without a key does not become a member, and hears of none, as long as members verify what comes in.
func TestPlainMember(t *testing.T) {
	members := startSWIM(t, 2)
	addr := netip.MustParseAddr("127.0.37.9")
	g, err := newSWIM(gossipConfig{name: "plain", listen: addr, addr: addr, port: members[0].port, changed: func() {}})
	require.NoError(t, err)
	plain := g.(*swim)
	t.Cleanup(func() { require.NoError(t, plain.list.Shutdown()) })
	for i := range members {
		require.Error(t, plain.join(netip.MustParseAddr("127.0.37."+string(rune('1'+i)))))
	}
	requireJoin(t, members[0], addr, errOtherKey)
	require.Equal(t, []string{"plain"}, plain.alive())
	for _, member := range members {
		requireAlive(t, member, 20*time.Second, 2)
	}
}
