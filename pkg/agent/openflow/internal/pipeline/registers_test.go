// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"testing"

	"github.com/stretchr/testify/require"

	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// Packets that one Pod can cause have one sender: those that it sends, to whatever destination, and those that others elsewhere send to it.
func TestSenders(t *testing.T) {
	packet := func(source FieldValue, from, to uint32) *of.PacketIn {
		word := func(f of.Field, value uint32) of.Match {
			return of.Match{Field: f, Value: []byte{byte(value >> 24), byte(value >> 16), byte(value >> 8), byte(value)}}
		}
		return &of.PacketIn{Metadata: []of.Match{word(of.FieldInPort, from), word(of.FieldReg0, source.Value<<source.Bits.From), word(of.FieldReg0+1, to)}}
	}
	require.Equal(t, ReportedPod(packet(FromPod, 11, 12)), ReportedPod(packet(FromPod, 11, 13)))
	require.NotEqual(t, ReportedPod(packet(FromPod, 11, 12)), ReportedPod(packet(FromPod, 13, 12)))
	require.Equal(t, ReportedPod(packet(FromTunnel, 1, 12)), ReportedPod(packet(FromGateway, 2, 12)))
	require.NotEqual(t, ReportedPod(packet(FromTunnel, 1, 12)), ReportedPod(packet(FromTunnel, 1, 11)))
	require.NotEqual(t, ReportedPod(packet(FromTunnel, 1, 12)), ReportedPod(packet(FromPod, 12, 1)), "a flood to a Pod takes nothing from what it sends")
	require.Equal(t, AnsweredPod(packet(FromTunnel, 1, 12)), AnsweredPod(packet(FromPod, 11, 12)))
	require.NotEqual(t, AnsweredPod(packet(FromTunnel, 1, 12)), AnsweredPod(packet(FromTunnel, 1, 11)))
	require.Equal(t, SendingPort(packet(FromPod, 11, 0)), SendingPort(packet(FromPod, 11, 12)))
	require.NotEqual(t, SendingPort(packet(FromPod, 11, 0)), SendingPort(packet(FromPod, 12, 0)))
}
