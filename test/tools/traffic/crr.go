// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"sync"
	"sync/atomic"
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
	// timeout is for each step of a connection.
	timeout time.Duration
	// tolerant counts connections that fail as lost. Otherwise the first one is the end.
	tolerant bool
	pacing
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
	f.DurationVar(&c.duration, "duration", 10*time.Second, "how long; 0 for until SIGTERM")
	f.IntVar(&c.longEvery, "long-every", 0, "every n-th connection has more than one request; 0 for none")
	f.IntVar(&c.longRequests, "long-requests", 1000, "number of requests of these connections")
	f.DurationVar(&c.timeout, "timeout", progressTimeout, "time limit of each step of a connection")
	f.BoolVar(&c.tolerant, "tolerant", false, "count connections that fail as lost, and continue")
	c.pacing.add(f, "connections")
	return cmd
}

func (c *connectRequestResponse) run(ctx context.Context, status io.Writer) (report.RR, error) {
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
	c.begin(begin)
	for (c.duration == 0 || time.Since(begin) < c.duration) && c.wait(ctx) {
		opened := time.Now()
		requests := 1
		if c.longEvery > 0 && (len(samples)+1)%c.longEvery == 0 {
			requests = c.longRequests
		}
		switch err := transact(to, family, requests, c.timeout); {
		case err == nil:
			samples = append(samples, time.Since(opened))
		case !c.tolerant:
			return result, fmt.Errorf("connection %d to %s: %w", len(samples), c.to, err)
		default:
			result.Lost++
			fmt.Fprintf(status, "failed after %v: %v\n", time.Since(opened).Round(time.Millisecond), err)
		}
		if c.isDue() {
			writeProgress(status, len(samples), len(samples)+result.Lost, result.Lost)
		}
	}
	result.Transactions = len(samples)
	result.PerSecond = float64(len(samples)) / time.Since(begin).Seconds()
	result.RTT = latencyOf(samples)
	return result, nil
}

// transact makes one connection with this number of requests, one after the other, and waits for the server to close it. The
// server then has the TIME_WAIT state, so that the client does not run out of ports.
func transact(to unix.Sockaddr, family, requests int, timeout time.Duration) error {
	fd, err := streamSocket(family, timeout)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := connectTo(fd, to); err != nil {
		return fmt.Errorf("connect from port %d: %w", localPort(fd), err)
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

// localPort returns the port of a socket, 0 if it has none.
func localPort(fd int) int {
	switch address, _ := unix.Getsockname(fd); a := address.(type) {
	case *unix.SockaddrInet4:
		return a.Port
	case *unix.SockaddrInet6:
		return a.Port
	}
	return 0
}

// readByte reads a byte; 0 means the end.
func readByte(fd int, b []byte) (n int, err error) {
	for err = unix.EINTR; err == unix.EINTR; {
		n, err = unix.Read(fd, b)
	}
	return n, err
}

// crrServer answers each byte of a connection and closes after the last one.
type crrServer struct {
	listen string
	// concurrent serves all connections at the same time, each as long as it takes. That costs more.
	concurrent bool
}

func crrServerCommand() *cobra.Command {
	var s crrServer
	cmd := &cobra.Command{Use: "crr-server", Short: "Answer the requests of crr", Args: cobra.NoArgs, RunE: run(s.run)}
	cmd.Flags().StringVar(&s.listen, "listen", "", "address:port")
	cmd.Flags().BoolVar(&s.concurrent, "concurrent", false, fmt.Sprintf("serve connections at the same time, and wait for a request for %v instead of %v", progressTimeout, acceptTimeout))
	return cmd
}

// acceptTimeout is the interval at which the server checks whether it should end, and the time for which it waits for a
// request.
const acceptTimeout = time.Second

func (s *crrServer) run(ctx context.Context, status io.Writer) (result report.Echo, err error) {
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
	var answered atomic.Uint64
	var serving sync.WaitGroup
	defer func() {
		serving.Wait()
		result.Packets, result.Bytes = answered.Load(), answered.Load()
	}()
	for ctx.Err() == nil {
		fd, _, err := unix.Accept4(listener, unix.SOCK_CLOEXEC)
		if err != nil {
			if err == unix.EAGAIN || err == unix.EINTR || err == unix.ECONNABORTED {
				continue
			}
			return result, fmt.Errorf("accept: %w", err)
		}
		if !s.concurrent {
			answer(fd, &answered)
			unix.Close(fd)
			continue
		}
		if err := setTimeout(fd, progressTimeout); err != nil {
			return result, errors.Join(err, unix.Close(fd))
		}
		serving.Go(func() {
			defer unix.Close(fd)
			defer context.AfterFunc(ctx, func() { _ = unix.Shutdown(fd, unix.SHUT_RDWR) })() // the client may have closed it
			answer(fd, &answered)
		})
	}
	return result, nil
}

// answer answers the requests of a connection.
func answer(fd int, answered *atomic.Uint64) {
	for b := [1]byte{moreRequests}; b[0] != lastRequest; {
		if n, err := readByte(fd, b[:]); n != 1 || err != nil {
			return
		}
		if _, err := unix.Write(fd, b[:]); err != nil {
			return
		}
		answered.Add(1)
	}
}

// connectTo connects a socket. Calling connect again waits for the same connection.
func connectTo(fd int, to unix.Sockaddr) (err error) {
	for err = unix.EINTR; err == unix.EINTR; {
		err = unix.Connect(fd, to)
	}
	return err
}

func streamSocket(family int, timeout time.Duration) (fd int, err error) {
	return blockingSocket(family, unix.SOCK_STREAM, timeout)
}

// blockingSocket returns a blocking socket whose calls end after timeout. Because of the timeout they also end with EINTR when the Go
// runtime signals their thread.
func blockingSocket(family, kind int, timeout time.Duration) (fd int, err error) {
	if fd, err = unix.Socket(family, kind|unix.SOCK_CLOEXEC, 0); err != nil {
		return 0, fmt.Errorf("socket: %w", err)
	}
	if err := setTimeout(fd, timeout); err != nil {
		unix.Close(fd)
		return 0, err
	}
	return fd, nil
}

func setTimeout(fd int, timeout time.Duration) error {
	limit := unix.NsecToTimeval(timeout.Nanoseconds())
	for _, option := range []int{unix.SO_RCVTIMEO, unix.SO_SNDTIMEO} {
		if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, option, &limit); err != nil {
			return fmt.Errorf("set a timeout of %v: %w", timeout, err)
		}
	}
	return nil
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
