// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package peer

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func serve(t *testing.T) *Server {
	t.Helper()
	s, err := Listen("127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-ended)
	})
	return s
}

func TestMeasure(t *testing.T) {
	s := serve(t)
	for _, workload := range Workloads {
		m, err := Measure(t.Context(), workload, s.Address(), 50*time.Millisecond)
		require.NoError(t, err, workload)
		require.GreaterOrEqual(t, m.CPU, 0.0)
		if workload == TCPStream {
			require.Positive(t, m.Throughput)
			continue
		}
		require.Positive(t, m.Median, workload)
		require.GreaterOrEqual(t, m.P99, m.Median, workload)
		require.Positive(t, m.Rate, workload)
		require.Zero(t, m.Lost, workload)
	}
	_, err := Measure(t.Context(), "tcp", s.Address(), time.Second)
	require.ErrorContains(t, err, `"tcp" is not a workload`)
}

// A server that does not answer is an error, and not a measurement.
func TestNoServer(t *testing.T) {
	closed, err := Listen("127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, closed.tcp.Close())
	defer closed.udp.Close()
	_, err = Measure(t.Context(), TCPRoundTrips, closed.Address(), time.Second)
	require.ErrorContains(t, err, "refused")

	m := &meter{to: closed.udp.LocalAddr().String(), duration: time.Millisecond}
	require.ErrorContains(t, m.udpRoundTrips(t.Context()), "no answer to 1 datagrams")

	ctx, stop := context.WithCancel(t.Context())
	stop()
	_, err = Measure(ctx, TCPRoundTrips, serve(t).Address(), time.Hour)
	require.ErrorIs(t, err, context.Canceled)
}

// Two servers must not answer each other for ever, whatever a forged datagram lets them begin with.
func TestServersDoNotAnswerAnswers(t *testing.T) {
	s := serve(t)
	conn, err := net.Dial("udp", s.udp.LocalAddr().String())
	require.NoError(t, err)
	defer conn.Close()
	answer := make([]byte, 2*MessageBytes)
	for _, message := range [][]byte{request(kindAnswer), append(request(kindEcho), '.'), request(kindEcho)[:MessageBytes-1], request(kindEcho)} {
		_, err = conn.Write(message)
		require.NoError(t, err)
	}
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(patience)))
	n, err := conn.Read(answer)
	require.NoError(t, err)
	require.Equal(t, request(kindAnswer), answer[:n], "the answer to the last datagram is the first answer")
}

func TestBusyTime(t *testing.T) {
	for stat, want := range map[string]time.Duration{
		"cpu  1 2 4 1000 2000 8 16 3000 0 0\ncpu0 9 9 9 9 9 9 9 9 9 9\n": 310 * time.Millisecond,
		"cpu  1 2 4 1000 2000 8 16\n":                                    310 * time.Millisecond,
	} {
		busy, err := busyTime([]byte(stat))
		require.NoError(t, err)
		require.Equal(t, want, busy)
	}
	for _, stat := range []string{"", "cpu 1 2 3\n", "cpu0 1 2 3 4 5 6 7 8 9 10\n", "cpu  1 2 4 1000 2000 8 x\n"} {
		_, err := busyTime([]byte(stat))
		require.ErrorContains(t, err, "/proc/stat", stat)
	}
}
