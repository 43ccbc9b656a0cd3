// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
	"github.com/antrea-oncache/antrea/pkg/ovs/ovsctl"
	"github.com/antrea-oncache/antrea/pkg/ovs/ovstest"
)

// wire sends real packets through a bridge, whose datapath tracks and translates connections.
type wire struct {
	*oftest.Bridge
	links  map[uint32]link
	kernel bool
}

var portNames = map[uint32]string{oftest.TunnelPort: "antrea-tun0", oftest.GWPort: "antrea-gw0", oftest.PodAPort: "pod-a", oftest.PodBPort: "pod-b"}

// newWire makes a bridge with two Pods and a remote Node. With the kernel's datapath, the calling thread is in a network namespace of
// its own. The tunnel is an ordinary port.
func newWire(t *testing.T, kernel bool) *wire {
	t.Helper()
	return newWireOf(t, kernel, kernel, oftest.ProxyAllFeatures)
}

// newWireOf is newWire with a choice of the ports and the features: devices are of the kernel, in the namespace of the calling thread.
func newWireOf(t *testing.T, kernel, devices bool, features openflow.Features) *wire {
	t.Helper()
	return newWireOn(t, kernel, devices, features, oftest.DualStackNode)
}

// newWireOn is newWireOf with a choice of the Node.
func newWireOn(t *testing.T, kernel, devices bool, features openflow.Features, node *config.NodeConfig) *wire {
	t.Helper()
	w := newUnconnected(t, kernel, devices, features, node)
	w.connect()
	return w
}

// newUnconnected is newWireOf for any features and Node, without the flows of Pods and the remote Node.
func newUnconnected(t *testing.T, kernel, devices bool, features openflow.Features, node *config.NodeConfig) *wire {
	t.Helper()
	w := &wire{links: map[uint32]link{}, kernel: kernel}
	var o *ovstest.OVS
	if devices {
		o = ovstest.Start(t, ovstest.InNetNS("/proc/thread-self/ns/net"))
	} else {
		o = ovstest.Start(t)
	}
	socket := o.AddBridge(oftest.BridgeName)
	// Each of the rounds that settle waits for takes this long, in ms, the shortest time that Open vSwitch accepts.
	o.Vsctl("set", "Open_vSwitch", ".", "other_config:max-revalidator=100")
	if kernel {
		o.Vsctl("set", "bridge", oftest.BridgeName, "datapath_type=system")
	}
	for port, name := range portNames {
		if devices {
			w.links[port] = newVethLink(t, o, name, port)
		} else {
			w.links[port] = newDummyLink(o, name, port)
		}
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("Connections:\n%s\nFlows of the datapath:\n%s", o.Appctl("dpctl/dump-conntrack"), o.Appctl("dpctl/dump-flows"))
		}
	})
	w.Bridge = &oftest.Bridge{OVS: o, T: t, C: oftest.NewBridgeClient(t, socket, features, node)}
	return w
}

// connect installs the flows of the Pods and the remote Node.
func (w *wire) connect() {
	w.T.Helper()
	for name, pod := range map[string]struct {
		ips  []netip.Addr
		mac  net.HardwareAddr
		port uint32
	}{"pod-a": {[]netip.Addr{oftest.PodAIP, oftest.PodA6IP}, oftest.PodAMAC, oftest.PodAPort}, "pod-b": {[]netip.Addr{oftest.PodBIP, oftest.PodB6IP}, oftest.PodBMAC, oftest.PodBPort}} {
		require.NoError(w.T, w.C.InstallPodFlows(w.T.Context(), name, pod.ips, pod.mac, pod.port))
	}
	require.NoError(w.T, w.C.InstallNodeFlows("node-b", map[netip.Prefix]openflow.Peer{oftest.RemoteCIDR: oftest.PeerAt(oftest.RemoteGW, oftest.RemotePeer), oftest.RemoteCIDR6: oftest.PeerAt(oftest.RemoteGW6, oftest.RemotePeer6)}))
}

// segment is a packet on the wire. A packet without flags is a UDP datagram.
type segment struct {
	src, dst string
	// flags are letters of SYN, ACK, FIN and RST; data segments of an open connection have A.
	flags string
}

// sequence numbers of client and server.
const clientSeq, serverSeq = 1000, 2000

// install changes a Service, and waits until the datapath follows.
func (w *wire) install(p openflow.ServicePort) {
	w.T.Helper()
	require.NoError(w.T, w.C.InstallService(p))
	w.settle()
}

// settleTimeout bounds a wait for the revalidators. They never answer once the bridge is gone.
const settleTimeout = 20 * time.Second

// await waits until condition is true. It runs in the test's goroutine: its functions may end the test, which the condition of require.Eventually may not.
func await(t testing.TB, condition func() bool, message ...any) {
	t.Helper()
	for deadline := time.Now().Add(settleTimeout); !condition(); time.Sleep(time.Millisecond) {
		require.True(t, time.Now().Before(deadline), message...)
	}
}

