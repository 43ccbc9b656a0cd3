// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow_test

import (
	"encoding/binary"
	"net/netip"
	"strings"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
)

// icmpError is an error message about a packet. Its sender is a router, or an end of the connection.
type icmpError struct {
	from, to string
	// about is the packet that the message contains.
	about segment
	kind  errorKind
}

// errorKind is type and code of a message, and the 4 bytes behind its checksum.
type errorKind struct {
	messageType, code uint8
	parameter         uint32
}

// errorKinds are the errors of RFC 792 and RFC 4443 to which hosts react, by name; the second is of ICMPv6.
var errorKinds = map[string][2]errorKind{
	"too big":           {{layers.ICMPv4TypeDestinationUnreachable, layers.ICMPv4CodeFragmentationNeeded, 1300}, {layers.ICMPv6TypePacketTooBig, 0, 1300}},
	"port unreachable":  {{layers.ICMPv4TypeDestinationUnreachable, layers.ICMPv4CodePort, 0}, {layers.ICMPv6TypeDestinationUnreachable, layers.ICMPv6CodePortUnreachable, 0}},
	"host unreachable":  {{layers.ICMPv4TypeDestinationUnreachable, layers.ICMPv4CodeHost, 0}, {layers.ICMPv6TypeDestinationUnreachable, layers.ICMPv6CodeAddressUnreachable, 0}},
	"time exceeded":     {{layers.ICMPv4TypeTimeExceeded, layers.ICMPv4CodeTTLExceeded, 0}, {layers.ICMPv6TypeTimeExceeded, layers.ICMPv6CodeHopLimitExceeded, 0}},
	"parameter problem": {{layers.ICMPv4TypeParameterProblem, 0, 20 << 24}, {layers.ICMPv6TypeParameterProblem, layers.ICMPv6CodeErroneousHeaderField, 6}},
}

// sendError lets the port receive the message.
func (w *wire) sendError(port uint32, e icmpError) {
	w.T.Helper()
	network, transport := e.about.headers(w.T)
	inner := serialize(w.T, network.(gopacket.SerializableLayer), transport)
	from, to := netip.MustParseAddr(e.from), netip.MustParseAddr(e.to)
	if from.Is4() {
		w.inject(port, networkHeader(from, to, layers.IPProtocolICMPv4), &layers.ICMPv4{
			TypeCode: layers.CreateICMPv4TypeCode(e.kind.messageType, e.kind.code), Id: uint16(e.kind.parameter >> 16), Seq: uint16(e.kind.parameter),
		}, gopacket.Payload(inner))
		return
	}
	header, icmp := networkHeader(from, to, layers.IPProtocolICMPv6), &layers.ICMPv6{TypeCode: layers.CreateICMPv6TypeCode(e.kind.messageType, e.kind.code)}
	require.NoError(w.T, icmp.SetNetworkLayerForChecksum(header))
	w.inject(port, header, icmp, gopacket.Payload(append(binary.BigEndian.AppendUint32(nil, e.kind.parameter), inner...)))
}

// nextError waits for the next packet that the port sends, and requires that it is an error message whose checksums are right.
func (w *wire) nextError(port uint32) (e icmpError) {
	w.T.Helper()
	packet := gopacket.NewPacket(w.links[port].next(), layers.LayerTypeEthernet, gopacket.Default)
	e.from, e.to = packet.NetworkLayer().NetworkFlow().Src().String(), packet.NetworkLayer().NetworkFlow().Dst().String()
	var message []byte
	innerType := layers.LayerTypeIPv4
	switch icmp := packet.Layers()[2].(type) {
	case *layers.ICMPv4:
		message = append(icmp.Contents, icmp.Payload...)
		require.Zero(w.T, onesComplement(message), "ICMP checksum: %v", packet)
	case *layers.ICMPv6:
		message, innerType = append(icmp.Contents, icmp.Payload...), layers.LayerTypeIPv6
		ip := packet.NetworkLayer().(*layers.IPv6)
		pseudo := append(append([]byte{}, ip.SrcIP...), ip.DstIP...)
		pseudo = append(binary.BigEndian.AppendUint32(pseudo, uint32(len(message))), 0, 0, 0, byte(layers.IPProtocolICMPv6))
		require.Zero(w.T, onesComplement(append(pseudo, message...)), "ICMPv6 checksum: %v", packet)
	default:
		require.Fail(w.T, "not an ICMP message", packet.String())
	}
	e.kind = errorKind{message[0], message[1], binary.BigEndian.Uint32(message[4:])}
	inner := gopacket.NewPacket(message[8:], innerType, gopacket.Default)
	if ip, isIPv4 := inner.NetworkLayer().(*layers.IPv4); isIPv4 {
		require.Zero(w.T, onesComplement(ip.Contents), "checksum of the header in the message: %v", packet)
	}
	e.about = segmentOf(w.T, inner)
	return e
}

