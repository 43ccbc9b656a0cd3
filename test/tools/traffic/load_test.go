// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/test/tools/traffic/report"
)

func TestLoad(t *testing.T) {
	for _, proto := range []string{"tcp", "udp"} {
		for _, host := range []string{"127.0.0.1", "[::1]"} {
			t.Run(proto+" "+host, func(t *testing.T) {
				address := host + ":" + freePort(t)
				startServer(t, proto+"-echo", "--listen="+address)
				result, err := end[report.Load](t, start(t, "load", "--proto="+proto, "--to="+address, "--rate=2000", "--duration=100ms"))
				require.NoError(t, err)
				require.Equal(t, 200, result.Sent)
				require.Zero(t, result.Lost)
				require.Positive(t, result.RTT.P50)
				require.GreaterOrEqual(t, result.RTT.P999, result.RTT.P99)
			})
		}
	}
}

// A server that answers late delays all requests after it. They were due anyway, and their times tell.
func TestLoadCountsFromWhenRequestsWereDue(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	const requests, size = 100, 64
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		all := make([]byte, requests*size)
		if _, err := io.ReadFull(conn, all); err == nil {
			_, _ = conn.Write(all) // the client counts missing responses
		}
	}()
	result, err := end[report.Load](t, start(t, "load", "--to="+listener.Addr().String(), "--rate=1000", "--duration=100ms", "--size=64"))
	require.NoError(t, err)
	require.Equal(t, requests, result.Sent)
	require.Zero(t, result.Lost)
	require.GreaterOrEqual(t, result.RTT.Max, 99e3, "the first request was due 99 ms before the last one")
	require.GreaterOrEqual(t, result.RTT.P50, 49e3)
}

func TestLoadCountsLoss(t *testing.T) {
	address := "127.0.0.1:" + freePort(t)
	startServer(t, "udp-echo", "--listen="+address, "--answers=50")
	result, err := end[report.Load](t, start(t, "load", "--proto=udp", "--to="+address, "--rate=1000", "--duration=100ms"))
	require.NoError(t, err)
	require.Equal(t, 100, result.Sent)
	require.Equal(t, 50, result.Lost)
}

func TestLoadWithBadFlags(t *testing.T) {
	_, err := end[report.Load](t, start(t, "load", "--rate=0", "--to=127.0.0.1:1"))
	require.ErrorContains(t, err, "rate 0 and duration 10s positive")
	_, err = end[report.Load](t, start(t, "load", "--to=127.0.0.1:"+freePort(t)))
	require.ErrorContains(t, err, "connection refused")
}