// settle waits until the datapath has no flows of before the last change.
func (w *wire) settle() {
	w.T.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.T.Context()), settleTimeout) // also in a Cleanup
	defer cancel()
	require.NoError(w.T, ovsctl.NewVswitchd(w.RunDir).WaitRevalidation(ctx))
}

// macs are the Ethernet addresses of packets that arrive at a port.
var macs = map[uint32][2]net.HardwareAddr{
	oftest.TunnelPort: {oftest.MustMAC("0a:00:00:00:01:01"), config.GlobalVirtualMAC},
	oftest.GWPort:     {oftest.GWMAC, config.GlobalVirtualMAC},
	oftest.PodAPort:   {oftest.PodAMAC, oftest.GWMAC},
	oftest.PodBPort:   {oftest.PodBMAC, oftest.GWMAC},
}

// send lets the port receive the segment.
func (w *wire) send(port uint32, s segment) {
	w.T.Helper()
	network, transport := s.headers(w.T)
	w.inject(port, network, transport)
}

// inject lets the port receive a packet of the layers from the network on.
func (w *wire) inject(port uint32, network gopacket.NetworkLayer, rest ...gopacket.SerializableLayer) {
	w.T.Helper()
	eth := &layers.Ethernet{SrcMAC: macs[port][0], DstMAC: macs[port][1], EthernetType: layers.EthernetTypeIPv4}
	if network.LayerType() == layers.LayerTypeIPv6 {
		eth.EthernetType = layers.EthernetTypeIPv6
	}
	w.links[port].inject(serialize(w.T, append([]gopacket.SerializableLayer{eth, network.(gopacket.SerializableLayer)}, rest...)...))
}

func serialize(t testing.TB, all ...gopacket.SerializableLayer) []byte {
	t.Helper()
	buffer := gopacket.NewSerializeBuffer()
	require.NoError(t, gopacket.SerializeLayers(buffer, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, all...))
	return buffer.Bytes()
}

// networkHeader is an IP header without the fields that serialize computes.
func networkHeader(src, dst netip.Addr, protocol layers.IPProtocol) gopacket.NetworkLayer {
	if src.Is6() {
		return &layers.IPv6{Version: 6, HopLimit: 64, NextHeader: protocol, SrcIP: src.AsSlice(), DstIP: dst.AsSlice()}
	}
	return &layers.IPv4{Version: 4, TTL: 64, Protocol: protocol, SrcIP: src.AsSlice(), DstIP: dst.AsSlice()}
}

// headers returns the segment's headers. Sequence numbers fit a connection without data, opened by the sender of a SYN without ACK and
// answered by the sender of a SYN with ACK.
func (s segment) headers(t testing.TB) (gopacket.NetworkLayer, gopacket.SerializableLayer) {
	t.Helper()
	src, dst := netip.MustParseAddrPort(s.src), netip.MustParseAddrPort(s.dst)
	protocol, transport := layers.IPProtocolUDP, gopacket.SerializableLayer(&layers.UDP{SrcPort: layers.UDPPort(src.Port()), DstPort: layers.UDPPort(dst.Port())})
	if s.flags != "" {
		has := func(flag string) bool { return strings.Contains(s.flags, flag) }
		tcp := &layers.TCP{SrcPort: layers.TCPPort(src.Port()), DstPort: layers.TCPPort(dst.Port()), Window: 65000,
			SYN: has("S"), ACK: has("A"), FIN: has("F"), RST: has("R")}
		switch {
		case tcp.SYN && !tcp.ACK:
			tcp.Seq = clientSeq
		case tcp.SYN:
			tcp.Seq, tcp.Ack = serverSeq, clientSeq+1
		default:
			tcp.Seq, tcp.Ack = clientSeq+1, serverSeq+1
		}
		protocol, transport = layers.IPProtocolTCP, tcp
	}
	network := networkHeader(src.Addr(), dst.Addr(), protocol)
	require.NoError(t, transport.(interface {
		SetNetworkLayerForChecksum(gopacket.NetworkLayer) error
	}).SetNetworkLayerForChecksum(network))
	return network, transport
}

// received is a packet that a port has sent.
type received struct {
	segment
	ttl          uint8
	dlSrc, dlDst string
}

// next waits for the next packet that the port sends.
func (w *wire) next(port uint32) received {
	w.T.Helper()
	packet := gopacket.NewPacket(w.links[port].next(), layers.LayerTypeEthernet, gopacket.Default)
	eth := packet.Layer(layers.LayerTypeEthernet).(*layers.Ethernet)
	r := received{segment: segmentOf(w.T, packet), dlSrc: eth.SrcMAC.String(), dlDst: eth.DstMAC.String()}
	switch ip := packet.NetworkLayer().(type) {
	case *layers.IPv4:
		r.ttl = ip.TTL
	case *layers.IPv6:
		r.ttl = ip.HopLimit
	}
	return r
}

