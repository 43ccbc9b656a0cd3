// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/test/env/sandbox"
	"github.com/antrea-oncache/antrea/test/tools/traffic/report"
)

func TestSinkVerifiesWhatTheSenderSends(t *testing.T) {
	const total = 3*contentPeriod + 17
	sink, address := startServer(t, "tcp-sink", "--listen=127.0.0.1:0", "--connections=1", "--progress=1ns")
	sent, err := end[report.Send](t, start(t, "tcp-send", "--to="+address, "--bytes=3145736"))
	require.NoError(t, err)
	require.EqualValues(t, total, sent.Bytes)
	require.EqualValues(t, total, sent.Received.Bytes)
	require.EqualValues(t, -1, sent.Received.MismatchAt)

	received, err := end[report.Sink](t, sink)
	require.NoError(t, err)
	require.Len(t, received.Connections, 1)
	c := received.Connections[0]
	require.Equal(t, "eof", c.End)
	require.Equal(t, sent.Local, c.Remote)
	require.Equal(t, sent.Remote, c.Local)
	require.Positive(t, c.MbitPerSecond)
	require.Contains(t, sink.status.String(), "received ")
}

func TestSinkReportsWrongContent(t *testing.T) {
	sink, address := startServer(t, "tcp-sink", "--listen=127.0.0.1:0", "--connections=1")
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	data := append([]byte(nil), content(0, 1000)...)
	data[700]++
	_, err = conn.Write(data)
	require.NoError(t, err)
	require.NoError(t, conn.Close())
	received, err := end[report.Sink](t, sink)
	require.NoError(t, err)
	require.Zero(t, received.Connections[0].MismatchAt, "the offset of the chunk")
}

func TestSenderKeepsRateAndDuration(t *testing.T) {
	_, address := startServer(t, "tcp-sink", "--listen=127.0.0.1:0")
	begin := time.Now()
	sent, err := end[report.Send](t, start(t, "tcp-send", "--to="+address, "--rate=1000000", "--duration=500ms"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, time.Since(begin), 500*time.Millisecond)
	require.NotZero(t, sent.Bytes)
	require.LessOrEqual(t, float64(sent.Bytes), 1.1e6*time.Since(begin).Seconds(), "a busy machine makes it slower, nothing faster")
}

func TestSenderTellsItsProgress(t *testing.T) {
	_, address := startServer(t, "tcp-sink", "--listen=127.0.0.1:0")
	sender := start(t, "tcp-send", "--to="+address, "--rate=100000", "--progress=10ms")
	sender.waitFor(t, `received ([1-9]\d*) of \d+, 0 late`)
	sender.stop()
	_, err := end[report.Send](t, sender)
	require.NoError(t, err)
}

// TestLostSegments: what came twice was not lost.
func TestLostSegments(t *testing.T) {
	info := &unix.TCPInfo{Total_retrans: 5, Dsack_dups: 3, Data_segs_out: 25, Delivered: 19}
	require.Equal(t, 2, lostOf(info))
	delivered, sent := deliveredSegments(info)
	require.Equal(t, 18, delivered)
	require.Equal(t, 20, sent)
	require.Zero(t, lostOf(&unix.TCPInfo{Total_retrans: 1, Dsack_dups: 2}))
}

func TestHeldConnectionEndsInOrderWhenInterrupted(t *testing.T) {
	_, address := startServer(t, "tcp-sink", "--listen=127.0.0.1:0")
	sender := start(t, "tcp-send", "--to="+address, "--bytes=1000", "--hold")
	sender.waitFor(t, "sent 1000")
	sender.stop()
	sent, err := end[report.Send](t, sender)
	require.NoError(t, err)
	require.EqualValues(t, 1000, sent.Received.Bytes)
}

func TestResetReachesTheSink(t *testing.T) {
	sink, address := startServer(t, "tcp-sink", "--listen=127.0.0.1:0", "--connections=1")
	sent, err := end[report.Send](t, start(t, "tcp-send", "--to="+address, "--bytes=1000", "--reset"))
	require.NoError(t, err)
	require.Equal(t, "reset", sent.End)
	received, err := end[report.Sink](t, sink)
	require.NoError(t, err)
	require.Equal(t, "reset", received.Connections[0].End)
}

func TestSenderFailsWithoutSink(t *testing.T) {
	_, err := end[report.Send](t, start(t, "tcp-send", "--to=127.0.0.1:1", "--bytes=1"))
	require.ErrorContains(t, err, "connection refused")
}

func TestContentIsNotTheSameAfterShiftByAPowerOfTwo(t *testing.T) {
	for shift := uint64(1); shift < 1<<40; shift <<= 1 {
		require.False(t, isContent(content(shift, 1000), 0), "shift %d", shift)
	}
}

func TestSinkWithoutAddressHasBothIPVersions(t *testing.T) {
	sandbox.RequireRoot(t)
	vethPair(t)
	near, err := netlink.LinkByName("near")
	require.NoError(t, err)
	addr, err := netlink.ParseAddr("2001:db8::1/64")
	require.NoError(t, err)
	addr.Flags = unix.IFA_F_NODAD
	require.NoError(t, netlink.AddrAdd(near, addr))
	waitUntilLocal(t, addr.IP)
	_, listening := startServer(t, "tcp-sink", "--listen=:0")
	_, port, err := net.SplitHostPort(listening)
	require.NoError(t, err)
	for _, ip := range []string{"192.0.2.1", "2001:db8::1"} {
		sent, err := end[report.Send](t, start(t, "tcp-send", "--to="+net.JoinHostPort(ip, port), "--bytes=1000"))
		require.NoError(t, err)
		require.NotNil(t, sent.Received)
		require.Equal(t, ip, netip.MustParseAddrPort(sent.Received.Remote).Addr().String())
	}
}
