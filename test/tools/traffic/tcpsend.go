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
	"time"

	"github.com/spf13/cobra"

	"github.com/antrea-oncache/antrea/test/tools/traffic/report"
)

// progressTimeout is the time without accepted data after which a connection is abandoned.
const progressTimeout = 60 * time.Second

// tcpSend sends content to a tcpSink until bytes were sent, duration has passed, or it is interrupted.
type tcpSend struct {
	to, from string
	bytes    uint64
	duration time.Duration
	// rate is in bytes per second, 0 for as fast as possible.
	rate uint64
	tos  int
	// hold keeps the connection open after the last byte until interrupted.
	hold bool
	// reset ends the connection with RST instead of FIN.
	reset bool
	// progress is the interval at which the progress is written, 0 for never.
	progress time.Duration
}

func tcpSendCommand() *cobra.Command {
	var s tcpSend
	cmd := &cobra.Command{Use: "tcp-send", Short: "Send content to a tcp-sink", Args: cobra.NoArgs, RunE: run(s.run)}
	f := cmd.Flags()
	f.StringVar(&s.to, "to", "", "address:port of the sink")
	f.StringVar(&s.from, "from", "", "local address:port, :port for any address")
	f.Uint64Var(&s.bytes, "bytes", 0, "number of bytes to send; 0 for no limit")
	f.DurationVar(&s.duration, "duration", 0, "how long to send; 0 for no limit")
	f.Uint64Var(&s.rate, "rate", 0, "bytes per second; 0 for as fast as possible")
	f.IntVar(&s.tos, "tos", -1, "type of service byte (TCP keeps the ECN bits for itself)")
	f.BoolVar(&s.hold, "hold", false, "keep the connection open after the last byte until SIGTERM")
	f.BoolVar(&s.reset, "reset", false, "end with RST")
	f.DurationVar(&s.progress, "progress", 0, "how often to write \"received NUMBER of NUMBER, NUMBER late\" to stderr: segments that were acknowledged, sent, lost")
	return cmd
}

func (s *tcpSend) run(ctx context.Context, status io.Writer) (report.Send, error) {
	result := report.Send{Stream: report.Stream{MismatchAt: -1}}
	dialer := net.Dialer{Timeout: progressTimeout, Control: socketOptions{tos: s.tos}.control}
	if s.from != "" {
		local, err := net.ResolveTCPAddr(network("tcp", s.to), s.from)
		if err != nil {
			return result, err
		}
		dialer.LocalAddr = local
	}
	plain, err := dialer.DialContext(ctx, network("tcp", s.to), s.to)
	if err != nil {
		return result, err
	}
	defer plain.Close()
	conn := plain.(*net.TCPConn)
	result.Local, result.Remote = conn.LocalAddr().String(), conn.RemoteAddr().String()
	fmt.Fprintln(status, "connected", result.Local, result.Remote)

	if err := s.send(ctx, conn, &result.Stream, status); err != nil {
		result.End = endOf(context.Background(), err)
		return result, fmt.Errorf("sending to %s after %d bytes: %w", s.to, result.Bytes, err)
	}
	fmt.Fprintln(status, "sent", result.Bytes)
	if s.hold {
		<-ctx.Done()
	}
	if s.reset {
		result.End = "reset"
		return result, errors.Join(conn.SetLinger(0), conn.Close())
	}
	result.End = "eof"
	if err := conn.CloseWrite(); err != nil {
		return result, err
	}
	if err := conn.SetReadDeadline(time.Now().Add(progressTimeout)); err != nil {
		return result, err
	}
	result.Received = &report.Stream{}
	if err := json.NewDecoder(conn).Decode(result.Received); err != nil {
		result.Received = nil
		return result, fmt.Errorf("the sink %s has not confirmed: %w", s.to, err)
	}
	if r := result.Received; r.Bytes != result.Bytes || r.MismatchAt >= 0 {
		return result, fmt.Errorf("sent %d bytes, the sink has received %d, first wrong chunk at %d (-1: none)", result.Bytes, r.Bytes, r.MismatchAt)
	}
	return result, nil
}

func (s *tcpSend) send(ctx context.Context, conn *net.TCPConn, stream *report.Stream, status io.Writer) error {
	begin := time.Now()
	chunk := maxChunk
	if s.rate > 0 {
		chunk = int(min(uint64(maxChunk), max(1, s.rate/100))) // 100 chunks per second
	}
	last := begin
	pacing := pacing{progress: s.progress, reported: begin}
	var stall time.Duration
	defer func() { finish(stream, last.Sub(begin), stall) }()
	for s.bytes == 0 || stream.Bytes < s.bytes {
		if ctx.Err() != nil || s.duration > 0 && time.Since(begin) >= s.duration {
			return nil
		}
		n := chunk
		if s.bytes > 0 {
			n = int(min(uint64(n), s.bytes-stream.Bytes))
		}
		if s.rate > 0 {
			due := begin.Add(time.Duration(float64(stream.Bytes) / float64(s.rate) * float64(time.Second)))
			if !waitUntil(ctx, due) {
				return nil
			}
			last = time.Now() // only a write that blocks is a stall
		}
		if err := conn.SetWriteDeadline(time.Now().Add(progressTimeout)); err != nil {
			return err
		}
		written, err := conn.Write(content(stream.Bytes, n))
		stream.Bytes += uint64(written)
		now := time.Now()
		stall = max(stall, now.Sub(last))
		last = now
		if err != nil {
			return err
		}
		if pacing.isDue() {
			info, err := tcpInfo(conn)
			if err != nil {
				return err
			}
			delivered, sent := deliveredSegments(info)
			writeProgress(status, delivered, sent, lostOf(info))
		}
	}
	return nil
}
