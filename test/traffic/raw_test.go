// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/test/traffic/report"
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
		"--destination=nowhere":                             "destination",
		"--destination=192.0.2.2 --proto=sctp":              "proto",
		"--destination=192.0.2.2 --proto=tcp --flags=X":     "flags",
		"--destination=192.0.2.2 --fragment=9":              "multiple of 8",
		"--destination=192.0.2.2 --option=timestamp":        "option",
		"--destination=192.0.2.2 --device=none":             "none",
		"--destination=192.0.2.2 --destination-mac=":        "default gateway",
		"--destination=192.0.2.2 --source-mac=00:11:22:33:": "MAC",
	} {
		t.Run(args, func(t *testing.T) {
			all := append([]string{"send-raw", "--device=near", "--destination-mac=02:00:00:00:00:02"}, strings.Fields(args)...)
			_, err := end[report.Sent](t, start(t, all...))
			require.ErrorContains(t, err, want)
		})
	}
}
