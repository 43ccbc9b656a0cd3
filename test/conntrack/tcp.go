// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"

	"github.com/antrea-oncache/antrea/test/tools/equality"
)

// tcpLife is a TCP connection from its start to its end, or without an end.
func (b *builder) tcpLife() {
	b.note("TCP")
	if !b.open() {
		b.end()
		b.later(func() { b.segment(client, 10) })
		return
	}
	if !b.brief {
		for range 2 + b.IntN(10) {
			b.episode()
			b.pause()
		}
		b.finish()
	}
	b.end()
	if b.IntN(3) == 0 {
		b.later(func() { b.reset(client, 0) }, func() { b.segment(server, 10) })
		return
	}
	b.later(func() { b.segment(client, 10) }, func() { b.segment(server, 10) }, func() { b.ack(client) }, func() { b.ack(server) })
}

// tcp sends a segment that begins at sequence number seq.
func (b *builder) tcp(from side, flags uint8, seq uint32, length int) {
	p := packet{flags: flags, seq: seq, window: b.windows[from], length: length}
	if flags&equality.ACK != 0 {
		p.ack = b.next[from.other()]
	}
	b.send(from, p)
}

func (b *builder) ack(from side) { b.tcp(from, equality.ACK, b.next[from], 0) }

func (b *builder) segment(from side, length int) {
	b.tcp(from, equality.ACK|equality.PSH, b.next[from], length)
	b.next[from] += uint32(length)
}

// open opens the connection, and reports whether it is open after that.
func (b *builder) open() bool {
	syn := func(from side) { b.tcp(from, equality.SYN, b.next[from]-1, 0) }
	for range 1 + b.IntN(8)/7 {
		syn(client) // sometimes twice
	}
	switch b.IntN(25) {
	case 0:
		b.note("SYN without an answer")
		return false
	case 1:
		b.note("refused")
		b.send(server, packet{flags: equality.RST | equality.ACK, ack: b.next[client]})
		return false
	case 2, 3, 4:
		b.cross()
		return true
	}
	b.answerSYN()
	return true
}

// cross answers a SYN with another one, as an end does that opens the same connection at the same time. Each then sends a SYN-ACK, sometimes
// twice, and either sends the first segment that is none (RFC 9293, section 3.5, figure 7).
func (b *builder) cross() {
	first, answers := side(b.IntN(2)), side(b.IntN(2))
	b.note("simultaneous open, the %s's SYN-ACK first, the %s's segment first", answers, first)
	b.tcp(server, equality.SYN, b.next[server]-1, 0)
	for _, from := range []side{answers, answers.other()} {
		for range 1 + b.IntN(8)/7 {
			b.tcp(from, equality.SYN|equality.ACK, b.next[from]-1, 0)
		}
		if b.IntN(2) == 0 {
			b.note("the client's SYN again") // after which conntrack no longer knows of two SYNs
			b.tcp(client, equality.SYN, b.next[client]-1, 0)
		}
	}
	if b.IntN(3) == 0 {
		b.ack(first)
	}
	for range 1 + b.IntN(3) {
		b.segment(first, 1)
	}
	b.ack(first.other())
	b.scaled = true
	b.brief = b.IntN(2) == 0
}

// handshake opens a connection from the client.
func (b *builder) handshake() {
	b.tcp(client, equality.SYN, b.next[client]-1, 0)
	b.answerSYN()
}

// answerSYN sends the answer to a SYN.
func (b *builder) answerSYN() {
	b.tcp(server, equality.SYN|equality.ACK, b.next[server]-1, 0)
	b.ack(client)
	// The window of a SYN is not scaled; from here on conntrack knows the real ones.
	b.segment(client, 1)
	b.ack(server)
	b.scaled = true
}

// episode is an event in an open connection.
func (b *builder) episode() {
	from := side(b.IntN(2))
	switch b.IntN(17) {
	case 0, 1, 2, 3:
		rounds := 1 + b.IntN(15)
		b.note("%d requests", rounds)
		for range rounds {
			b.segment(client, 1+b.IntN(300))
			if b.IntN(2) == 0 {
				b.ack(server)
			}
			b.segment(server, 1+b.IntN(300))
			if b.IntN(2) == 0 {
				b.ack(client)
			}
		}
		b.ack(client)
	case 4, 5, 6:
		segments, window := 2+b.IntN(20), 1+b.IntN(4)
		b.note("%s sends %d segments, one acknowledgment for %d", from, segments, window)
		for i := range segments {
			b.segment(from, 1+b.IntN(500))
			if (i+1)%window == 0 || i == segments-1 {
				b.ack(from.other())
			}
		}
	case 7, 8, 9:
		b.jumps(from)
	case 10:
		b.note("%s repeats a segment", from)
		length := 1 + b.IntN(300)
		for range 1 + b.IntN(5) {
			b.tcp(from, equality.ACK|equality.PSH, b.next[from], length)
			b.pause()
		}
		b.next[from] += uint32(length)
		b.ack(from.other())
	case 11:
		b.note("%s's keepalive", from)
		b.tcp(from, equality.ACK, b.next[from]-1, 0)
		b.ack(from.other())
	case 12:
		b.zeroWindow(from)
		b.note("open again")
		b.windows[from] = 65535
		b.ack(from)
	case 13:
		b.restart()
	case 15, 16:
		b.loses(from)
	case 14:
		if b.IntN(8) == 0 {
			b.flush()
			b.scaled = false
			b.wait(2 * lease)
		}
	}
}