// onesComplement is the Internet checksum (RFC 1071) of data, 0 if data contains the right one.
func onesComplement(data []byte) uint16 {
	var sum uint32
	for i, b := range data {
		sum += uint32(b) << (8 * (1 - i%2))
	}
	for sum > 0xffff {
		sum = sum&0xffff + sum>>16
	}
	return ^uint16(sum)
}

// ICMP errors about packets of connections through Services arrive, as those about other connections do.
func TestWireErrorsAboutServiceConnections(t *testing.T) { eachDatapath(t, testServiceErrors) }

func testServiceErrors(t *testing.T, w *wire) {
	require.NoError(t, w.C.SetNodePortAddresses([]netip.Addr{oftest.NodeIP, netip.MustParseAddr(inIPv6(oftest.NodeIP.String()))}))
	for _, test := range serviceConnections {
		t.Run(test.name, func(t *testing.T) {
			w.T = t
			w.serviceErrors(test.port, test.translated, 0)
		})
		t.Run("IPv6, "+test.name, func(t *testing.T) {
			if !w.kernel {
				t.Skip("the datapath in user space damages the packet in an ICMPv6 error whose addresses it translates")
			}
			w.T = t
			w.serviceErrors(translatePort(test.port, inIPv6), test.translated.each(inIPv6), 1)
		})
	}
}

// serviceErrors opens a connection over TCP, and one over UDP, and sends errors of all kinds about them. version is the index of errorKinds.
func (w *wire) serviceErrors(port openflow.ServicePort, c translated, version int) {
	w.T.Helper()
	udp := oftest.With(port, oftest.Over(corev1.ProtocolUDP), oftest.Named("udp"))
	require.NoError(w.T, w.C.InstallService(udp))
	w.install(port)
	// Connections of the ways before may expire.
	w.Appctl("dpctl/flush-conntrack")
	w.open(c)
	w.datagrams(c)
	connections := w.connections()
	for name, kinds := range errorKinds {
		w.errorsArrive(name, c, "A", kinds[version])
		w.errorsArrive(name, c, "", kinds[version])
	}
	require.Equal(w.T, connections, w.connections(), "errors do not count as connections")
	require.NoError(w.T, w.C.UninstallService(udp.Name))
	require.NoError(w.T, w.C.UninstallService(port.Name))
}

