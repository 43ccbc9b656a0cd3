// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/test/tools/traffic/report"
)

// tcpSink receives content, verifies it, and answers each connection that ends in order with its report.Stream.
type tcpSink struct {
	listen string
	// connections is the number of connections after which the sink ends, 0 for no end.
	connections int
	// progress is the interval at which the number of bytes is written to the status output, 0 for never.
	progress time.Duration
}

func tcpSinkCommand() *cobra.Command {
	var s tcpSink
	cmd := &cobra.Command{Use: "tcp-sink", Short: "Receive and verify the data of tcp-send", Args: cobra.NoArgs, RunE: run(s.run)}
	cmd.Flags().StringVar(&s.listen, "listen", ":5001", "address and port")
	cmd.Flags().IntVar(&s.connections, "connections", 0, "end after this number of connections")
	cmd.Flags().DurationVar(&s.progress, "progress", 0, "how often to write \"received BYTES\" to stderr")
	return cmd
}

func (s *tcpSink) run(ctx context.Context, status io.Writer) (report.Sink, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	result := report.Sink{Connections: []report.Stream{}}
	listener, err := (&net.ListenConfig{Control: socketOptions{tos: -1}.control}).Listen(ctx, network("tcp", s.listen), s.listen)
	if err != nil {
		return result, err
	}
	defer context.AfterFunc(ctx, func() { listener.Close() })()
	fmt.Fprintln(status, "ready", listener.Addr())
	var wg sync.WaitGroup
	var mu sync.Mutex
	for n := 0; s.connections == 0 || n < s.connections; n++ {
		conn, err := listener.Accept()
		if err != nil {
			if ctx.Err() == nil {
				return result, err
			}
			break
		}
		wg.Go(func() {
			stream := s.receive(ctx, conn.(*net.TCPConn), status)
			mu.Lock()
			defer mu.Unlock()
			result.Connections = append(result.Connections, stream)
		})
	}
	wg.Wait()
	return result, nil
}

func (s *tcpSink) receive(ctx context.Context, conn *net.TCPConn, status io.Writer) report.Stream {
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	stream := report.Stream{Local: conn.LocalAddr().String(), Remote: conn.RemoteAddr().String(), MismatchAt: -1}
	fmt.Fprintln(status, "accepted", stream.Remote)
	buf := make([]byte, maxChunk)
	begin := time.Now()
	last, reported := begin, begin
	var stall time.Duration
	for {
		n, err := conn.Read(buf)
		now := time.Now()
		if n > 0 {
			if stream.MismatchAt < 0 && !isContent(buf[:n], stream.Bytes) {
				stream.MismatchAt = int64(stream.Bytes)
			}
			stream.Bytes += uint64(n)
			stall = max(stall, now.Sub(last))
			last = now
		}
		if s.progress > 0 && now.Sub(reported) >= s.progress {
			reported = now
			fmt.Fprintln(status, "received", stream.Bytes)
		}
		if err != nil {
			stream.End = endOf(ctx, err)
			break
		}
	}
	fmt.Fprintln(status, "ended", stream.Remote, stream.End)
	finish(&stream, last.Sub(begin), stall)
	if stream.End == "eof" {
		_ = json.NewEncoder(conn).Encode(stream) // a sender that gets none reports that
	}
	return stream
}

func finish(s *report.Stream, took, stall time.Duration) {
	s.Seconds, s.LongestStallMs = took.Seconds(), milliseconds(stall)
	if took > 0 {
		s.MbitPerSecond = float64(s.Bytes) * 8 / 1e6 / took.Seconds()
	}
}

// endOf returns the cause of a stream's end.
func endOf(ctx context.Context, err error) string {
	switch {
	case errors.Is(err, io.EOF):
		return "eof"
	case errors.Is(err, unix.ECONNRESET), errors.Is(err, unix.EPIPE):
		return "reset"
	case ctx.Err() != nil:
		return "interrupted"
	default:
		return err.Error()
	}
}
