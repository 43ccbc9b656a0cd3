// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/antrea-oncache/antrea/test/tools/traffic/report"
)

const (
	pingMagic = 0x0cac4e47
	// pingHeader is magic (4 bytes) and sequence number (8), big endian. Content fills the rest.
	pingHeader = 12
	// pingGrace is the time without a reply after which the missing ones count as lost. A machine with too little CPU
	// time works off long queues.
	pingGrace = 3 * time.Second
	// pingImpatience is the time for which a full window delays the next request: lost requests would fill it forever.
	pingImpatience = time.Second
	// pingLate is the time after which progress calls a request without a reply late. The reply may still come.
	pingLate = time.Second
	// maxLosses bounds the report.
	maxLosses = 100
)

// udpPing sends numbered datagrams at a fixed rate to a udp-echo and evaluates the replies.
type udpPing struct {
	to, from string
	rate     float64
	window   int
	size     int
	duration time.Duration
	count    int
	socketOptions
	progress time.Duration
}

func udpPingCommand() *cobra.Command {
	p := udpPing{socketOptions: socketOptions{buffers: true}}
	cmd := &cobra.Command{Use: "udp-ping", Short: "Send numbered datagrams to a udp-echo", Args: cobra.NoArgs, RunE: run(p.run)}
	f := cmd.Flags()
	f.StringVar(&p.to, "to", "", "address:port of the udp-echo")
	f.StringVar(&p.from, "from", "", "local address:port, :port for any address")
	f.Float64Var(&p.rate, "rate", 1000, "datagrams per second")
	f.IntVar(&p.window, "window", 0, "maximum number of requests in flight that are newer than the newest reply; 0 for any number")
	f.IntVar(&p.size, "size", 64, "payload bytes")
	f.DurationVar(&p.duration, "duration", 0, "how long to send; 0 for until SIGTERM")
	f.IntVar(&p.count, "count", 0, "number of datagrams to send; 0 for no limit")
	f.IntVar(&p.tos, "tos", -1, "type of service byte")
	f.BoolVar(&p.dontFragment, "df", false, "set DF")
	f.DurationVar(&p.progress, "progress", 0, "how often to write \"received NUMBER of NUMBER, NUMBER late\" to stderr")
	return cmd
}

func (p *udpPing) run(ctx context.Context, status io.Writer) (report.Ping, error) {
	result := report.Ping{FirstLost: -1, LastLost: -1}
	if p.size < pingHeader || p.size > 65507 || p.rate <= 0 {
		return result, fmt.Errorf("size %d must be %d to 65507 and rate %v positive", p.size, pingHeader, p.rate)
	}
	dialer := net.Dialer{Control: p.control}
	if p.from != "" {
		local, err := net.ResolveUDPAddr(network("udp", p.to), p.from)
		if err != nil {
			return result, err
		}
		dialer.LocalAddr = local
	}
	conn, err := dialer.DialContext(ctx, network("udp", p.to), p.to)
	if err != nil {
		return result, err
	}
	defer conn.Close()
	result.Local, result.Remote = conn.LocalAddr().String(), conn.RemoteAddr().String()
	fmt.Fprintln(status, "connected", result.Local, result.Remote)
	c := &pingCounter{size: p.size}
	var receiver sync.WaitGroup
	receiver.Go(func() { c.receive(conn) })
	p.send(ctx, conn, c, status)
	c.waitForRest(pingGrace)
	conn.Close()
	receiver.Wait()
	c.fill(&result)
	return result, nil
}

func (p *udpPing) send(ctx context.Context, conn net.Conn, c *pingCounter, status io.Writer) {
	packet := make([]byte, p.size)
	binary.BigEndian.PutUint32(packet, pingMagic)
	copyContent(packet[pingHeader:])
	begin := time.Now()
	due, reported := begin, begin
	for n := 0; ; n++ {
		if p.count > 0 && n == p.count || p.duration > 0 && due.Sub(begin) >= p.duration || !waitUntil(ctx, due) || !p.waitForWindow(ctx, c) {
			return
		}
		binary.BigEndian.PutUint64(packet[4:], uint64(n))
		c.sent(time.Now())
		if _, err := conn.Write(packet); err != nil {
			c.failed()
		}
		if now := time.Now(); p.progress > 0 && now.Sub(reported) >= p.progress {
			reported = now
			received, sent := c.progress()
			fmt.Fprintf(status, "received %d of %d, %d late\n", received, sent, c.lateBy(now.Add(-pingLate)))
		}
		due = due.Add(time.Duration(float64(time.Second) / p.rate))
		if p.window > 0 && time.Now().After(due) {
			due = time.Now() // no burst makes up for what a slow machine could not send in time
		}
	}
}