// serviceConnections are ways through the pipeline: what is translated, and where the client and the Endpoint are.
var serviceConnections = []struct {
	name string
	port openflow.ServicePort
	translated
}{
	{"from a Pod, to a Pod on this Node", oftest.ClusterPort(oftest.LocalEndpointB), translated{oftest.PodAPort, oftest.PodBPort, "10.10.0.11:3001", "10.96.0.10:80", "10.10.0.11:3001", "10.10.0.12:8080"}},
	{"from a Pod, to a remote Pod", oftest.ClusterPort(oftest.ElsewhereEndpoint), translated{oftest.PodAPort, oftest.TunnelPort, "10.10.0.11:3002", "10.96.0.10:80", "10.10.0.11:3002", "10.10.1.20:8080"}},
	{"from a Pod, to itself", oftest.ClusterPort(oftest.LocalEndpoint), translated{oftest.PodAPort, oftest.PodAPort, "10.10.0.11:3003", "10.96.0.10:80", "10.10.0.1:3003", "10.10.0.11:8080"}},
	{"from a Pod, to another host", oftest.ClusterPort(oftest.HostEndpoint), translated{oftest.PodAPort, oftest.GWPort, "10.10.0.11:3004", "10.96.0.10:80", "10.10.0.11:3004", "192.168.77.103:6443"}},
	{"from the Node, to a Pod", oftest.ClusterPort(oftest.LocalEndpoint), translated{oftest.GWPort, oftest.PodAPort, "10.10.0.1:3005", "10.96.0.10:80", "10.10.0.1:3005", "10.10.0.11:8080"}},
	{"from the Node, to a remote Pod", oftest.ClusterPort(oftest.ElsewhereEndpoint), translated{oftest.GWPort, oftest.TunnelPort, "10.10.0.1:3006", "10.96.0.10:80", "10.10.0.1:3006", "10.10.1.20:8080"}},
	{"from the Node, to another host", oftest.ClusterPort(oftest.HostEndpoint), translated{oftest.GWPort, oftest.GWPort, "10.10.0.1:3007", "10.96.0.10:80", "169.254.0.253:3007", "192.168.77.103:6443"}},
	{"from outside, to a NodePort of a Pod", oftest.With(oftest.ExternalLocal(), oftest.ServedLocally(oftest.LocalEndpoint)),
		translated{oftest.GWPort, oftest.PodAPort, "198.51.100.7:3008", "169.254.0.252:30080", "198.51.100.7:3008", "10.10.0.11:8080"}},
	{"from outside, to a remote Pod", oftest.With(oftest.ClusterPort(oftest.ElsewhereEndpoint), oftest.At(openflow.Frontend{Address: oftest.LoadBalancerIP, External: true})),
		translated{oftest.GWPort, oftest.TunnelPort, "198.51.100.7:3010", "203.0.113.10:80", "10.10.0.1:3010", "10.10.1.20:8080"}},
	{"from outside, to another host", oftest.With(oftest.ClusterPort(oftest.HostEndpoint), oftest.At(openflow.Frontend{Address: oftest.LoadBalancerIP, External: true})),
		translated{oftest.GWPort, oftest.GWPort, "198.51.100.7:3011", "203.0.113.10:80", "169.254.0.253:3011", "192.168.77.103:6443"}},
}

// errorsArrive sends an error of the kind from each end, and from a router in front of it if there can be one, to the other end.
func (w *wire) errorsArrive(name string, c translated, flags string, kind errorKind) {
	w.T.Helper()
	router := "192.0.2.1"
	if strings.Contains(c.client, "[") {
		router = inIPv6(router)
	}
	for _, sender := range []string{hostOf(c.client), router} {
		if sender == router && c.clientPort == oftest.PodAPort {
			continue // a Pod sends from its own address only
		}
		arrives := sender
		if c.source != c.client {
			arrives = hostOf(c.source)
		}
		w.errorArrives(name, c.clientPort, icmpError{sender, hostOf(c.frontend), segment{c.frontend, c.client, flags}, kind},
			c.serverPort, icmpError{arrives, hostOf(c.endpoint), segment{c.endpoint, c.source, flags}, kind})
	}
	for _, sender := range []string{hostOf(c.endpoint), router} {
		if sender == router && (c.serverPort == oftest.PodAPort || c.serverPort == oftest.PodBPort) {
			continue
		}
		w.errorArrives(name, c.serverPort, icmpError{sender, hostOf(c.source), segment{c.source, c.endpoint, flags}, kind},
			c.clientPort, icmpError{hostOf(c.frontend), hostOf(c.client), segment{c.client, c.frontend, flags}, kind})
	}
}

func (w *wire) errorArrives(name string, from uint32, e icmpError, to uint32, want icmpError) {
	w.T.Helper()
	w.sendError(from, e)
	require.Equal(w.T, want, w.nextError(to), "%s: %+v from %s", name, e, portNames[from])
	for port, link := range w.links {
		require.False(w.T, link.pending(), "%s: another packet at %s", name, portNames[port])
	}
}

// connections is the number of connections that conntrack has.
func (w *wire) connections() int {
	w.T.Helper()
	return strings.Count(w.Appctl("dpctl/dump-conntrack"), "zone=")
}

