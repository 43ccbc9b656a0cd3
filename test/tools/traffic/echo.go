// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/antrea-oncache/antrea/test/tools/traffic/report"
)

// echo returns the data that it receives.
type echo struct {
	listen string
	// answers is the number of datagrams to return, 0 for all.
	answers        uint64
	packets, bytes atomic.Uint64
}

func tcpEchoCommand() *cobra.Command {
	var e echo
	cmd := &cobra.Command{Use: "tcp-echo", Short: "Return the data of TCP connections", Args: cobra.NoArgs, RunE: run(e.runTCP)}
	cmd.Flags().StringVar(&e.listen, "listen", ":5003", "address and port")
	return cmd
}

func udpEchoCommand() *cobra.Command {
	var e echo
	cmd := &cobra.Command{Use: "udp-echo", Short: "Return datagrams to their senders", Args: cobra.NoArgs, RunE: run(e.runUDP)}
	cmd.Flags().StringVar(&e.listen, "listen", ":5002", "address and port")
	cmd.Flags().Uint64Var(&e.answers, "answers", 0, "maximum number of datagrams to return; 0 for all")
	return cmd
}

func (e *echo) report() report.Echo {
	return report.Echo{Packets: e.packets.Load(), Bytes: e.bytes.Load()}
}

func (e *echo) count(n int) {
	e.packets.Add(1)
	e.bytes.Add(uint64(n))
}

func (e *echo) runUDP(ctx context.Context, status io.Writer) (report.Echo, error) {
	conn, err := (&net.ListenConfig{Control: socketOptions{tos: -1, buffers: true}.control}).ListenPacket(ctx, network("udp", e.listen), e.listen)
	if err != nil {
		return e.report(), err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	fmt.Fprintln(status, "ready", conn.LocalAddr())
	udp := conn.(*net.UDPConn)
	buf := make([]byte, 1<<16)
	for {
		n, from, err := udp.ReadFromUDPAddrPort(buf)
		if ctx.Err() != nil {
			return e.report(), nil
		}
		if err != nil { // an ICMP error for an earlier reply
			continue
		}
		e.count(n)
		if e.answers > 0 && e.packets.Load() > e.answers {
			continue
		}
		_, _ = udp.WriteToUDPAddrPort(buf[:n], from) // the client counts missing replies
	}
}

func (e *echo) runTCP(ctx context.Context, status io.Writer) (report.Echo, error) {
	listener, err := (&net.ListenConfig{Control: socketOptions{tos: -1}.control}).Listen(ctx, network("tcp", e.listen), e.listen)
	if err != nil {
		return e.report(), err
	}
	defer context.AfterFunc(ctx, func() { listener.Close() })()
	fmt.Fprintln(status, "ready", listener.Addr())
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		conn, err := listener.Accept()
		if ctx.Err() != nil {
			return e.report(), nil
		}
		if err != nil {
			return e.report(), err
		}
		wg.Go(func() {
			defer conn.Close()
			defer context.AfterFunc(ctx, func() { conn.Close() })()
			e.serve(conn)
		})
	}
}

func (e *echo) serve(conn net.Conn) {
	buf := make([]byte, 1<<16)
	for {
		n, err := conn.Read(buf)
		if err != nil {
			return // the connection ends with the client
		}
		e.count(n)
		if _, err := conn.Write(buf[:n]); err != nil {
			return
		}
	}
}
