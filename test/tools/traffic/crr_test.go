// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
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
