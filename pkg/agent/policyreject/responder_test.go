// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policyreject

import (
	"context"
	"encoding/binary"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/agent/ippacket"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	"github.com/antrea-oncache/antrea/pkg/agent/share"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

var (
	podMAC, gatewayMAC = net.HardwareAddr{10, 0, 0, 0, 0, 0x11}, net.HardwareAddr{10, 0, 0, 0, 0, 1}
	podIP, remoteIP    = netip.MustParseAddr("10.10.0.11"), netip.MustParseAddr("10.10.1.20")
)

const podPort, otherPort, gatewayPort, tunnelPort = 11, 12, 2, 1

// recorder is a pipeline whose packets say in their user data what was decided, and that keeps answers.
type recorder struct {
	mu   sync.Mutex
	sent []openflow.RejectPath
}

func (*recorder) ParsePolicyPacket(p *of.PacketIn) (openflow.PolicyPacket, error) {
	parsed := openflow.PolicyPacket{Operations: openflow.OperationReject, Action: policy.Reject, InPort: p.InPort(), Frame: p.Data}
	switch string(p.UserData) {
	case "generated":
		parsed.Generated = true
	case "dropped":
		parsed.Action = policy.Drop
	case "logged":
		parsed.Operations = openflow.OperationLog
	case "panic":
		panic("fault")
	case "unknown":
		return parsed, context.Canceled
	}
	return parsed, nil
}

func (r *recorder) SendPolicyReject(_ context.Context, path openflow.RejectPath, _ []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent = append(r.sent, path)
	return nil
}

// answers returns the number of answers to each port.
func (r *recorder) answers() map[uint32]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	counts := map[uint32]int{}
	for _, path := range r.sent {
		counts[path.OutPort]++
	}
	return counts
}

func newNode() Node {
	store := interfacestore.NewInterfaceStore()
	for name, c := range map[string]*interfacestore.InterfaceConfig{
		"a": {IPs: []netip.Addr{podIP}, MAC: podMAC, OVSPortConfig: &interfacestore.OVSPortConfig{OFPort: podPort}},
		"b": {IPs: []netip.Addr{podIP.Next()}, MAC: podMAC, OVSPortConfig: &interfacestore.OVSPortConfig{OFPort: otherPort}},
	} {
		c.Type, c.InterfaceName, c.ContainerInterfaceConfig = interfacestore.ContainerInterface, name, &interfacestore.ContainerInterfaceConfig{PodNamespace: "ns", PodName: name}
		store.AddInterface(c)
	}
	return Node{Interfaces: store, Gateway: config.GatewayConfig{MAC: gatewayMAC, OFPort: gatewayPort}, TunnelPort: tunnelPort}
}

// running starts a Responder with a clock that the test advances.
func running(t *testing.T) (*of.Fake, *recorder, *clocktesting.FakePassiveClock) {
	t.Helper()
	fake, clock, pipeline := of.NewFake(), clocktesting.NewFakePassiveClock(time.Unix(1000, 0)), &recorder{}
	_, err := fake.Connect(t.Context())
	require.NoError(t, err)
	r := NewResponder(fake, pipeline, newNode())
	r.limiter = share.New[payer](clock)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
	return fake, pipeline, clock
}

func rejected(t *testing.T, port uint32, from, to netip.Addr, userData string) of.PacketIn {
	t.Helper()
	frame, err := ippacket.Build(ippacket.Outline{SrcMAC: podMAC, DstMAC: gatewayMAC, Src: from, Dst: to, TTL: 64, Protocol: ippacket.TCP, SrcPort: 1, DstPort: 2, TCPFlags: 2})
	require.NoError(t, err)
	return of.PacketIn{Data: frame, UserData: []byte(userData), Metadata: []of.Match{{Field: of.FieldInPort, Value: binary.BigEndian.AppendUint32(nil, port)}}}
}

// offer gives the packet to the Responder once that listens and has room.
func offer(t *testing.T, fake *of.Fake, p of.PacketIn) {
	t.Helper()
	require.Eventually(t, func() bool { return fake.SendPacketIn(openflow.PolicyLogController, p) == 1 }, 10*time.Second, time.Millisecond)
}

// Only rejected packets of others are answered.
func TestResponder(t *testing.T) {
	fake, pipeline, _ := running(t)
	cut := rejected(t, podPort, podIP, remoteIP, "")
	cut.Data = cut.Data[:40]
	foreign := rejected(t, tunnelPort, remoteIP, remoteIP.Next(), "")
	for _, ignored := range []string{"generated", "dropped", "logged", "unknown", "panic"} {
		offer(t, fake, rejected(t, podPort, podIP, remoteIP, ignored))
	}
	offer(t, fake, cut)
	offer(t, fake, foreign)
	offer(t, fake, rejected(t, podPort, podIP, remoteIP, ""))
	require.Eventually(t, func() bool { return len(pipeline.answers()) > 0 }, 10*time.Second, time.Millisecond)
	require.Equal(t, []openflow.RejectPath{{Entry: openflow.RejectDirectly, InPort: gatewayPort, OutPort: podPort}}, pipeline.sent)
}

// A Pod whose packets policies reject by the thousand gets a limited number of answers, and takes none from another one. Pods of other Nodes have
// shares of their own, although they use one port.
func TestFlood(t *testing.T) {
	fake, pipeline, clock := running(t)
	answered := func(port uint32, from, to netip.Addr, n int, key uint32) {
		t.Helper()
		offer(t, fake, rejected(t, port, from, to, ""))
		require.Eventually(t, func() bool { return pipeline.answers()[key] == n }, 10*time.Second, time.Millisecond)
	}
	marker := 0
	flood := func(port uint32, from, to netip.Addr) {
		t.Helper()
		for range 10 {
			for range 50 {
				offer(t, fake, rejected(t, port, from, to, ""))
			}
			clock.SetTime(clock.Now().Add(20 * time.Millisecond))
			marker++
			answered(otherPort, podIP.Next(), remoteIP, marker, otherPort)
		}
	}
	flood(podPort, podIP, remoteIP)
	require.LessOrEqual(t, pipeline.answers()[podPort], share.Burst+share.PerSecond/5)
	require.GreaterOrEqual(t, pipeline.answers()[podPort], share.Burst)

	before := pipeline.answers()[0]
	flood(tunnelPort, remoteIP, podIP)
	require.LessOrEqual(t, pipeline.answers()[0]-before, share.Burst+share.PerSecond/5)
	before = pipeline.answers()[0]
	answered(tunnelPort, remoteIP.Next(), podIP, before+1, 0)
}

func TestRunEndsWithTheSwitch(t *testing.T) {
	fake := of.NewFake()
	require.ErrorContains(t, NewResponder(fake, &recorder{}, newNode()).Run(t.Context()), "receive packets that policies reject")
	_, err := fake.Connect(t.Context())
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- NewResponder(fake, &recorder{}, newNode()).Run(t.Context()) }()
	offer(t, fake, of.PacketIn{})
	require.NoError(t, fake.Close())
	require.ErrorContains(t, <-done, "was closed")
}
