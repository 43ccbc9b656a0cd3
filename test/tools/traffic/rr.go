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
	"time"

	"github.com/spf13/cobra"

	"github.com/antrea-oncache/antrea/test/tools/traffic/report"
)

// rrTimeout is the time after which a UDP transaction counts as lost.
const rrTimeout = time.Second

// requestResponse makes one transaction after the other with a tcp-echo or udp-echo.
type requestResponse struct {
	proto, to string
	duration  time.Duration
	size      int
	pacing
}

func rrCommand() *cobra.Command {
	var r requestResponse
	cmd := &cobra.Command{Use: "rr", Short: "Make transactions with a tcp-echo or udp-echo", Args: cobra.NoArgs, RunE: run(r.run)}
	f := cmd.Flags()
	f.StringVar(&r.proto, "proto", "tcp", "tcp or udp")
	f.StringVar(&r.to, "to", "", "address:port of the echo")
	f.DurationVar(&r.duration, "duration", 10*time.Second, "how long; 0 for until SIGTERM")
	f.IntVar(&r.size, "size", 64, "bytes of request and response, at least 8")
	r.pacing.add(f, "transactions")
	return cmd
}

func (r *requestResponse) run(ctx context.Context, status io.Writer) (report.RR, error) {
	var result report.RR
	if r.proto != "tcp" && r.proto != "udp" || r.size < 8 || r.size > maxChunk {
		return result, fmt.Errorf("proto %q must be tcp or udp, size %d from 8 to %d", r.proto, r.size, maxChunk)
	}
	dialer := net.Dialer{Timeout: progressTimeout, Control: socketOptions{tos: -1}.control}
	conn, err := dialer.DialContext(ctx, network(r.proto, r.to), r.to)
	if err != nil {
		return result, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	fmt.Fprintln(status, "connected", conn.LocalAddr(), conn.RemoteAddr())
	request, response := make([]byte, r.size), make([]byte, r.size)
	copyContent(request)
	var samples []time.Duration
	begin := time.Now()
	r.begin(begin)
	for number := uint64(0); (r.duration == 0 || time.Since(begin) < r.duration) && r.wait(ctx); number++ {
		binary.BigEndian.PutUint64(request, number)
		sent := time.Now()
		err := r.transact(conn, request, response)
		switch {
		case err == nil:
			samples = append(samples, time.Since(sent))
		case ctx.Err() != nil:
		case r.proto == "udp" && errors.Is(err, os.ErrDeadlineExceeded):
			result.Lost++
		default:
			return result, fmt.Errorf("transaction %d with %s: %w", number, r.to, err)
		}
		if r.isDue() {
			late := result.Lost
			if tcp, ok := conn.(*net.TCPConn); ok {
				if late, err = lostSegments(tcp); err != nil && ctx.Err() == nil {
					return result, err
				}
			}
			writeProgress(status, len(samples), len(samples)+result.Lost, late)
		}
	}
	result.Transactions = len(samples)
	result.PerSecond = float64(len(samples)) / time.Since(begin).Seconds()
	result.RTT = latencyOf(samples)
	return result, nil
}

func (r *requestResponse) transact(conn net.Conn, request, response []byte) error {
	timeout := progressTimeout
	if r.proto == "udp" {
		timeout = rrTimeout
	}
	if err := conn.SetDeadline(time.Now().Add(timeout)); err != nil {
		return err
	}
	if _, err := conn.Write(request); err != nil {
		return err
	}
	for {
		if _, err := io.ReadFull(conn, response); err != nil {
			return err
		}
		if bytes.Equal(request, response) {
			return nil
		}
		if r.proto == "tcp" {
			return errors.New("the response is not the request")
		} // otherwise it is the late response of a lost transaction
	}
}
