// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/test/tools/traffic/report"
)

// exchange sends from the device near and returns what arrives at far.
func exchange(t *testing.T, filter, send string) []report.Packet {
	t.Helper()
	capture, _ := startServer(t, append([]string{"capture", "--device=far"}, strings.Fields(filter)...)...)
	args := "send-raw --device=near --destination=192.0.2.2 --destination-mac=02:00:00:00:00:02 --interval=100us " + send
	_, err := end[report.Sent](t, start(t, strings.Fields(args)...))
	require.NoError(t, err)
	capture.stop()
	captured, err := end[report.Capture](t, capture)
	require.NoError(t, err)
	require.Len(t, captured.Packets, captured.Matched)
	return captured.Packets
}

func TestCraftedHeadersArrive(t *testing.T) {
	vethPair(t)
	got := exchange(t, "--proto=tcp --port=80", "--proto=tcp --source=198.51.100.7 --source-mac=02:00:00:00:00:07 --source-port=1234 --port=80 --flags=SR --sequence=77 --ttl=3 --tos=255 --id=9 --payload=100")
	require.Equal(t, []report.Packet{{
		SourceMAC: "02:00:00:00:00:07", DestinationMAC: "02:00:00:00:00:02", Source: "198.51.100.7", Destination: "192.0.2.2",
		Protocol: 6, TTL: 3, TOS: 255, ID: 9, Length: 140, SourcePort: 1234, DestinationPort: 80, TCPFlags: "SR", Sequence: 77,
	}}, got)
}

func TestCaptureLeavesOutASource(t *testing.T) {
	vethPair(t)
	const send = "--proto=udp --source=192.0.2.1 --source-port=1 --port=2"
	require.Len(t, exchange(t, "--proto=udp --port=2 --not-source=192.0.2.9", send), 1)
	require.Empty(t, exchange(t, "--proto=udp --port=2 --not-source=192.0.2.1", send))
}

func TestEveryTypeOfServiceIsSentOnce(t *testing.T) {
	vethPair(t)
	got := exchange(t, "--proto=udp --source=192.0.2.1", "--proto=udp --source-port=1 --port=2 --every-tos")
	require.Len(t, got, 256)
	for i, p := range got {
		require.EqualValues(t, i, p.TOS)
		require.EqualValues(t, i, p.ID)
	}
}

func TestFragmentsAndOptions(t *testing.T) {
	vethPair(t)
	t.Run("fragments", func(t *testing.T) {
		got := exchange(t, "--proto=udp --source=192.0.2.1", "--proto=udp --source-port=1 --port=2 --payload=100 --fragment=64")
		require.Len(t, got, 2)
		require.True(t, got[0].MoreFragments)
		require.EqualValues(t, 2, got[0].DestinationPort)
		require.Equal(t, 64, got[1].FragmentOffset)
		require.Equal(t, 20+44, got[1].Length)
	})
	for _, option := range []string{"nop", "record-route", "router-alert"} {
		t.Run(option, func(t *testing.T) {
			got := exchange(t, "--proto=udp --source=192.0.2.1", "--proto=udp --port=2 --option="+option)
			require.Len(t, got, 1)
			require.Positive(t, got[0].OptionBytes)
			require.EqualValues(t, 2, got[0].DestinationPort)
		})
	}
}

func TestIPv6FramesArrive(t *testing.T) {
	vethPair(t)
	const addresses = "--source=2001:db8::1 --destination=2001:db8::2 "
	plain := report.Packet{
		SourceMAC: "02:00:00:00:00:07", DestinationMAC: "02:00:00:00:00:02", Source: "2001:db8::1", Destination: "2001:db8::2",
		Protocol: 6, TTL: 3, TOS: 255, ID: 9, Length: 160, SourcePort: 1234, DestinationPort: 80, TCPFlags: "SR", Sequence: 77,
	}
	tcp := "--proto=tcp --source-mac=02:00:00:00:00:07 --source-port=1234 --port=80 --flags=SR --sequence=77 --ttl=3 --tos=255 --id=9 --payload=100"
	require.Equal(t, []report.Packet{plain}, exchange(t, "--destination=2001:db8::2 --proto=tcp --port=80", addresses+tcp))
	for _, option := range []string{"nop", "destination", "router-alert"} {
		want := plain
		want.OptionBytes, want.Length = 8, plain.Length+8
		require.Equal(t, []report.Packet{want}, exchange(t, "--proto=tcp --port=80", addresses+tcp+" --option="+option), option)
	}
	got := exchange(t, "--proto=udp --source=2001:db8::1", addresses+"--proto=udp --source-port=1 --port=2 --payload=100 --fragment=64")
	require.Len(t, got, 2)
	require.True(t, got[0].MoreFragments)
	require.EqualValues(t, 2, got[0].DestinationPort)
	require.Equal(t, 64, got[1].FragmentOffset)
	require.Equal(t, 40+8+44, got[1].Length)
	require.Len(t, exchange(t, "--proto=icmp6 --destination=2001:db8::2", addresses+"--proto=icmp --payload=10"), 1)
}

