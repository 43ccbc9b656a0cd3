// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openings

import (
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
)

// much is more than windows hold without their scale.
const much = 4 << 20

// TestKernel: after the promotion, and while new connections are denied, the kernel's conntrack treats a connection like an ordinary one.
func TestKernel(t *testing.T) {
	for family, f := range families {
		for name, c := range map[string]func(*testing.T, *node){
			"opener first":         func(t *testing.T, n *node) { carriesOn(t, n, true) },
			"answerer first":       func(t *testing.T, n *node) { carriesOn(t, n, false) },
			"opener's FIN a hit":   func(t *testing.T, n *node) { halfClosed(t, n, true) },
			"answerer's FIN a hit": func(t *testing.T, n *node) { halfClosed(t, n, false) },
			"opener's RST":         func(t *testing.T, n *node) { resets(t, n, true) },
			"answerer's RST":       func(t *testing.T, n *node) { resets(t, n, false) },
		} {
			for _, ordinary := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s/%s/ordinary=%v", family, name, ordinary), func(t *testing.T) {
					f.ordinary = ordinary
					c(t, newNode(t, f))
				})
			}
		}
		for name, c := range map[string]func(*testing.T, *node){
			"entries in its way":    inTheWay,
			"last acknowledgement":  lastAck,
			"without FlagLiberal":   withoutLiberal,
			"without FlagCloseInit": withoutCloseInit,
		} {
			t.Run(family+"/"+name, func(t *testing.T) { c(t, newNode(t, f)) })
		}
	}
}

// ends returns the ends in the order in which they send.
func (p *pair) ends(openerFirst bool) (first, second *net.TCPConn) {
	if openerFirst {
		return p.opener, p.answerer
	}
	return p.answerer, p.opener
}

func carriesOn(t *testing.T, n *node, openerFirst bool) {
	n.hits()
	p := n.open(0)
	first, second := p.ends(openerFirst)
	send(t, p.opener, p.answerer, much)
	n.promote(p, 0)
	n.denyNew()
	n.slow()
	send(t, first, second, 100)
	send(t, second, first, 100)
	send(t, first, second, much)
	send(t, second, first, much)
	c := n.state(p, conntrack.StateEstablished)
	require.True(t, c.Assured && c.Established, "%+v", c)
	require.Equal(t, p.Original, c.Original)
	if !n.ordinary {
		require.Equal(t, p.Mark, c.Mark)
		require.Equal(t, p.Labels, c.Labels)
	}
	closes(t, first, second)
	n.state(p, conntrack.StateCloseWait)
	send(t, second, first, 100)
	closes(t, second, first)
	n.state(p, conntrack.StateTimeWait)
	require.Zero(t, n.dropped("INVALID"))
	require.Zero(t, n.dropped("NEW"))
	require.True(t, n.judgedAgain(p))
}

func halfClosed(t *testing.T, n *node, byOpener bool) {
	n.hits()
	p := n.open(0)
	first, second := p.ends(byOpener)
	closes(t, first, second)
	if byOpener {
		n.promote(p, OpenerFIN)
	} else {
		n.promote(p, AnswererFIN)
	}
	n.denyNew()
	n.slow()
	send(t, second, first, much)
	n.state(p, conntrack.StateCloseWait)
	closes(t, second, first)
	n.state(p, conntrack.StateTimeWait)
	require.Zero(t, n.dropped("INVALID"))
	require.Zero(t, n.dropped("NEW"))
	require.True(t, n.judgedAgain(p))
}

// lastAck: both FINs were hits, the acknowledgement of the second one is not.
func lastAck(t *testing.T, n *node) {
	n.hits()
	p := n.open(0)
	closes(t, p.opener, p.answerer)
	closes(t, p.answerer, p.opener)
	n.promote(p, OpenerFIN|AnswererFIN)
	n.denyNew()
	n.slow()
	n.state(p, conntrack.StateLastAck)
	n.send(p, 0x10)
	n.state(p, conntrack.StateTimeWait)
	require.Zero(t, n.dropped("INVALID"))
	require.True(t, n.judgedAgain(p))
}

func resets(t *testing.T, n *node, byOpener bool) {
	n.hits()
	p := n.open(0)
	first, second := p.ends(byOpener)
	n.promote(p, 0)
	n.denyNew()
	n.slow()
	require.NoError(t, first.SetLinger(0))
	require.NoError(t, first.Close())
	require.NoError(t, second.SetReadDeadline(time.Now().Add(10*time.Second)))
	_, err := second.Read(make([]byte, 1))
	require.ErrorContains(t, err, "reset")
	n.state(p, conntrack.StateClose)
	require.Zero(t, n.dropped("INVALID"))
	// The kernel lets a SYN pass unjudged after the RST of the other end (nf_conntrack_tcp_packet).
	require.Equal(t, byOpener, n.judgedAgain(p))
}

// inTheWay: whatever conntrack has of the addresses, in either direction, is replaced.
func inTheWay(t *testing.T, n *node) {
	for _, reply := range []bool{false, true} {
		for state := conntrack.StateSynSent; state <= conntrack.StateClose; state++ {
			n.hits()
			p := n.open(0)
			former := conntrack.Entry{Zone: zone, Original: p.Original, State: state, Timeout: time.Hour, Mark: 0x101}
			if reply {
				former.Original = p.Original.Reversed()
			}
			require.NoError(t, n.table.Create(former))
			n.promote(p, 0)
			c := n.state(p, conntrack.StateEstablished)
			require.Equal(t, p.Original, c.Original)
			require.Equal(t, p.Mark, c.Mark)
			n.slow()
			send(t, p.answerer, p.opener, 100)
			send(t, p.opener, p.answerer, 100)
			require.Zero(t, n.dropped("INVALID"), "state %s, reply %v", state, reply)
		}
	}
}

// withoutLiberal shows why windows do not count: conntrack has not seen their scale.
func withoutLiberal(t *testing.T, n *node) {
	n.hits()
	p := n.open(0)
	send(t, p.opener, p.answerer, much)
	e := p.entry(There | Answered)
	e.Timeout, e.Flags = time.Hour, [2]conntrack.Flags{}
	require.NoError(t, n.table.Create(e))
	n.slow()
	send(t, p.answerer, p.opener, 100)
	go func() { _, _ = p.opener.Write(make([]byte, much)) }()
	require.Eventually(t, func() bool { return n.dropped("INVALID") > 0 }, 20*time.Second, 10*time.Millisecond)
}

// withoutCloseInit shows why a half-closed connection says who closed it: the next one with its ports would escape the rules.
func withoutCloseInit(t *testing.T, n *node) {
	n.hits()
	p := n.open(0)
	closes(t, p.opener, p.answerer)
	e := p.entry(There | Answered | OpenerFIN)
	e.Timeout = time.Hour
	e.Flags[0] &^= conntrack.FlagCloseInit
	require.NoError(t, n.table.Create(e))
	n.denyNew()
	n.slow()
	closes(t, p.answerer, p.opener)
	n.state(p, conntrack.StateTimeWait)
	require.False(t, n.judgedAgain(p))
}
