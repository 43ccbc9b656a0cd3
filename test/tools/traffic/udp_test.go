// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/test/tools/traffic/report"
)

func TestPingCountsEveryReply(t *testing.T) {
	_, address := startServer(t, "udp-echo", "--listen=127.0.0.1:0")
	ping, err := end[report.Ping](t, start(t, "udp-ping", "--to="+address, "--rate=1000", "--duration=300ms", "--tos=184"))
	require.NoError(t, err)
	require.Equal(t, 300, ping.Sent)
	require.Zero(t, ping.Lost)
	require.Equal(t, -1, ping.FirstLost)
	require.Positive(t, ping.RTT.P50)
	require.LessOrEqual(t, ping.RTT.P99, ping.RTT.Max)
}

func TestEchoThatAnswersOnce(t *testing.T) {
	echo, address := startServer(t, "udp-echo", "--listen=127.0.0.1:0", "--answers=1")
	ping, err := end[report.Ping](t, start(t, "udp-ping", "--to="+address, "--count=20"))
	require.NoError(t, err)
	require.Equal(t, 20, ping.Sent)
	require.Equal(t, 19, ping.Lost)
	require.Equal(t, 1, ping.FirstLost)
	echo.stop()
	echoed, err := end[report.Echo](t, echo)
	require.NoError(t, err)
	require.EqualValues(t, 20, echoed.Packets)
}

// misbehaving answers requests by number: 3 not at all, 5 twice, 7 after 8, 9 with wrong content.
func misbehaving(t *testing.T) string {
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	go func() {
		buf := make([]byte, 1500)
		var late []byte
		for {
			n, from, err := conn.ReadFromUDP(buf)
			if err != nil {
				return
			}
			reply := func(data []byte) { _, _ = conn.WriteToUDP(data, from) }
			switch binary.BigEndian.Uint64(buf[4:]) {
			case 3:
			case 5:
				reply(buf[:n])
				reply(buf[:n])
			case 7:
				late = append([]byte(nil), buf[:n]...)
			case 8:
				reply(buf[:n])
				reply(late)
			case 9:
				buf[pingHeader]++
				reply(buf[:n])
			default:
				reply(buf[:n])
			}
		}
	}()
	return conn.LocalAddr().String()
}

func TestPingCount(t *testing.T) {
	_, address := startServer(t, "udp-echo", "--listen=127.0.0.1:0")
	ping, err := end[report.Ping](t, start(t, "udp-ping", "--to="+address, "--rate=1000", "--count=20"))
	require.NoError(t, err)
	require.Equal(t, 20, ping.Sent)
	require.Zero(t, ping.Lost)
}

func TestPingNoticesLossDuplicatesOrderAndContent(t *testing.T) {
	ping, err := end[report.Ping](t, start(t, "udp-ping", "--to="+misbehaving(t), "--rate=500", "--duration=40ms"))
	require.NoError(t, err)
	require.Equal(t, 20, ping.Sent)
	require.Equal(t, 2, ping.Lost, "3 and 9")
	require.Equal(t, 3, ping.FirstLost)
	require.Equal(t, 9, ping.LastLost)
	require.Len(t, ping.Losses, 2)
	require.Equal(t, []int{3, 1, 9, 1}, []int{ping.Losses[0].First, ping.Losses[0].Lost, ping.Losses[1].First, ping.Losses[1].Lost})
	require.Greater(t, ping.Losses[1].Began, ping.Losses[0].Ended)
	require.Equal(t, 1, ping.Duplicated)
	require.Equal(t, 1, ping.Reordered)
	require.Equal(t, 1, ping.Corrupted)
}

func TestPingWindow(t *testing.T) {
	silent, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	defer silent.Close()
	ping, err := end[report.Ping](t, start(t, "udp-ping", "--to="+silent.LocalAddr().String(), "--window=10", "--duration=100ms"))
	require.NoError(t, err)
	require.Equal(t, 12, ping.Sent, "the window, the first, and one out of impatience")
	require.Equal(t, 12, ping.Lost)
	require.Len(t, ping.Losses, 1)
	require.Equal(t, 12, ping.Losses[0].Lost)
}

func TestPingUntilInterrupted(t *testing.T) {
	echo, address := startServer(t, "udp-echo", "--listen=127.0.0.1:0")
	running := start(t, "udp-ping", "--to="+address, "--rate=200", "--progress=1ms")
	running.waitFor(t, `received [1-9][0-9]+ of`)
	running.stop()
	ping, err := end[report.Ping](t, running)
	require.NoError(t, err)
	require.Zero(t, ping.Lost)
	echo.stop()
	echoed, err := end[report.Echo](t, echo)
	require.NoError(t, err)
	require.EqualValues(t, ping.Sent, echoed.Packets)
}

func TestPingProgressCountsLateRequests(t *testing.T) {
	_, address := startServer(t, "udp-echo", "--listen=127.0.0.1:0", "--answers=3")
	ping := start(t, "udp-ping", "--to="+address, "--rate=100", "--progress=10ms")
	ping.waitFor(t, `received 3 of \d+, [1-9]\d* late`)
	ping.stop()
	_, err := end[report.Ping](t, ping)
	require.NoError(t, err)
}

// TestLateReply: a late reply is not late any more.
func TestLateReply(t *testing.T) {
	c := &pingCounter{size: pingHeader}
	at := time.Now()
	for range 3 {
		c.sent(at)
	}
	reply := func(number byte) []byte {
		packet := make([]byte, pingHeader)
		packet[pingHeader-1] = number
		return packet
	}
	require.Zero(t, c.lateBy(at))
	c.reply(reply(1), at)
	require.Equal(t, 2, c.lateBy(at.Add(time.Second)))
	c.reply(reply(0), at.Add(time.Second))
	require.Equal(t, 1, c.lateBy(at.Add(time.Second)))
}

func TestPacedTransactions(t *testing.T) {
	_, address := startServer(t, "tcp-echo", "--listen=127.0.0.1:0")
	client := start(t, "rr", "--to="+address, "--duration=0", "--rate=100", "--progress=10ms")
	client.waitFor(t, `received [1-9]\d* of \d+, 0 late`)
	client.stop()
	result, err := end[report.RR](t, client)
	require.NoError(t, err)
	require.Positive(t, result.Transactions)
}

func TestTransactions(t *testing.T) {
	for _, proto := range []string{"tcp", "udp"} {
		t.Run(proto, func(t *testing.T) {
			_, address := startServer(t, proto+"-echo", "--listen=127.0.0.1:0")
			rr, err := end[report.RR](t, start(t, "rr", "--proto="+proto, "--to="+address, "--duration=100ms"))
			require.NoError(t, err)
			require.Greater(t, rr.Transactions, 10)
			require.Zero(t, rr.Lost)
			require.Positive(t, rr.PerSecond)
		})
	}
}

func TestLatencyPercentiles(t *testing.T) {
	var samples []time.Duration
	for i := 101; i > 0; i-- {
		samples = append(samples, time.Duration(i)*time.Microsecond)
	}
	require.Equal(t, report.Latency{P50: 51, P99: 100, P999: 100, Max: 101}, latencyOf(samples))
}
