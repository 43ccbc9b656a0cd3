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
	podIP6, serverIP6  = netip.MustParseAddr("fd00:10:0:a::11"), netip.MustParseAddr("fd00:10:0:b::20")
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

// onOVS is a Controller whose switch is Open vSwitch, with one Pod under a rule.
type onOVS struct {
	*Controller
	*ovstest.OVS
	flows       openflow.Client
	reconnected <-chan struct{}
}

func startOnOVS(t *testing.T) *onOVS {
	t.Helper()
	o := ovstest.Start(t)
	sw := of.NewSwitch(o.AddBridge("br-int"))
	for name, port := range map[string]uint32{"antrea-tun0": config.TunnelOFPort, "antrea-gw0": config.GatewayOFPort, "pod-a": podPort} {
		o.Vsctl("add-port", "br-int", name, "--", "set", "interface", name, "type=dummy", fmt.Sprintf("ofport_request=%d", port))
	}
	flows := openflow.NewClient(sw, func(map[uint8]string) error { return nil }, openflow.Features{AntreaProxy: true, AntreaPolicy: true, ONCache: true, PacketInRate: 5000})
	node := &config.NodeConfig{Name: "node-a", OVSBridge: "br-int", TunnelOFPort: config.TunnelOFPort,
		PodIPv4CIDR: netip.MustParsePrefix("10.10.0.0/24"), PodIPv6CIDR: netip.MustParsePrefix("fd00:10:0:a::/64"),
		Gateway: config.GatewayConfig{Name: "antrea-gw0", MAC: gatewayMAC, OFPort: config.GatewayOFPort, IPv4: netip.MustParseAddr("10.10.0.1"), IPv6: netip.MustParseAddr("fd00:10:0:a::1")}}
	reconnected, err := flows.Initialize(t.Context(), openflow.RoundInfo{RoundNum: 1}, node, &config.NetworkConfig{TrafficEncapMode: config.TrafficEncapModeEncap})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, flows.Disconnect()) })
	require.NoError(t, flows.InstallPodFlows(t.Context(), "pod-a", []netip.Addr{podIP, podIP6}, podMAC, podPort))
	c := New(Config{Switch: sw, Flows: flows, MTU: 1450})
	c.SetRealizer(&installer{flows, c})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
	require.NoError(t, c.Declare(map[string]Use{"p": {Selectors: []Selector{"*.test"}, Pods: []policy.Pod{{InterfaceName: "pod-a", OFPort: podPort}}}}))
	return &onOVS{c, o, flows, reconnected}
}

// When an answer reaches the Pod, the switch has the rules for its addresses, also after a restart of the switch.
func TestAnswersOnOVS(t *testing.T) {
	o := startOnOVS(t)
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
	<-o.reconnected
	require.NoError(t, o.flows.ReplayFlows(func() {}))
	for n := range 3 {
		resolve(100 + n)
	}
	require.Equal(t, 23, o.Addresses("*.test").Len())
}

// An answer that is larger than the MTU of the Pod's interface, as conntrack of the kernel puts it together, reaches the Pod in fragments, behind
// its rules. Ports of type dummy have an MTU of 1500, and drop what is larger.
func TestLargeAnswersOnOVS(t *testing.T) {
	o := startOnOVS(t)
	capture := o.Capture("pod-a")
	for i, ends := range [][2]netip.Addr{{podIP, serverIP}, {podIP6, serverIP6}} {
		var records []record
		for n := range 200 {
			records = append(records, record{fmt.Sprintf("10.20.%d.%d", i+1, n), 60})
		}
		answer := message(t, fmt.Sprintf("n%d.test.", i), dnsmessage.TypeA, records...)
		require.Greater(t, len(answer), 3*1000)
		var whole []byte
		for deadline := time.Now().Add(20 * time.Second); whole == nil; {
			require.True(t, time.Now().Before(deadline), "no answer")
			o.Inject("pod-a", wired(t, podMAC, gatewayMAC, ends[0], ends[1], 4000, 53, []byte("?")))
			o.Inject("antrea-tun0", wired(t, gatewayMAC, config.GlobalVirtualMAC, ends[1], ends[0], 53, 4000, answer))
			for again := time.Now().Add(time.Second); whole == nil && time.Now().Before(again); time.Sleep(time.Millisecond) {
				if capture.Pending() {
					require.Contains(t, strings.Join(o.DumpFlows("br-int"), "\n"), "nw_dst="+records[199].address, "the answer has overtaken its rule")
					whole = joined(t, capture)
				}
			}
		}
		require.Equal(t, answer, whole[8:], "behind the UDP header")
	}
}

// joined puts the fragments of one packet together.
func joined(t *testing.T, capture *ovstest.Capture) (transport []byte) {
	t.Helper()
	for n := 1; ; n++ {
		frame := capture.Next()
		require.LessOrEqual(t, len(frame), 14+1450)
		packet := gopacket.NewPacket(frame, layers.LayerTypeEthernet, gopacket.Default)
		require.Equal(t, podMAC, packet.Layer(layers.LayerTypeEthernet).(*layers.Ethernet).DstMAC)
		var offset int
		var more bool
		var part []byte
		if ip, is := packet.Layer(layers.LayerTypeIPv4).(*layers.IPv4); is {
			offset, more, part = int(ip.FragOffset)*8, ip.Flags&layers.IPv4MoreFragments != 0, ip.Payload
		} else {
			fragment := packet.Layer(layers.LayerTypeIPv6Fragment).(*layers.IPv6Fragment)
			offset, more, part = int(fragment.FragmentOffset)*8, fragment.MoreFragments, fragment.Payload
		}
		require.Equal(t, len(transport), offset, "fragment %d", n)
		if transport = append(transport, part...); !more {
			require.Greater(t, n, 1)
			return transport
		}
	}
}

func wired(t *testing.T, src, dst net.HardwareAddr, from, to netip.Addr, sport, dport uint16, data []byte) []byte {
	t.Helper()
	udp := &layers.UDP{SrcPort: layers.UDPPort(sport), DstPort: layers.UDPPort(dport)}
	etherType := layers.EthernetTypeIPv4
	var ip interface {
		gopacket.SerializableLayer
		gopacket.NetworkLayer
	} = &layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolUDP, SrcIP: from.AsSlice(), DstIP: to.AsSlice()}
	if from.Is6() {
		etherType, ip = layers.EthernetTypeIPv6, &layers.IPv6{Version: 6, HopLimit: 64, NextHeader: layers.IPProtocolUDP, SrcIP: from.AsSlice(), DstIP: to.AsSlice()}
	}
	require.NoError(t, udp.SetNetworkLayerForChecksum(ip))
	b := gopacket.NewSerializeBuffer()
	require.NoError(t, gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true},
		&layers.Ethernet{SrcMAC: src, DstMAC: dst, EthernetType: etherType}, ip, udp, gopacket.Payload(data)))
	return b.Bytes()
}
