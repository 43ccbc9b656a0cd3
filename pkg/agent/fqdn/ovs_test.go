// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package fqdn

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/dns/dnsmessage"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
	"github.com/antrea-oncache/antrea/pkg/ovs/ovstest"
)

var (
	podMAC, gatewayMAC = net.HardwareAddr{0x0a, 0, 0, 0, 0, 0x11}, net.HardwareAddr{0x0a, 0, 0, 0, 0, 1}
	podIP, serverIP    = netip.MustParseAddr("10.10.0.11"), netip.MustParseAddr("10.10.1.20")
)

// installer makes one rule with the addresses of the pattern, on the switch.
type installer struct {
	flows openflow.Client
	names Names
}

func (i *installer) RealizeNames(selectors []Selector, done func(map[Selector]error)) {
	go func() {
		rule := &policy.Rule{FlowID: 100, Direction: policy.Egress, Effect: policy.Effect{Order: policy.Order{Stage: policy.StageKubernetes}, Action: policy.Allow, Isolates: true},
			AppliedTo: []policy.Pod{{InterfaceName: "pod-a", OFPort: podPort, IPs: []netip.Addr{podIP}}},
			Peers:     []netip.Prefix{netip.PrefixFrom(serverIP, 32)}, PeerAddresses: []policy.AddressSet{i.names.Addresses("*.test")}}
		failed := map[Selector]error{}
		if err := i.flows.UpdatePolicyRules([]*policy.Rule{rule}, nil); err != nil {
			for _, s := range selectors {
				failed[s] = err
			}
		}
		done(failed)
	}()
}

// When an answer reaches the Pod, the switch has the rules for its addresses, also after a restart of the switch.
func TestAnswersOnOVS(t *testing.T) {
	o := ovstest.Start(t)
	sw := of.NewSwitch(o.AddBridge("br-int"))
	for name, port := range map[string]uint32{"antrea-tun0": config.TunnelOFPort, "antrea-gw0": config.GatewayOFPort, "pod-a": podPort} {
		o.Vsctl("add-port", "br-int", name, "--", "set", "interface", name, "type=dummy", fmt.Sprintf("ofport_request=%d", port))
	}
	flows := openflow.NewClient(sw, func(map[uint8]string) error { return nil }, openflow.Features{AntreaProxy: true, AntreaPolicy: true, ONCache: true, PacketInRate: 5000})
	node := &config.NodeConfig{Name: "node-a", OVSBridge: "br-int", TunnelOFPort: config.TunnelOFPort, PodIPv4CIDR: netip.MustParsePrefix("10.10.0.0/24"),
		Gateway: config.GatewayConfig{Name: "antrea-gw0", MAC: gatewayMAC, OFPort: config.GatewayOFPort, IPv4: netip.MustParseAddr("10.10.0.1")}}
	reconnected, err := flows.Initialize(t.Context(), openflow.RoundInfo{RoundNum: 1}, node, &config.NetworkConfig{TrafficEncapMode: config.TrafficEncapModeEncap})
	require.NoError(t, err)
	defer func() { require.NoError(t, flows.Disconnect()) }()
	require.NoError(t, flows.InstallPodFlows(t.Context(), "pod-a", []netip.Addr{podIP}, podMAC, podPort))
	c := New(Config{Switch: sw, Flows: flows})
	c.SetRealizer(&installer{flows, c})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	defer func() {
		cancel()
		require.NoError(t, <-done)
	}()
	require.NoError(t, c.Declare(map[string]Use{"p": {Selectors: []Selector{"*.test"}, Pods: []policy.Pod{{InterfaceName: "pod-a", OFPort: podPort}}}}))
	capture := o.Capture("pod-a")
	// resolve asks again until an answer arrives: Run may not listen yet.
	resolve := func(n int) {
		t.Helper()
		name, address := fmt.Sprintf("n%d.test.", n), fmt.Sprintf("10.20.0.%d", n)
		answer := message(t, name, dnsmessage.TypeA, record{address, 60})
		for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
			o.Inject("pod-a", wired(t, podMAC, gatewayMAC, podIP, serverIP, 4000, 53, []byte("?")))
			o.Inject("antrea-tun0", wired(t, gatewayMAC, config.GlobalVirtualMAC, serverIP, podIP, 53, 4000, answer))
			for again := time.Now().Add(time.Second); time.Now().Before(again); time.Sleep(time.Millisecond) {
				if capture.Pending() {
					got := gopacket.NewPacket(capture.Next(), layers.LayerTypeEthernet, gopacket.Default)
					require.Equal(t, answer, got.Layer(layers.LayerTypeUDP).LayerPayload())
					require.Contains(t, strings.Join(o.DumpFlows("br-int"), "\n"), "nw_dst="+address, "the answer has overtaken its rule")
					return
				}
			}
		}
		require.Fail(t, "no answer")
	}
	for n := range 20 {
		resolve(n)
	}
	o.KillVswitchd()
	o.StartVswitchd()
	<-reconnected
	require.NoError(t, flows.ReplayFlows(func() {}))
	for n := range 3 {
		resolve(100 + n)
	}
	require.Equal(t, 23, c.Addresses("*.test").Len())
}

func wired(t *testing.T, src, dst net.HardwareAddr, from, to netip.Addr, sport, dport uint16, data []byte) []byte {
	t.Helper()
	ip := &layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolUDP, SrcIP: from.AsSlice(), DstIP: to.AsSlice()}
	udp := &layers.UDP{SrcPort: layers.UDPPort(sport), DstPort: layers.UDPPort(dport)}
	require.NoError(t, udp.SetNetworkLayerForChecksum(ip))
	b := gopacket.NewSerializeBuffer()
	require.NoError(t, gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true},
		&layers.Ethernet{SrcMAC: src, DstMAC: dst, EthernetType: layers.EthernetTypeIPv4}, ip, udp, gopacket.Payload(data)))
	return b.Bytes()
}
