// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// side is an end of a connection: the client is on the first Node, the server on the second.
type side int

const (
	client side = 0
	server side = 1
)

func (s side) other() side { return 1 - s }

func (s side) String() string { return [...]string{"client", "server"}[s] }

// step is a packet, or a change of conntrack.
type step struct {
	at   time.Duration // since the sequence began
	from side
	// packet is sent by from; flush is the side on whose Node the connection's entry is deleted.
	packet *packet
	flush  bool
	// last is set for packets that show the fate of later packets.
	last bool
}

// sequence is the life of one connection.
type sequence struct {
	udp   bool
	port  uint16 // of the client
	steps []step
	what  []string // for the output
	// lastAt is the time of the last packet before the comparison of the entries.
	lastAt time.Duration
	// begun and ended are the actual times of the first and the last packet before the silence.
	begun, ended time.Duration
	// gap is the time between two datagrams of a UDP connection.
	gap time.Duration
}

func (s *sequence) String() string {
	return fmt.Sprintf("port %d: %s", s.port, strings.Join(s.what, ", "))
}

// least is the time between two packets of a connection: each one has arrived before the next one is sent.
const least = 10 * time.Millisecond

// builder makes a sequence.
type builder struct {
	*rand.Rand
	sequence
	now time.Duration
	// next are the next sequence numbers of both sides.
	next [2]uint32
	// scaled is set when conntrack knows the window scale; it does not for connections picked up in their middle.
	scaled bool
	// brief is set for a connection that becomes idle before a lease ends, after nothing but its handshake and a few bytes.
	brief bool
	// windows are the windows that the sides offer, not scaled.
	windows [2]uint16
}

// scale is the window scale of both sides, the maximum (RFC 7323). With it 1 GiB may be in flight, so sequence numbers can
// advance by as much without the packets in between.
const scale = 14

// newSequence makes a connection from a port of the client.
func newSequence(random *rand.Rand, port uint16) *sequence {
	b := &builder{Rand: random, windows: [2]uint16{65535, 65535}}
	b.port, b.udp = port, random.IntN(3) == 0
	b.next = [2]uint32{random.Uint32(), random.Uint32()}
	if b.udp {
		b.udpLife()
	} else {
		b.tcpLife()
	}
	return &b.sequence
}

func (b *builder) note(format string, args ...any) {
	b.what = append(b.what, fmt.Sprintf("%.2fs ", b.now.Seconds())+fmt.Sprintf(format, args...))
}

func (b *builder) send(from side, p packet) {
	b.now += least
	p.id = uint16(len(b.steps) + 1)
	b.steps = append(b.steps, step{at: b.now, from: from, packet: &p})
}

// pause lets time pass; most pauses are short.
func (b *builder) pause() {
	switch b.IntN(12) {
	case 0:
		b.wait(time.Duration(500+b.IntN(2500)) * time.Millisecond)
	case 1:
		b.wait(time.Duration(100+b.IntN(400)) * time.Millisecond)
	default:
		b.now += time.Duration(b.IntN(40)) * time.Millisecond
	}
}

func (b *builder) wait(d time.Duration) {
	b.now += d
	b.note("wait %s", d)
}

// end is the silence before the entries are compared: at least long enough for a lease to end and the agent to check.
func (b *builder) end() {
	b.lastAt = b.now
	b.now += silence + time.Duration(b.IntN(6000))*time.Millisecond
}

// silence is the time that the accelerated world needs to bring everything up to date.
const silence = 2*lease + 500*time.Millisecond

// later adds the packets that show how the connection's packets are treated afterward.
func (b *builder) later(packets ...func()) {
	first := len(b.steps)
	b.Shuffle(len(packets), func(i, j int) { packets[i], packets[j] = packets[j], packets[i] })
	for _, p := range packets {
		p()
	}
	for i := range b.steps[first:] {
		b.steps[first+i].last = true
	}
}

func (b *builder) udpLife() {
	data := func(from side) { b.send(from, packet{length: b.IntN(200)}) }
	b.note("UDP")
	data(client)
	gap := time.Duration(5+b.IntN(60)) * time.Millisecond
	b.gap = gap + 2*least
	rounds := 3 + b.IntN(60)
	if b.IntN(2) == 0 {
		// Until the kernel has decided whether it is a stream, and not much longer.
		rounds = int((1800*time.Millisecond + time.Duration(b.IntN(1400))*time.Millisecond) / b.gap)
	}
	answered := b.IntN(8) != 0
	b.note("%d datagrams, one every %s, answered %v", rounds, gap+least, answered)
	for i := range rounds {
		b.now += gap
		data(client)
		if answered && (b.IntN(4) != 0 || i == 0) {
			data(server)
		}
		if b.IntN(100) == 0 {
			b.wait(time.Duration(b.IntN(4000)) * time.Millisecond)
		}
		if b.IntN(300) == 0 {
			b.flush()
		}
	}
	b.end()
	b.later(func() { data(server) }, func() { data(client) })
}

// flush deletes the connection's entry on one Node, as a user of conntrack(8) does.
func (b *builder) flush() {
	where := side(b.IntN(2))
	b.now += least
	b.note("entry deleted on the Node of the %s", where)
	b.steps = append(b.steps, step{at: b.now, from: where, flush: true})
}