// The kernel accepts the checksums: it answers an echo request, and hands a datagram to a socket.
func TestIPv6ChecksumsAreRight(t *testing.T) {
	vethPair(t)
	far, err := netlink.LinkByName("far")
	require.NoError(t, err)
	addr, err := netlink.ParseAddr("2001:db8::2/64")
	require.NoError(t, err)
	addr.Flags = unix.IFA_F_NODAD
	require.NoError(t, netlink.AddrAdd(far, addr))
	waitUntilLocal(t, addr.IP)
	mac := "--destination-mac=" + far.Attrs().HardwareAddr.String()
	received, refused := udp6Counter(t, "Udp6InDatagrams"), udp6Counter(t, "Udp6InCsumErrors")
	echo, _ := startServer(t, "udp-echo", "--listen=[2001:db8::2]:7")
	_, err = end[report.Sent](t, start(t, "send-raw", "--device=near", mac, "--source=2001:db8::1", "--destination=2001:db8::2",
		"--proto=udp", "--source-port=7777", "--port=7", "--count=3"))
	require.NoError(t, err)
	_, err = end[report.Sent](t, start(t, "send-raw", "--device=near", mac, "--source=2001:db8::1", "--destination=2001:db8::2",
		"--proto=udp", "--source-port=7777", "--port=7", "--count=3", "--bad-checksum"))
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		return udp6Counter(t, "Udp6InDatagrams") == received+3 && udp6Counter(t, "Udp6InCsumErrors") == refused+3
	}, time.Minute, 10*time.Millisecond, "three datagrams are received and three are refused")
	ping, err := end[report.Ping](t, start(t, "udp-ping", "--to=[2001:db8::2]:7", "--rate=100", "--duration=100ms", "--tos=4", "--df"))
	require.NoError(t, err)
	require.Zero(t, ping.Lost)
	echo.stop()
	result, err := end[report.Echo](t, echo)
	require.NoError(t, err)
	require.EqualValues(t, ping.Sent+3, result.Packets)
}

// udp6Counter reads a counter of this network namespace. The kernel counts a datagram when a program has read it.
func udp6Counter(t *testing.T, name string) (count int) {
	t.Helper()
	content, err := os.ReadFile("/proc/self/net/snmp6")
	require.NoError(t, err)
	for line := range strings.Lines(string(content)) {
		if fields := strings.Fields(line); len(fields) == 2 && fields[0] == name {
			count, err = strconv.Atoi(fields[1])
			require.NoError(t, err)
			return count
		}
	}
	require.Fail(t, "the kernel has no counter "+name)
	return 0
}

func TestCaptureFilters(t *testing.T) {
	vethPair(t)
	for filter, want := range map[string]int{
		"--proto=udp --source=192.0.2.1 --destination=192.0.2.2 --source-port=1 --port=2": 1,
		"--proto=tcp --source=192.0.2.1":   0,
		"--proto=udp --port=3":             0,
		"--source=192.0.2.9 --port=2":      0,
		"--destination=192.0.2.9 --port=2": 0,
		"--port=2 --outgoing":              0,
	} {
		t.Run(filter, func(t *testing.T) {
			require.Len(t, exchange(t, filter, "--proto=udp --source-port=1 --port=2"), want)
		})
	}
}

func TestSendRawRefusesNonsense(t *testing.T) {
	vethPair(t)
	for args, want := range map[string]string{
		"--destination=nowhere":                                                "destination",
		"--destination=192.0.2.2 --proto=sctp":                                 "proto",
		"--destination=192.0.2.2 --source=2001:db8::1":                         "one family",
		"--destination=2001:db8::2 --source=2001:db8::1 --option=record-route": "option",
		"--destination=192.0.2.2 --proto=tcp --flags=X":                        "flags",
		"--destination=192.0.2.2 --fragment=9":                                 "multiple of 8",
		"--destination=192.0.2.2 --option=timestamp":                           "option",
		"--destination=192.0.2.2 --device=none":                                "none",
		"--destination=192.0.2.2 --destination-mac=":                           "default gateway",
		"--destination=192.0.2.2 --source-mac=00:11:22:33:":                    "MAC",
	} {
		t.Run(args, func(t *testing.T) {
			all := append([]string{"send-raw", "--device=near", "--destination-mac=02:00:00:00:00:02"}, strings.Fields(args)...)
			_, err := end[report.Sent](t, start(t, all...))
			require.ErrorContains(t, err, want)
		})
	}
}
