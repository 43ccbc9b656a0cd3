// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package servicereject

import (
	"context"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/gopacket/gopacket/layers"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
	"github.com/antrea-oncache/antrea/pkg/ovs/ovstest"
)

var node = &config.NodeConfig{
	Name: "node-a", OVSBridge: "br-int", TunnelOFPort: config.TunnelOFPort,
	PodIPv4CIDR: netip.MustParsePrefix("10.10.0.0/24"), PodIPv6CIDR: netip.MustParsePrefix("fd00:10:0:a::/64"),
	Gateway: config.GatewayConfig{Name: "antrea-gw0", MAC: gatewayMAC, OFPort: config.GatewayOFPort,
		IPv4: netip.MustParseAddr("10.10.0.1"), IPv6: netip.MustParseAddr("fd00:10:0:a::1")},
}

// Packets to Services without Endpoints are answered at once by the pipeline and the agent together, also after a restart of the switch,
// and the meter of a real datapath limits what arrives.
func TestRejectOnOVS(t *testing.T) {
	o := ovstest.Start(t)
	sw := of.NewSwitch(o.AddBridge("br-int"))
	for name, port := range map[string]uint32{"antrea-tun0": config.TunnelOFPort, "antrea-gw0": config.GatewayOFPort, "pod-a": podPort} {
		o.Vsctl("add-port", "br-int", name, "--", "set", "interface", name, "type=dummy", fmt.Sprintf("ofport_request=%d", port))
	}
	flows := openflow.NewClient(sw, func(map[uint8]string) error { return nil }, openflow.Features{AntreaProxy: true, PacketInRate: 1000})
	reconnected, err := flows.Initialize(t.Context(), openflow.RoundInfo{RoundNum: 1}, node, &config.NetworkConfig{TrafficEncapMode: config.TrafficEncapModeEncap})
	require.NoError(t, err)
	defer func() { require.NoError(t, flows.Disconnect()) }()
	require.NoError(t, flows.InstallPodFlows(t.Context(), "pod-a", []netip.Addr{client4, client6}, podMAC, podPort))
	for _, service := range []netip.Addr{service4, service6} {
		for _, protocol := range []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP} {
			require.NoError(t, flows.InstallService(openflow.ServicePort{
				Name: fmt.Sprint(service, protocol), Protocol: protocol, Frontends: []openflow.Frontend{{Address: netip.AddrPortFrom(service, servicePort)}}}))
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- NewResponder(sw, node.TunnelOFPort).Run(ctx) }()
	defer func() {
		cancel()
		require.NoError(t, <-done)
	}()
	capture := o.Capture("pod-a")
	// rejected sends the frame until it is answered: the Responder may not listen yet.
	rejected := func(frame []byte) []byte {
		for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
			o.Inject("pod-a", frame)
			for again := time.Now().Add(time.Second); time.Now().Before(again); time.Sleep(time.Millisecond) {
				if capture.Pending() {
					return capture.Next()
				}
			}
		}
		t.Fatal("no answer")
		return nil
	}
	versions(t, func(t *testing.T, client, service netip.Addr) {
		tcp := decode(t, rejected(segment(t, client, service, func(s *layers.TCP) { s.SYN = true }, 0)), client, service).TCP
		require.True(t, tcp.RST && tcp.ACK)
		require.Equal(t, uint32(1001), tcp.Ack)
		sent := datagram(t, client, service, 20)
		require.Equal(t, sent[14:], decode(t, rejected(sent), client, service).quoted)
	})
	meters, err := sw.DumpMeters(t.Context())
	require.NoError(t, err)
	require.Contains(t, meters, of.MeterEntry{ID: 259, Rate: 1000, Burst: 2000})
	stats, err := sw.DumpMeterStats(t.Context())
	require.NoError(t, err)
	seen := map[uint32]uint64{}
	for _, s := range stats {
		seen[s.ID] = s.In.Packets
	}
	require.GreaterOrEqual(t, seen[259], uint64(4), "the meter sees these packets")

	o.KillVswitchd()
	o.StartVswitchd()
	<-reconnected
	require.NoError(t, flows.ReplayFlows(func() {}))
	require.True(t, decode(t, rejected(segment(t, client4, service4, func(s *layers.TCP) { s.SYN = true }, 0)), client4, service4).TCP.RST)
}
