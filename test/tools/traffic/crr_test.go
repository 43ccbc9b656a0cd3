// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/test/env/testbed/freeport"
	"github.com/antrea-oncache/antrea/test/tools/traffic/report"
)

func TestConnectRequestResponse(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "[::1]"} {
		t.Run(host, func(t *testing.T) {
			address := host + ":" + freePort(t)
			server, _ := startServer(t, "crr-server", "--listen="+address)
			result, err := end[report.RR](t, start(t, "crr", "--to="+address, "--duration=100ms"))
			require.NoError(t, err)
			require.Positive(t, result.Transactions)
			require.Positive(t, result.RTT.P50)
			server.cancel()
			answered, err := end[report.Echo](t, server)
			require.NoError(t, err)
			require.EqualValues(t, result.Transactions, answered.Packets)
		})
	}
}

func TestLongConnections(t *testing.T) {
	address := "127.0.0.1:" + freePort(t)
	server, _ := startServer(t, "crr-server", "--listen="+address)
	result, err := end[report.RR](t, start(t, "crr", "--to="+address, "--duration=100ms", "--long-every=3", "--long-requests=10"))
	require.NoError(t, err)
	require.Greater(t, result.Transactions, 3)
	server.cancel()
	answered, err := end[report.Echo](t, server)
	require.NoError(t, err)
	require.EqualValues(t, result.Transactions+result.Transactions/3*9, answered.Packets)
	_, err = end[report.RR](t, start(t, "crr", "--to="+address, "--long-every=3", "--long-requests=0"))
	require.ErrorContains(t, err, "--long-requests=0")
}

func TestConcurrentConnections(t *testing.T) {
	address := "127.0.0.1:" + freePort(t)
	server, _ := startServer(t, "crr-server", "--concurrent", "--listen="+address)
	idle, err := net.Dial("tcp", address)
	require.NoError(t, err)
	defer idle.Close()
	client := start(t, "crr", "--to="+address, "--duration=0", "--rate=200", "--progress=10ms")
	client.waitFor(t, `received [1-9]\d* of \d+, 0 late`)
	client.stop()
	_, err = end[report.RR](t, client)
	require.NoError(t, err)
	server.stop() // although a connection is open
	_, err = end[report.Echo](t, server)
	require.NoError(t, err)
}

func TestTolerantClientCountsFailures(t *testing.T) {
	client := start(t, "crr", "--to=127.0.0.1:"+freePort(t), "--duration=0", "--tolerant", "--rate=200", "--progress=10ms")
	client.waitFor(t, `failed after .* connect from port \d+: connection refused`)
	client.waitFor(t, `received 0 of \d+, [1-9]\d* late`)
	client.stop()
	result, err := end[report.RR](t, client)
	require.NoError(t, err)
	require.Zero(t, result.Transactions)
	require.Positive(t, result.Lost)
}

func TestConnectRequestResponseWithoutServer(t *testing.T) {
	_, err := end[report.RR](t, start(t, "crr", "--to=127.0.0.1:"+freePort(t)))
	require.ErrorContains(t, err, "connection refused")
	_, err = end[report.RR](t, start(t, "crr", "--to=localhost:1"))
	require.ErrorContains(t, err, "must be an IP address")
}

func freePort(t *testing.T) string {
	t.Helper()
	ports, err := freeport.Loopback(1)
	require.NoError(t, err)
	return fmt.Sprint(ports[0])
}
