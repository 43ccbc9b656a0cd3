// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/test/tools/traffic/report"
)

// connectRequestResponse opens a connection for each transaction of one byte: connect, request, response, close. Some
// connections may be long: they have more requests. It uses sockets without the Go runtime's poller, which would cost more
// than the network on a small machine.
type connectRequestResponse struct {
	to       string
	duration time.Duration
	// longEvery makes every n-th connection a long one, 0 for none; longRequests is the number of its requests.
	longEvery, longRequests int
}

// The meaning of a request's byte.
const (
	lastRequest  = 0 // the server closes after its answer
	moreRequests = 1
)

func crrCommand() *cobra.Command {
	var c connectRequestResponse
	cmd := &cobra.Command{Use: "crr", Short: "Make one connection after the other to a crr-server", Args: cobra.NoArgs, RunE: run(c.run)}
	f := cmd.Flags()
	f.StringVar(&c.to, "to", "", "address:port of the crr-server")
	f.DurationVar(&c.duration, "duration", 10*time.Second, "how long")
	f.IntVar(&c.longEvery, "long-every", 0, "every n-th connection has more than one request; 0 for none")
	f.IntVar(&c.longRequests, "long-requests", 1000, "number of requests of these connections")
	return cmd
}

func (c *connectRequestResponse) run(ctx context.Context, _ io.Writer) (report.RR, error) {
	var result report.RR
	if c.longEvery > 0 && c.longRequests < 1 {
		return result, fmt.Errorf("--long-requests=%d: a connection needs one request at least", c.longRequests)
	}
	to, family, err := socketAddress(c.to)
	if err != nil {
		return result, err
	}
	var samples []time.Duration
	begin := time.Now()
	for time.Since(begin) < c.duration && ctx.Err() == nil {
		opened := time.Now()
		requests := 1
		if c.longEvery > 0 && (len(samples)+1)%c.longEvery == 0 {
			requests = c.longRequests
		}
		if err := transact(to, family, requests); err != nil {
			return result, fmt.Errorf("connection %d to %s: %w", len(samples), c.to, err)
		}
		samples = append(samples, time.Since(opened))
	}
	result.Transactions = len(samples)
	result.PerSecond = float64(len(samples)) / time.Since(begin).Seconds()
	result.RTT = latencyOf(samples)
	return result, nil
}

// transact makes one connection with this number of requests, one after the other, and waits for the server to close it. The
// server then has the TIME_WAIT state, so that the client does not run out of ports.
func transact(to unix.Sockaddr, family, requests int) error {
	fd, err := streamSocket(family, progressTimeout)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	// Calling connect again waits for the same connection.
	for err = unix.EINTR; err == unix.EINTR; {
		err = unix.Connect(fd, to)
	}
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	b := [1]byte{moreRequests}
	for i := range requests {
		if i == requests-1 {
			b[0] = lastRequest
		}
		if _, err := unix.Write(fd, b[:]); err != nil {
			return fmt.Errorf("request %d: %w", i, err)
		}
		n, err := readByte(fd, b[:])
		if err != nil {
			return fmt.Errorf("response %d: %w", i, err)
		}
		if n == 0 {
			return fmt.Errorf("the server has closed after %d bytes, want %d", i, requests)
		}
	}
	switch n, err := readByte(fd, b[:]); {
	case err != nil:
		return fmt.Errorf("end: %w", err)
	case n > 0:
		return fmt.Errorf("the server has sent more than %d bytes", requests)
	}
	return nil
}

// readByte reads a byte; 0 means the end.
func readByte(fd int, b []byte) (n int, err error) {
	for err = unix.EINTR; err == unix.EINTR; {
		n, err = unix.Read(fd, b)
	}
	return n, err
}

// crrServer answers each byte of a connection and closes after the last one.
type crrServer struct{ listen string }

func crrServerCommand() *cobra.Command {
	var s crrServer
	cmd := &cobra.Command{Use: "crr-server", Short: "Answer the requests of crr", Args: cobra.NoArgs, RunE: run(s.run)}
	cmd.Flags().StringVar(&s.listen, "listen", "", "address:port")
	return cmd
}

// acceptTimeout is how often the server checks whether it should end, and how long it waits for a request.
const acceptTimeout = time.Second

func (s *crrServer) run(ctx context.Context, status io.Writer) (report.Echo, error) {
	var result report.Echo
	at, family, err := socketAddress(s.listen)
	if err != nil {
		return result, err
	}
	listener, err := streamSocket(family, acceptTimeout)
	if err != nil {
		return result, err
	}
	defer unix.Close(listener)
	if err := errors.Join(unix.SetsockoptInt(listener, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1), unix.Bind(listener, at), unix.Listen(listener, 1024)); err != nil {
		return result, fmt.Errorf("listen at %s: %w", s.listen, err)
	}
	fmt.Fprintln(status, "ready", s.listen)
	var b [1]byte
	for ctx.Err() == nil {
		fd, _, err := unix.Accept4(listener, unix.SOCK_CLOEXEC)
		if err != nil {
			if err == unix.EAGAIN || err == unix.EINTR || err == unix.ECONNABORTED {
				continue
			}
			return result, fmt.Errorf("accept: %w", err)
		}
		for b[0] = moreRequests; b[0] != lastRequest; {
			if n, err := readByte(fd, b[:]); n != 1 || err != nil {
				break
			}
			if _, err := unix.Write(fd, b[:]); err != nil {
				break
			}
			result.Packets++
			result.Bytes++
		}
		unix.Close(fd)
	}
	return result, nil
}

// streamSocket returns a blocking TCP socket whose calls end after timeout. Because of the timeout they also end with EINTR
// when the Go runtime signals their thread.
func streamSocket(family int, timeout time.Duration) (fd int, err error) {
	if fd, err = unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err != nil {
		return 0, fmt.Errorf("socket: %w", err)
	}
	limit := unix.NsecToTimeval(timeout.Nanoseconds())
	for _, option := range []int{unix.SO_RCVTIMEO, unix.SO_SNDTIMEO} {
		if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, option, &limit); err != nil {
			unix.Close(fd)
			return 0, fmt.Errorf("set a timeout of %v: %w", timeout, err)
		}
	}
	return fd, nil
}

func socketAddress(address string) (_ unix.Sockaddr, family int, err error) {
	a, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, 0, fmt.Errorf("address %q must be an IP address and a port: %w", address, err)
	}
	if a.Addr().Is4() {
		return &unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}, unix.AF_INET, nil
	}
	return &unix.SockaddrInet6{Port: int(a.Port()), Addr: a.Addr().As16()}, unix.AF_INET6, nil
}