// segmentOf reads a packet of TCP or UDP.
func segmentOf(t testing.TB, packet gopacket.Packet) (s segment) {
	t.Helper()
	var sport, dport uint16
	switch transport := packet.TransportLayer().(type) {
	case *layers.TCP:
		sport, dport = uint16(transport.SrcPort), uint16(transport.DstPort)
		for flag, set := range map[string]bool{"S": transport.SYN, "A": transport.ACK, "F": transport.FIN, "R": transport.RST} {
			if set {
				s.flags += flag
			}
		}
		if s.flags == "AS" {
			s.flags = "SA"
		}
	case *layers.UDP:
		sport, dport = uint16(transport.SrcPort), uint16(transport.DstPort)
	default:
		require.Fail(t, "neither TCP nor UDP", packet.String())
	}
	address := func(e gopacket.Endpoint, port uint16) string {
		addr, _ := netip.AddrFromSlice(e.Raw())
		return netip.AddrPortFrom(addr, port).String()
	}
	flow := packet.NetworkLayer().NetworkFlow()
	s.src, s.dst = address(flow.Src(), sport), address(flow.Dst(), dport)
	return s
}

// pass sends the segment into a port, and requires that it leaves through another one as want.
func (w *wire) pass(from uint32, s segment, to uint32, want segment) received {
	w.T.Helper()
	w.send(from, s)
	got := w.next(to)
	require.Equal(w.T, want, got.segment, "%v from %s", s, portNames[from])
	return got
}

// swallow requires that a Pod's segment goes nowhere.
func (w *wire) swallow(from uint32, s segment) {
	w.T.Helper()
	w.drop(from, s)
	w.nothingElse(from)
}

// drop sends the segment into a port, and waits until a flow has dropped it. No other packet can stand for that: one that needs fewer upcalls
// overtakes it in the kernel's datapath, and the next packet would come before the connection of this one is known.
func (w *wire) drop(from uint32, s segment) {
	w.T.Helper()
	before := w.drops()
	w.send(from, s)
	await(w.T, func() bool { return w.drops() > before }, "no flow has dropped %v from %s", s, portNames[from])
}

var packetsDropped = regexp.MustCompile(`(?m)n_packets=(\d+),.* actions=drop$`)

// drops returns the number of packets that dropping flows have counted, including the datapath's flows.
func (w *wire) drops() (sum int) {
	w.settle()
	for _, m := range packetsDropped.FindAllStringSubmatch(w.Ofctl("dump-flows", oftest.BridgeName), -1) {
		n, err := strconv.Atoi(m[1])
		require.NoError(w.T, err)
		sum += n
	}
	return sum
}

// nothingElse requires that nothing has arrived anywhere of what the Pod has sent. A datagram that the Pod sends behind it to the world
// arrives; policies must let it pass.
func (w *wire) nothingElse(from uint32) {
	w.T.Helper()
	marker := segment{src: map[uint32]string{oftest.PodAPort: "10.10.0.11:9", oftest.PodBPort: "10.10.0.12:9"}[from], dst: "10.10.9.9:9"}
	w.pass(from, marker, oftest.GWPort, marker)
	for port, link := range w.links {
		if link.pending() {
			require.Fail(w.T, "another packet has arrived", "%s: %v", portNames[port], gopacket.NewPacket(link.next(), layers.LayerTypeEthernet, gopacket.Default))
		}
	}
}

// translated is a connection that the client opens through a frontend, with the addresses that the two ends see.
type translated struct {
	clientPort, serverPort uint32
	// The client sees client and frontend, the server source and endpoint.
	client, frontend, source, endpoint string
}

// open opens the connection with a handshake, both ways.
func (w *wire) open(c translated) {
	w.T.Helper()
	w.pass(c.clientPort, segment{c.client, c.frontend, "S"}, c.serverPort, segment{c.source, c.endpoint, "S"})
	w.pass(c.serverPort, segment{c.endpoint, c.source, "SA"}, c.clientPort, segment{c.frontend, c.client, "SA"})
	w.use(c)
}

// use sends a segment of the open connection.
func (w *wire) use(c translated) {
	w.T.Helper()
	w.pass(c.clientPort, segment{c.client, c.frontend, "A"}, c.serverPort, segment{c.source, c.endpoint, "A"})
}

// datagrams sends one each way.
func (w *wire) datagrams(c translated) {
	w.T.Helper()
	w.pass(c.clientPort, segment{c.client, c.frontend, ""}, c.serverPort, segment{c.source, c.endpoint, ""})
	w.pass(c.serverPort, segment{c.endpoint, c.source, ""}, c.clientPort, segment{c.frontend, c.client, ""})
}

func withPort(addr netip.Addr, port int) string {
	return fmt.Sprint(netip.AddrPortFrom(addr, uint16(port)))
}
