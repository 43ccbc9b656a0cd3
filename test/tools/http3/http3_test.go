// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/qlog"
	"github.com/stretchr/testify/require"
)

// startServer returns the server's address. The test fails if the server ends before the test, or with an error.
func startServer(t *testing.T, listen string) (address string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	status, written := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := run(ctx, []string{"serve", "--listen=" + listen}, io.Discard, written)
		written.CloseWithError(io.ErrUnexpectedEOF)
		ended <- err
	}()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	line, err := bufio.NewReader(status).ReadString('\n')
	require.NoError(t, err)
	address, ready := strings.CutPrefix(strings.TrimSpace(line), "ready ")
	require.True(t, ready, line)
	return address
}

func runFetch(t *testing.T, args ...string) (fetched, error) {
	t.Helper()
	var out bytes.Buffer
	if err := run(t.Context(), append([]string{"fetch"}, args...), &out, io.Discard); err != nil {
		return fetched{}, err
	}
	var result fetched
	require.NoError(t, json.Unmarshal(out.Bytes(), &result), out.String())
	return result, nil
}

func TestSmallRequests(t *testing.T) {
	for _, listen := range []string{"127.0.0.1:0", "[::1]:0"} {
		t.Run(listen, func(t *testing.T) {
			result, err := runFetch(t, "--to="+startServer(t, listen), "--size=1000", "--connections=4", "--duration=200ms")
			require.NoError(t, err)
			require.Greater(t, result.Requests, 4)
			// A request of each connection may have been cut off.
			require.GreaterOrEqual(t, result.Bytes, int64(1000*result.Requests))
			require.LessOrEqual(t, result.Bytes, int64(1000*(result.Requests+4)))
			require.GreaterOrEqual(t, result.Seconds, 0.2)
			require.Positive(t, result.Times.P50)
			require.GreaterOrEqual(t, result.Times.P99, result.Times.P50)
			require.GreaterOrEqual(t, result.Times.P999, result.Times.P99)
			require.GreaterOrEqual(t, result.Times.Max, result.Times.P999)
		})
	}
}

// A body that is not complete when the time ends counts with the part that came.
func TestLargeBodyIsCutOff(t *testing.T) {
	result, err := runFetch(t, "--to="+startServer(t, "127.0.0.1:0"), "--size=1000000000000", "--duration=200ms")
	require.NoError(t, err)
	require.Zero(t, result.Requests)
	require.Positive(t, result.Bytes)
	require.Zero(t, result.Times)
	require.Nil(t, result.Arrivals)
}

func TestOrder(t *testing.T) {
	result, err := runFetch(t, "--to="+startServer(t, "127.0.0.1:0"), "--size=1000000000000", "--duration=200ms", "--order")
	require.NoError(t, err)
	require.NotNil(t, result.Arrivals)
	// A packet is smaller than 1500 bytes.
	require.Greater(t, result.Arrivals.Packets, int(result.Bytes/1500))
}

func TestLateIsAfterALaterOne(t *testing.T) {
	var o order
	recorder := o.trace(t.Context(), true, quic.ConnectionID{}).AddProducer()
	for _, number := range []qlog.PacketNumber{0, 1, 3, 2, 4, 7, 5, 6, 8} {
		recorder.RecordEvent(qlog.PacketReceived{Header: qlog.PacketHeader{PacketType: qlog.PacketType1RTT, PacketNumber: number}})
	}
	// Numbered on their own, or sent.
	recorder.RecordEvent(qlog.PacketReceived{Header: qlog.PacketHeader{PacketType: qlog.PacketTypeHandshake, PacketNumber: 1}})
	recorder.RecordEvent(qlog.PacketSent{Header: qlog.PacketHeader{PacketType: qlog.PacketType1RTT, PacketNumber: 1}})
	require.NoError(t, recorder.Close())
	var sum arrivals
	o.addTo(&sum)
	require.Equal(t, arrivals{Packets: 9, Late: 3}, sum)
}

// The server makes bodies of many writes, and the client checks their length.
func TestWholeBodies(t *testing.T) {
	c := newConnection(startServer(t, "127.0.0.1:0"), 0)
	defer c.transport.Close()
	for _, size := range []int64{0, 1, int64(len(content)), 3*int64(len(content)) + 1} {
		read, err := c.get(t.Context(), size)
		require.NoError(t, err)
		require.Equal(t, size, read)
	}
}

func TestServerRefuses(t *testing.T) {
	address := startServer(t, "127.0.0.1:0")
	for _, path := range []string{"-1", "many", "99999999999999999999"} {
		c := newConnection(address, 0)
		c.url = "https://" + address + "/" + path + "?"
		_, err := c.get(t.Context(), 0)
		c.transport.Close()
		require.ErrorContains(t, err, "400 Bad Request", path)
	}
}

// The time of a measurement is over only for a client whose server answers.
func TestNoServer(t *testing.T) {
	silent, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close()
	all := []*connection{newConnection(silent.LocalAddr().String(), 1)}
	defer all[0].transport.Close()
	require.ErrorContains(t, each(t.Context(), 100*time.Millisecond, all, (*connection).open), "connect: ")
}

func TestTimesOf(t *testing.T) {
	var samples []time.Duration
	for us := 1001; us > 0; us-- {
		samples = append(samples, time.Duration(us)*time.Microsecond)
	}
	require.Equal(t, times{P50: 501, P99: 991, P999: 1000, Max: 1001}, timesOf(samples))
}

func TestBadArguments(t *testing.T) {
	for _, c := range []struct {
		args []string
		err  string
	}{
		{nil, `command "" does not exist`},
		{[]string{"get"}, `command "get" does not exist`},
		{[]string{"fetch", "--size=-1"}, "size -1 must not be negative"},
		{[]string{"fetch", "--connections=0"}, "connections 0"},
		{[]string{"fetch", "--duration=0s"}, "duration 0s must be positive"},
		{[]string{"fetch", "127.0.0.1:1"}, `unknown argument "127.0.0.1:1"`},
		{[]string{"serve", "--listen=nowhere"}, `address "nowhere" must be an IP address and a port`},
		{[]string{"serve", "--listen=192.0.2.1:1"}, "cannot assign requested address"},
	} {
		require.ErrorContains(t, run(t.Context(), c.args, io.Discard, io.Discard), c.err, "%q", c.args)
	}
}