// ipv6Twins has the IPv6 address of whoever has an IPv4 address in these tests.
var ipv6Twins = map[string]string{
	"10.10.0.11": oftest.PodA6IP.String(), "10.10.0.12": oftest.PodB6IP.String(), "10.10.0.1": oftest.GW6IP.String(), "10.10.1.20": oftest.RemotePod6.String(),
	"10.96.0.10": "fd00:96::10", "192.168.77.103": "fd00:77::103", "192.168.77.101": "fd00:77::101", "203.0.113.10": "2001:db8:1::10",
	"198.51.100.7": "2001:db8::7", "192.0.2.1": "2001:db8:2::1", "169.254.0.253": "fc01::aabb:ccdd:eeff", "169.254.0.252": "fc01::aabb:ccdd:eefe",
}

// inIPv6 returns the twin of an address, or of one with a port.
func inIPv6(address string) string {
	if host, err := netip.ParseAddrPort(address); err == nil {
		return netip.AddrPortFrom(netip.MustParseAddr(ipv6Twins[host.Addr().String()]), host.Port()).String()
	}
	return ipv6Twins[address]
}

// each returns the connection with all addresses translated.
func (c translated) each(translate func(string) string) translated {
	return translated{c.clientPort, c.serverPort, translate(c.client), translate(c.frontend), translate(c.source), translate(c.endpoint)}
}

// translatePort returns the port with all addresses translated.
func translatePort(p openflow.ServicePort, translate func(string) string) openflow.ServicePort {
	frontends, endpoints := p.Frontends, [2][]openflow.Endpoint{p.Cluster, p.Local}
	p.Frontends, p.Cluster, p.Local = nil, nil, nil
	for _, f := range frontends {
		f.Address = netip.MustParseAddrPort(translate(f.Address.String()))
		p.Frontends = append(p.Frontends, f)
	}
	for i, list := range []*[]openflow.Endpoint{&p.Cluster, &p.Local} {
		for _, e := range endpoints[i] {
			e.Address = netip.MustParseAddrPort(translate(e.Address.String()))
			*list = append(*list, e)
		}
	}
	return p
}

func hostOf(address string) string { return netip.MustParseAddrPort(address).Addr().String() }

// An error is only about a connection that is known, and that policies have let pass.
func TestWireErrorsOpenNothing(t *testing.T) { eachDatapath(t, testErrorsOpenNothing) }

func testErrorsOpenNothing(t *testing.T, w *wire) {
	const client, frontend, endpoint = "10.10.0.11:3001", "10.96.0.10:80", "10.10.0.12:8080"
	w.install(oftest.ClusterPort(oftest.LocalEndpointB))
	kind := errorKinds["too big"][0]
	ofClient := icmpError{hostOf(client), hostOf(frontend), segment{frontend, client, "A"}, kind}
	ofServer := icmpError{hostOf(endpoint), hostOf(client), segment{client, endpoint, "A"}, kind}
	nothing := func(what string) {
		t.Helper()
		w.nothingElse(oftest.PodAPort)
		w.nothingElse(oftest.PodBPort)
		before := w.connections()
		w.sendError(oftest.PodAPort, ofClient)
		w.nothingElse(oftest.PodAPort)
		w.sendError(oftest.PodBPort, ofServer)
		w.nothingElse(oftest.PodBPort)
		require.Equal(t, before, w.connections(), what)
	}
	nothing("an error without connection")
	w.open(translated{oftest.PodAPort, oftest.PodBPort, client, frontend, client, endpoint})
	w.errorArrives("too big", oftest.PodAPort, ofClient, oftest.PodBPort, icmpError{hostOf(client), hostOf(endpoint), segment{endpoint, client, "A"}, kind})
	w.Appctl("dpctl/flush-conntrack")
	nothing("an error about a former connection")

	require.NoError(t, oftest.Install(oftest.Egress(2, oftest.PolicyPodA, oftest.Prefixes("10.10.9.0/24")))(w.C))
	w.settle()
	w.swallow(oftest.PodAPort, segment{client, frontend, "S"})
	nothing("an error about a connection that a policy refuses")
}
