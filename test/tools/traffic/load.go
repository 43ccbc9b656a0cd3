// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/test/tools/traffic/report"
)

// load sends requests to a tcp-echo or udp-echo at a fixed rate, whether or not earlier ones have been answered.
// Response times count from when a request was due: a network that also delays the next request does not look faster by
// that ("coordinated omission"). Like crr it uses sockets without the Go runtime's poller.
type load struct {
	proto, to string
	rate      float64
	duration  time.Duration
	size      int
}

// loadGrace is the time without a response after which the missing ones count as lost.
const loadGrace = time.Second

// timerSlack is the delay with which the kernel may wake a sleeper, in ns. The default is 50,000.
const timerSlack = 1

func loadCommand() *cobra.Command {
	var l load
	cmd := &cobra.Command{Use: "load", Short: "Send requests to a tcp-echo or udp-echo at a fixed rate", Args: cobra.NoArgs, RunE: run(l.run)}
	f := cmd.Flags()
	f.StringVar(&l.proto, "proto", "tcp", "tcp or udp")
	f.StringVar(&l.to, "to", "", "address:port of the echo")
	f.Float64Var(&l.rate, "rate", 1000, "requests per second")
	f.DurationVar(&l.duration, "duration", 10*time.Second, "how long to send")
	f.IntVar(&l.size, "size", 64, "bytes of request and response, at least 8")
	return cmd
}

func (l *load) run(ctx context.Context, status io.Writer) (result report.Load, err error) {
	if l.proto != "tcp" && l.proto != "udp" || l.size < 8 || l.size > maxChunk || l.rate <= 0 || l.duration <= 0 {
		return result, fmt.Errorf("proto %q must be tcp or udp, size %d from 8 to %d, rate %v and duration %v positive", l.proto, l.size, maxChunk, l.rate, l.duration)
	}
	fd, err := l.connect()
	if err != nil {
		return result, err
	}
	defer unix.Close(fd)
	fmt.Fprintln(status, "connected", l.to)
	flight := &flight{begin: monotonic(), interval: float64(time.Second) / l.rate}
	samples := make(chan []time.Duration, 1)
	go func() { samples <- flight.receive(fd, l.size) }()
	err = flight.send(ctx, fd, l)
	flight.ended.Store(true)
	times := <-samples
	result.Sent, result.Lost = int(flight.sent.Load()), int(flight.sent.Load())-len(times)
	result.PerSecond = float64(len(times)) / (flight.last - flight.begin).Seconds()
	result.RTT = latencyOf(times)
	return result, err
}

func (l *load) connect() (fd int, err error) {
	to, family, err := socketAddress(l.to)
	if err != nil {
		return 0, err
	}
	kind := map[string]int{"tcp": unix.SOCK_STREAM, "udp": unix.SOCK_DGRAM}[l.proto]
	if fd, err = blockingSocket(family, kind, loadGrace); err != nil {
		return 0, err
	}
	if l.proto == "tcp" {
		err = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	}
	if err == nil {
		err = connectTo(fd, to)
	}
	if err != nil {
		unix.Close(fd)
		return 0, fmt.Errorf("connect to %s: %w", l.to, err)
	}
	return fd, nil
}

// flight holds the requests that are under way. Times are read from CLOCK_MONOTONIC.
type flight struct {
	begin time.Duration
	// interval is the time between two requests, in ns.
	interval float64
	sent     atomic.Int64
	ended    atomic.Bool
	// last is the time of the last response.
	last time.Duration
}

func (f *flight) due(number uint64) time.Duration {
	return f.begin + time.Duration(float64(number)*f.interval)
}

func (f *flight) send(ctx context.Context, fd int, l *load) error {
	runtime.LockOSThread() // and not unlocked: the slack is the thread's
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, timerSlack, 0, 0, 0); err != nil {
		return fmt.Errorf("set the timer slack: %w", err)
	}
	request := make([]byte, l.size)
	copyContent(request)
	for number := uint64(0); ctx.Err() == nil; number++ {
		due := f.due(number)
		if due-f.begin >= l.duration {
			break
		}
		at := unix.NsecToTimespec(int64(due))
		for unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &at, nil) == unix.EINTR {
		}
		binary.BigEndian.PutUint64(request, number)
		f.sent.Add(1)
		if err := writeAll(fd, request); err != nil {
			return fmt.Errorf("request %d: %w", number, err)
		}
	}
	return nil
}

// receive returns the response times.
func (f *flight) receive(fd, size int) (times []time.Duration) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	response := make([]byte, size)
	f.last = f.begin
	for !f.ended.Load() || len(times) < int(f.sent.Load()) {
		err := readAll(fd, response)
		now := monotonic()
		switch {
		case err == nil:
			times = append(times, now-f.due(binary.BigEndian.Uint64(response)))
			f.last = now
		case errors.Is(err, unix.EAGAIN) && !f.ended.Load():
		case errors.Is(err, unix.ECONNREFUSED): // UDP: of an earlier request
		default:
			return times
		}
	}
	return times
}

// writeAll and readAll move all of b. A signal interrupts sockets that have a timeout (signal(7)).
func writeAll(fd int, b []byte) error {
	for len(b) > 0 {
		n, err := unix.Write(fd, b)
		if err != nil && err != unix.EINTR {
			return err
		}
		b = b[max(n, 0):]
	}
	return nil
}

func readAll(fd int, b []byte) error {
	for len(b) > 0 {
		n, err := unix.Read(fd, b)
		if err != nil && err != unix.EINTR {
			return err
		}
		if err == nil && n == 0 {
			return io.ErrUnexpectedEOF
		}
		b = b[max(n, 0):]
	}
	return nil
}

func monotonic() time.Duration {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) // cannot fail: clock and address are right
	return time.Duration(now.Nano())
}