// lose makes the wire lose the last packet.
func (b *builder) lose() { b.steps[len(b.steps)-1].packet.lost = true }

// loses sends a segment that is lost, or whose acknowledgment is lost, and sends it again.
func (b *builder) loses(from side) {
	length := 1 + b.IntN(300)
	data := func() { b.tcp(from, equality.ACK|equality.PSH, b.next[from], length) }
	data()
	if b.IntN(2) == 0 {
		b.note("%s's segment is lost", from)
		b.lose()
	} else {
		b.note("the acknowledgment of the %s's segment is lost", from)
		b.next[from] += uint32(length)
		b.ack(from.other())
		b.lose()
		b.next[from] -= uint32(length)
	}
	b.pause()
	data()
	b.next[from] += uint32(length)
	b.ack(from.other())
}

// restart simulates a client that has forgotten the connection and opens it again from the same port. The server answers
// with an acknowledgment of its old state, and the client resets that (RFC 9293, section 3.5.1).
func (b *builder) restart() {
	b.note("the client opens it again")
	b.windows = [2]uint16{65535, 65535}
	b.scaled = false
	old := b.next[client]
	b.next[client] += 1 << 16
	b.tcp(client, equality.SYN, b.next[client]-1, 0)
	b.send(server, packet{flags: equality.ACK, seq: b.next[server], ack: old, window: 65535})
	b.send(client, packet{flags: equality.RST, seq: old})
	b.next[server] = b.Uint32()
	b.handshake()
}

// jumps advances sequence numbers by up to 2^32 and more, each time by up to a full window.
func (b *builder) jumps(from side) {
	if !b.scaled {
		return
	}
	n, step := 1+b.IntN(9), uint32(1)<<(20+b.IntN(10))
	b.note("%s sends %d times %d MiB", from, n, step>>20)
	for range n {
		const length = 100
		b.segment(from, length)
		b.next[from] += step - 2*length
		b.segment(from, length)
		b.ack(from.other())
	}
}

// zeroWindow closes the window of one side, which the other side probes (RFC 9293, section 3.8.6.1).
func (b *builder) zeroWindow(of side) {
	b.note("window of the %s is 0", of)
	b.segment(of.other(), 100)
	b.windows[of] = 0
	b.ack(of)
	for range b.IntN(4) {
		b.wait(time.Duration(200+b.IntN(600)) * time.Millisecond)
		b.tcp(of.other(), equality.ACK, b.next[of.other()]-1, 0)
		b.ack(of)
	}
}

// finish ends the connection, or leaves it open.
func (b *builder) finish() {
	from := side(b.IntN(2))
	switch n := b.IntN(16); n {
	case 0, 1, 2, 3:
		b.note("stays open")
	case 4:
		b.note("%s's data is not acknowledged", from)
		for range 1 + b.IntN(4) {
			b.tcp(from, equality.ACK|equality.PSH, b.next[from], 100)
			b.pause()
		}
		b.next[from] += 100
	case 5, 6, 7, 8:
		b.finishByReset(from, n)
	case 9, 10, 11:
		b.finishByClosing(from, n)
	case 12:
		b.zeroWindow(from)
	default:
		b.finishWithLoss(from, n)
	}
}

// finishByReset performs one of the cases of finish in which the connection ends with a RST.
func (b *builder) finishByReset(from side, n int) {
	switch n {
	case 5:
		b.note("%s resets", from)
		b.reset(from, 0)
	case 6:
		b.note("%s resets with a number that is not the next one", from)
		b.reset(from, 1+b.Uint32()%50000)
	case 7:
		b.jumps(from)
		b.reset(from.other(), 0)
		b.note("%s resets", from.other())
	case 8:
		b.jumps(from)
		b.reset(from, 0)
		b.note("%s resets", from)
	}
}

// finishByClosing performs one of the cases of finish in which the connection ends with FINs, perhaps only one.
func (b *builder) finishByClosing(from side, n int) {
	switch n {
	case 9:
		b.note("%s closes, then %s", from, from.other())
		b.fin(from)
		b.ack(from.other())
		b.fin(from.other())
		b.ack(from)
	case 10:
		b.note("%s closes half", from)
		b.fin(from)
		b.ack(from.other())
		for range b.IntN(30) {
			b.segment(from.other(), 100)
			if b.IntN(2) == 0 {
				b.ack(from)
			}
			b.pause()
		}
		b.ack(from)
	case 11:
		b.note("both close at once")
		b.tcp(client, equality.FIN|equality.ACK, b.next[client], 0)
		b.tcp(server, equality.FIN|equality.ACK, b.next[server], 0)
		b.next[client]++
		b.next[server]++
		b.ack(client)
		b.ack(server)
	}
}

// finishWithLoss performs one of the cases of finish in which the wire loses the connection's last segments.
func (b *builder) finishWithLoss(from side, n int) {
	switch n {
	case 13:
		b.note("%s's FIN is lost", from)
		b.fin(from)
		b.lose()
	case 14:
		b.note("%s's RST is lost", from)
		b.reset(from, 0)
		b.lose()
	case 15:
		b.note("%s's last segments are lost", from)
		for range 1 + b.IntN(3) {
			b.segment(from, 100)
			b.lose()
		}
	}
}

func (b *builder) fin(from side) {
	b.tcp(from, equality.FIN|equality.ACK, b.next[from], 0)
	b.next[from]++
}

// reset sends a RST that is off by some bytes.
func (b *builder) reset(from side, off uint32) {
	b.tcp(from, equality.RST|equality.ACK, b.next[from]+off, 0)
}
