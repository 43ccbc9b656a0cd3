// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package auditlog

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

const podPort = 11

// interfaces has the Pod shop/web at its port.
func interfaces() interfacestore.InterfaceStore {
	store := interfacestore.NewInterfaceStore()
	store.AddInterface(&interfacestore.InterfaceConfig{
		Type: interfacestore.ContainerInterface, InterfaceName: "web-1", OVSPortConfig: &interfacestore.OVSPortConfig{OFPort: podPort},
		ContainerInterfaceConfig: &interfacestore.ContainerInterfaceConfig{PodNamespace: "shop", PodName: "web"},
	})
	store.AddInterface(&interfacestore.InterfaceConfig{
		Type: interfacestore.GatewayInterface, InterfaceName: "antrea-gw0", OVSPortConfig: &interfacestore.OVSPortConfig{OFPort: 2},
	})
	return store
}

// decisions returns what reads packets of the flows of Kubernetes policies.
func decisions(t *testing.T) Decisions {
	t.Helper()
	c := openflow.NewClient(of.NewFake(), func(map[uint8]string) error { return nil }, openflow.Features{})
	_, err := c.Initialize(t.Context(), openflow.RoundInfo{RoundNum: 1}, &config.NodeConfig{
		Name: "node-a", OVSBridge: "br-int", TunnelOFPort: config.TunnelOFPort, PodIPv4CIDR: netip.MustParsePrefix("10.10.0.0/24"),
		Gateway: config.GatewayConfig{Name: "antrea-gw0", MAC: net.HardwareAddr{10, 0, 0, 0, 0, 1}, OFPort: config.GatewayOFPort, IPv4: netip.MustParseAddr("10.10.0.1")},
	}, &config.NetworkConfig{TrafficEncapMode: config.TrafficEncapModeEncap})
	require.NoError(t, err)
	return c
}

// leaving is a datagram from 10.10.0.11:8080 to 10.10.1.12:53, which has arrived at the port.
func leaving(t *testing.T, port uint32, userData string) of.PacketIn {
	t.Helper()
	frame, err := hex.DecodeString("0a00000000010a00000000110800" + "4500001c12344000401100000a0a000b0a0a010c" + "1f90003500080000")
	require.NoError(t, err)
	return of.PacketIn{Data: frame, UserData: []byte(userData), Metadata: []of.Match{{Field: of.FieldInPort, Value: binary.BigEndian.AppendUint32(nil, port)}}}
}

func TestLogger(t *testing.T) {
	const (
		allowed, dropped = "\x01\x02K8sNetworkPolicy:shop/web", "\x01\x02"
		packet           = " 10.10.0.11 8080 10.10.1.12 53 UDP 28 <nil>"
		allowedLine      = "EgressRule K8sNetworkPolicy:shop/web <nil> Egress Allow 190 shop/web" + packet
		droppedLine      = "EgressDefaultRule K8sNetworkPolicy <nil> Egress Drop <nil> "
	)
	fake, directory := of.NewFake(), t.TempDir()
	_, err := fake.Connect(t.Context())
	require.NoError(t, err)
	begin := time.Date(2026, 11, 25, 10, 0, 0, 123456000, time.UTC)
	clock := clocktesting.NewFakeClock(begin)
	l := NewLogger(fake, decisions(t), interfaces(), directory, Rotation{MaxSize: 1})
	l.clock = clock
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	logged := func() []string {
		content, err := os.ReadFile(filepath.Join(directory, FileName))
		if err != nil {
			require.ErrorIs(t, err, os.ErrNotExist)
		}
		return strings.Split(strings.TrimSuffix(string(content), "\n"), "\n")
	}
	eventually := func(want ...string) {
		t.Helper()
		require.EventuallyWithT(t, func(c *assert.CollectT) { require.Equal(c, want, logged()) }, 10*time.Second, time.Millisecond)
	}
	offer := func(p of.PacketIn) {
		t.Helper()
		require.Eventually(t, func() bool { return fake.SendPacketIn(openflow.PolicyLogController, p) == 1 }, 10*time.Second, time.Millisecond)
	}

	cut := leaving(t, podPort, allowed)
	cut.Data = cut.Data[:30]
	for _, ignored := range []of.PacketIn{leaving(t, podPort, "\x04"), cut} {
		offer(ignored)
	}
	for _, p := range []string{dropped, dropped, allowed} {
		offer(leaving(t, podPort, p))
	}
	offer(leaving(t, 2, dropped))
	offer(leaving(t, 99, allowed))
	first, unknown := "2026/11/25 10:00:00.123456 "+allowedLine, "2026/11/25 10:00:00.123456 "+strings.Replace(allowedLine, "Allow 190 shop/web", "Allow 190 <nil>", 1)
	eventually(first, unknown)
	clock.Step(1500 * time.Millisecond)
	second := []string{"2026/11/25 10:00:01.623456 " + droppedLine + "shop/web" + packet + " [2 packets in 1.5s]", "2026/11/25 10:00:01.623456 " + droppedLine + "<nil>" + packet}
	eventually(first, unknown, second[0], second[1])

	// Lines that wait are written at the end.
	offer(leaving(t, podPort, dropped))
	offer(leaving(t, podPort, allowed))
	again := "2026/11/25 10:00:01.623456 " + allowedLine
	eventually(first, unknown, second[0], second[1], again)
	cancel()
	require.NoError(t, <-done)
	require.Equal(t, []string{first, unknown, second[0], second[1], again, "2026/11/25 10:00:01.623456 " + droppedLine + "shop/web" + packet}, logged())
}

// faulty panics whenever it is asked for a Pod, and counts that.
type faulty struct{ asked atomic.Int32 }

func (f *faulty) GetInterfaceByOFPort(uint32) (*interfacestore.InterfaceConfig, bool) {
	f.asked.Add(1)
	panic("fault")
}

// TestAPacketThatPanics: anyone can send packets, so a fault that a packet finds must end neither the agent nor the
// log.
func TestAPacketThatPanics(t *testing.T) {
	fake := of.NewFake()
	_, err := fake.Connect(t.Context())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	faults := &faulty{}
	go func() { done <- NewLogger(fake, decisions(t), faults, t.TempDir(), Rotation{MaxSize: 1}).Run(ctx) }()
	for range 3 {
		require.Eventually(t, func() bool {
			return fake.SendPacketIn(openflow.PolicyLogController, leaving(t, podPort, "\x01\x02")) == 1
		}, 10*time.Second, time.Millisecond)
	}
	require.Eventually(t, func() bool { return faults.asked.Load() == 3 }, 10*time.Second, time.Millisecond)
	cancel()
	require.NoError(t, <-done)
}

func TestLoggerWithoutSwitch(t *testing.T) {
	fake := of.NewFake()
	l := NewLogger(fake, decisions(t), interfaces(), t.TempDir(), Rotation{})
	require.ErrorContains(t, l.Run(t.Context()), "receive packets for the audit log")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, l.Run(ctx))
}
