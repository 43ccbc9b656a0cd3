// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package servicereject

import (
	"context"
	"encoding/binary"
	"testing"
	"time"

	"github.com/gopacket/gopacket/layers"
	"github.com/stretchr/testify/require"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/share"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

const podPort, otherPort, tunnelPort = 11, 12, 32768

func fromPort(port uint32, userData byte, data []byte) of.PacketIn {
	return of.PacketIn{Data: data, UserData: []byte{userData}, Metadata: []of.Match{{Field: of.FieldInPort, Value: binary.BigEndian.AppendUint32(nil, port)}}}
}

// running starts a Responder with a clock that the test advances.
func running(t *testing.T) (*of.Fake, *clocktesting.FakePassiveClock) {
	t.Helper()
	fake, clock := of.NewFake(), clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
	_, err := fake.Connect(t.Context())
	require.NoError(t, err)
	r := NewResponder(fake, tunnelPort)
	r.limiter = share.New[uint32](clock)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
	return fake, clock
}

// offer gives the packet to the Responder once that listens.
func offer(t *testing.T, fake *of.Fake, p of.PacketIn) {
	t.Helper()
	require.Eventually(t, func() bool { return fake.SendPacketIn(openflow.ServiceRejectController, p) == 1 }, 10*time.Second, time.Millisecond)
}

func answers(fake *of.Fake) map[uint32]int {
	counts := map[uint32]int{}
	for _, p := range fake.PacketOuts() {
		counts[p.Actions[0].(of.Output).Port]++
	}
	return counts
}

func TestResponder(t *testing.T) {
	fake, _ := running(t)
	syn := segment(t, client4, service4, func(s *layers.TCP) { s.SYN = true }, 0)
	for _, ignored := range []of.PacketIn{
		fromPort(podPort, 1, syn),
		fromPort(tunnelPort, openflow.ServiceRejectCategory, syn),
		{Data: syn, UserData: []byte{openflow.ServiceRejectCategory}},
		fromPort(podPort, openflow.ServiceRejectCategory, syn[:30]),
	} {
		offer(t, fake, ignored)
	}
	offer(t, fake, fromPort(podPort, openflow.ServiceRejectCategory, syn))
	require.Eventually(t, func() bool { return len(fake.PacketOuts()) > 0 }, 10*time.Second, time.Millisecond)
	out := fake.PacketOuts()
	require.Len(t, out, 1)
	require.Equal(t, []of.Action{of.Output{Port: podPort}}, out[0].Actions)
	require.Zero(t, out[0].InPort)
	require.True(t, decode(t, out[0].Data, client4, service4).TCP.RST)
}

// A Pod that floods the agent gets a limited number of answers, and takes none from another one.
func TestFlood(t *testing.T) {
	fake, clock := running(t)
	syn := segment(t, client4, service4, func(s *layers.TCP) { s.SYN = true }, 0)
	marker := uint32(1000)
	// The marker comes last, from a port of its own, so all packets before it have been handled when it is answered. The queue has room
	// for as many as are sent at once.
	flood := func(n int) {
		t.Helper()
		for range n / 50 {
			for range 50 {
				offer(t, fake, fromPort(podPort, openflow.ServiceRejectCategory, syn))
			}
			marker++
			offer(t, fake, fromPort(marker, openflow.ServiceRejectCategory, syn))
			require.Eventually(t, func() bool { return answers(fake)[marker] == 1 }, 10*time.Second, time.Millisecond)
		}
	}
	flood(share.Burst + 50)
	require.Equal(t, share.Burst, answers(fake)[podPort])
	offer(t, fake, fromPort(otherPort, openflow.ServiceRejectCategory, syn))
	require.Eventually(t, func() bool { return answers(fake)[otherPort] == 1 }, 10*time.Second, time.Millisecond)

	clock.SetTime(clock.Now().Add(100 * time.Millisecond))
	flood(50)
	require.Equal(t, share.Burst+share.PerSecond/10, answers(fake)[podPort])
}

func TestRunEndsWithTheSwitch(t *testing.T) {
	fake := of.NewFake()
	require.ErrorContains(t, NewResponder(fake, tunnelPort).Run(t.Context()), "receive packets to Services without Endpoints")
	_, err := fake.Connect(t.Context())
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- NewResponder(fake, tunnelPort).Run(t.Context()) }()
	offer(t, fake, of.PacketIn{})
	require.NoError(t, fake.Close())
	require.ErrorContains(t, <-done, "was closed")
}