// waitForWindow returns when one more request fits into the window, or false when ctx ends before that.
func (p *udpPing) waitForWindow(ctx context.Context, c *pingCounter) bool {
	for end := time.Now().Add(pingImpatience); p.window > 0 && c.underWay() >= p.window && time.Now().Before(end); {
		if !waitUntil(ctx, time.Now().Add(time.Millisecond)) {
			return false
		}
	}
	return true
}

func copyContent(into []byte) { copy(into, content(0, len(into))) }

// pingCounter knows every request, by sequence number.
type pingCounter struct {
	size int

	mu         sync.Mutex
	sentAt     []time.Time
	rtt        []time.Duration // 0: no reply yet
	received   int
	highest    int
	last       time.Time
	gap        time.Duration
	gapBegan   time.Time
	duplicated int
	reordered  int
	corrupted  int
	errors     int
	// late is the number of the first counted requests without a reply.
	counted, late int
}

func (c *pingCounter) sent(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sentAt, c.rtt = append(c.sentAt, at), append(c.rtt, 0)
}

func (c *pingCounter) failed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.errors++
}

func (c *pingCounter) progress() (received, sent int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.received, len(c.sentAt)
}

// lateBy returns how many of the requests sent until then have no reply. Times must not decrease.
func (c *pingCounter) lateBy(then time.Time) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	for ; c.counted < len(c.sentAt) && c.sentAt[c.counted].Before(then); c.counted++ {
		if c.rtt[c.counted] == 0 {
			c.late++
		}
	}
	return c.late
}

// underWay returns the number of requests sent after the one that the newest reply answers.
func (c *pingCounter) underWay() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.sentAt) - 1 - c.highest
}

// receive counts replies until conn is closed. Datagrams that do not start like a reply belong to another test.
func (c *pingCounter) receive(conn net.Conn) {
	buf := make([]byte, 1<<16)
	for {
		n, err := conn.Read(buf)
		if errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrClosed) {
			return
		}
		if err != nil || n < pingHeader || binary.BigEndian.Uint32(buf) != pingMagic {
			continue // also an ICMP error for an earlier request
		}
		c.reply(buf[:n], time.Now())
	}
}

func (c *pingCounter) reply(packet []byte, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	number := int(binary.BigEndian.Uint64(packet[4:]))
	if number < 0 || number >= len(c.sentAt) || len(packet) != c.size ||
		!bytes.Equal(packet[pingHeader:], content(0, len(packet)-pingHeader)) {
		c.corrupted++
		return
	}
	if c.rtt[number] != 0 {
		c.duplicated++
		return
	}
	c.rtt[number] = max(at.Sub(c.sentAt[number]), 1)
	if number < c.counted {
		c.late--
	}
	if c.received > 0 {
		if gap := at.Sub(c.last); gap > c.gap {
			c.gap, c.gapBegan = gap, c.last
		}
	}
	c.last = at
	c.received++
	if number < c.highest {
		c.reordered++
	}
	c.highest = max(c.highest, number)
}

// waitForRest returns when all replies have arrived, or none has for grace.
func (c *pingCounter) waitForRest(grace time.Duration) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	before, _ := c.progress()
	for end := time.Now().Add(grace); time.Now().Before(end); <-tick.C {
		received, sent := c.progress()
		if received == sent {
			return
		}
		if received > before {
			before, end = received, time.Now().Add(grace)
		}
	}
}

func (c *pingCounter) fill(r *report.Ping) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r.Sent, r.Received, r.Lost = len(c.sentAt), c.received, len(c.sentAt)-c.received
	r.Duplicated, r.Reordered, r.Corrupted, r.SendErrors = c.duplicated, c.reordered, c.corrupted, c.errors
	if c.gap > 0 {
		r.LongestGapMs, r.GapBegan = milliseconds(c.gap), c.gapBegan.UnixNano()
	}
	samples := make([]time.Duration, 0, c.received)
	for number, rtt := range c.rtt {
		if rtt != 0 {
			samples = append(samples, rtt)
			continue
		}
		if r.FirstLost < 0 {
			r.FirstLost = number
		}
		r.LastLost = number
	}
	r.RTT = latencyOf(samples)
	r.Losses = c.losses()
}

// losses returns the runs of requests without a reply, at most maxLosses. The caller holds mu.
func (c *pingCounter) losses() (runs []report.Loss) {
	for number, rtt := range c.rtt {
		if rtt != 0 {
			continue
		}
		at := c.sentAt[number].UnixNano()
		if n := len(runs); n > 0 && runs[n-1].First+runs[n-1].Lost == number {
			runs[n-1].Lost++
			runs[n-1].Ended = at
			continue
		}
		if len(runs) == maxLosses {
			return runs
		}
		runs = append(runs, report.Loss{First: number, Lost: 1, Began: at, Ended: at})
	}
	return runs
}
