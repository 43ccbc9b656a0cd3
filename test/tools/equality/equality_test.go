// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package equality

import (
	"bytes"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/test/tools/afpacket"
)

var (
	tcp = Flow{unix.IPPROTO_TCP, 40000, 80}
	udp = Flow{unix.IPPROTO_UDP, 40000, 53}
)

func world(six bool) World {
	w := World{
		SenderMAC: net.HardwareAddr{2, 0, 0, 0, 0, 1}, SenderGatewayMAC: net.HardwareAddr{2, 0, 0, 0, 0, 2},
		ReceiverMAC: net.HardwareAddr{2, 0, 0, 0, 0, 3}, ReceiverGatewayMAC: net.HardwareAddr{2, 0, 0, 0, 0, 4},
		Sender: netip.MustParseAddr("10.10.1.2"), Receiver: netip.MustParseAddr("10.10.2.2"), MTU: 1450,
		Outer: outerHeader(),
	}
	if six {
		w.Sender, w.Receiver = netip.MustParseAddr("fd00:10:1::2"), netip.MustParseAddr("fd00:10:2::2")
	}
	return w
}

// outerHeader is Geneve over IPv4, up to the inner Ethernet header.
func outerHeader() []byte {
	h := make([]byte, ethernetLength+ipv4Length+tunnelLength)
	h[12], h[13], h[14], h[22], h[23] = 0x08, 0x00, 0x45, 64, unix.IPPROTO_UDP
	h[36], h[37] = 0x17, 0xc1
	return h
}

// TestPacketsAreWhatTheyClaim compares with an independent encoder.
func TestPacketsAreWhatTheyClaim(t *testing.T) {
	for name, six := range map[string]bool{"IPv4": false, "IPv6": true} {
		for _, flow := range []Flow{tcp, udp} {
			t.Run(name, func(t *testing.T) {
				w := world(six)
				p := w.Packet(flow)
				p.ID, p.TOS = 77, 0xb9
				require.Equal(t, encode(t, &p), p.Bytes())
				p.Payload = content(333)
				require.Equal(t, encode(t, &p), p.Bytes())
			})
		}
	}
}

// encode encodes an ordinary packet with gopacket.
func encode(t *testing.T, p *Packet) []byte {
	t.Helper()
	eth := &layers.Ethernet{SrcMAC: p.SourceMAC, DstMAC: p.DestinationMAC, EthernetType: layers.EthernetTypeIPv4}
	var ip interface {
		gopacket.NetworkLayer
		gopacket.SerializableLayer
	} = &layers.IPv4{Version: 4, TOS: p.TOS, TTL: p.TTL, Id: uint16(p.ID), Flags: layers.IPv4DontFragment,
		Protocol: layers.IPProtocol(p.Protocol), SrcIP: p.Source.AsSlice(), DstIP: p.Destination.AsSlice()}
	if p.Source.Is6() {
		eth.EthernetType = layers.EthernetTypeIPv6
		ip = &layers.IPv6{Version: 6, TrafficClass: p.TOS, FlowLabel: p.ID, HopLimit: p.TTL,
			NextHeader: layers.IPProtocol(p.Protocol), SrcIP: p.Source.AsSlice(), DstIP: p.Destination.AsSlice()}
	}
	var transport gopacket.SerializableLayer
	if p.Protocol == unix.IPPROTO_TCP {
		l := &layers.TCP{SrcPort: layers.TCPPort(p.SourcePort), DstPort: layers.TCPPort(p.DestinationPort), Seq: p.Sequence, Ack: p.Ack, ACK: true, Window: 1024}
		require.NoError(t, l.SetNetworkLayerForChecksum(ip))
		transport = l
	} else {
		l := &layers.UDP{SrcPort: layers.UDPPort(p.SourcePort), DstPort: layers.UDPPort(p.DestinationPort)}
		require.NoError(t, l.SetNetworkLayerForChecksum(ip))
		transport = l
	}
	buf := gopacket.NewSerializeBuffer()
	options := gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
	require.NoError(t, gopacket.SerializeLayers(buf, options, eth, ip, transport, gopacket.Payload(p.Payload)))
	return buf.Bytes()
}

// TestStreams checks that every packet can be distinguished from the others and states its expected treatment.
func TestStreams(t *testing.T) {
	for name, six := range map[string]bool{"IPv4": false, "IPv6": true} {
		for _, flow := range []Flow{tcp, udp} {
			t.Run(name, func(t *testing.T) {
				names := map[string]bool{}
				for _, c := range Stream(world(six), flow) {
					require.False(t, names[c.Name], "%s is there twice", c.Name)
					names[c.Name] = true
					require.NotNil(t, c.Arrivals, c.Name)
					if c.Path == Fast {
						require.Equal(t, 1, c.Expected(true)[Receiver], c.Name)
					}
				}
				require.Greater(t, len(names), 350)
				direct := world(six)
				direct.Direct = true
				for _, c := range Stream(direct, flow) {
					require.Equal(t, Sender, c.From, "%s needs a tunnel", c.Name)
				}
			})
		}
	}
}

func observation(point Point, frames ...afpacket.Frame) (o Observation) {
	o[point] = frames
	return o
}

func TestCompare(t *testing.T) {
	w := world(false)
	p := w.Packet(udp)
	ordinary := afpacket.Frame{Data: p.Bytes(), HeaderLength: 14}
	changed := func(change func(*afpacket.Frame)) afpacket.Frame {
		f := ordinary
		f.Data = bytes.Clone(f.Data)
		change(&f)
		return f
	}
	for name, c := range map[string]struct {
		point Point
		with  afpacket.Frame
		want  string
	}{
		"the same":                    {Receiver, ordinary, ""},
		"one byte of the payload":     {Receiver, changed(func(f *afpacket.Frame) { f.Data[60]++ }), "contents"},
		"identification in the Pod":   {Receiver, changed(func(f *afpacket.Frame) { setID(f.Data, 9) }), "contents"},
		"identification on the wire":  {Wire, changed(func(f *afpacket.Frame) { setID(f.Data, 9) }), ""},
		"checksum on the wire":        {Wire, changed(func(f *afpacket.Frame) { f.Data[24] ^= 1 }), "wrong checksum of the IPv4 header"},
		"hop limit on the wire":       {Wire, changed(func(f *afpacket.Frame) { f.Data[22]--; setID(f.Data, 9) }), "contents"},
		"UDP source port on the wire": {Wire, changed(func(f *afpacket.Frame) { f.Data[34]++ }), "contents"},
		"packet type":                 {Receiver, changed(func(f *afpacket.Frame) { f.Type = afpacket.OtherHost }), "packet type"},
		"VLAN tag":                    {Receiver, changed(func(f *afpacket.Frame) { f.VLAN = 5 }), "VLAN tag"},
		"mark":                        {Receiver, changed(func(f *afpacket.Frame) { f.Mark = 1 << 20 }), "mark"},
		"missing checksum":            {Receiver, changed(func(f *afpacket.Frame) { f.ChecksumMissing = true }), "missing checksum"},
		"size of the segments":        {Receiver, changed(func(f *afpacket.Frame) { f.Offload.SegmentSize = 7 }), "offload"},
		"first buffer":                {Receiver, changed(func(f *afpacket.Frame) { f.Offload.HeaderLength = 7 }), ""},
		"checksum proved":             {Receiver, changed(func(f *afpacket.Frame) { f.ChecksumProved = true }), ""},
		"wrong checksum proved":       {Receiver, changed(func(f *afpacket.Frame) { f.ChecksumProved = true; f.Data[60]++ }), "verified that is wrong"},
		"length":                      {Receiver, changed(func(f *afpacket.Frame) { f.Data = append(f.Data, 0) }), "length"},
		"tunnel devices":              {SendingTunnel, changed(func(f *afpacket.Frame) { f.Data[60]++ }), ""},
	} {
		t.Run(name, func(t *testing.T) {
			differences := w.Compare(&Case{}, observation(c.point, ordinary), observation(c.point, c.with))
			if c.want == "" {
				require.Empty(t, differences)
				return
			}
			require.NotEmpty(t, differences)
			require.Contains(t, differences[0], c.want)
		})
	}
	require.Contains(t, w.Compare(&Case{}, observation(Wire, ordinary), Observation{})[0], "1 frames with the cache off, 0 with it on")
	w.Direct = true
	other := changed(func(f *afpacket.Frame) { setID(f.Data, 9) })
	require.Len(t, w.Compare(&Case{}, observation(Wire, ordinary), observation(Wire, other)), 1, "without a tunnel, the Pod has chosen the identification")
}

// setID changes the identification and corrects the checksum.
func setID(frame []byte, id byte) {
	ip := frame[ethernetLength : ethernetLength+ipv4Length]
	ip[5], ip[10], ip[11] = id, 0, 0
	check := ^fold(sum(ip))
	ip[10], ip[11] = byte(check>>8), byte(check)
}

func TestHexDiff(t *testing.T) {
	a := []byte("0123456789abcdefghijklmnopqrstuv")
	b := append(bytes.Clone(a), "more"...)
	b[17] = 'X'
	require.Equal(t, ""+
		"  - 0010  67 68 69 6a 6b 6c 6d 6e 6f 70 71 72 73 74 75 76\n"+
		"  + 0010  67 58 69 6a 6b 6c 6d 6e 6f 70 71 72 73 74 75 76\n"+
		"  + 0020  6d 6f 72 65\n", HexDiff(a, b))
	require.Empty(t, HexDiff(a, a))
}

func TestCapturesCanBeRead(t *testing.T) {
	dir := t.TempDir()
	w := world(false)
	p := w.Packet(tcp)
	o := observation(Wire, afpacket.Frame{Data: p.Bytes()})
	require.NoError(t, o.WriteCaptures(dir, "7-off"))
	f, err := os.Open(filepath.Join(dir, "7-off-wire.pcap"))
	require.NoError(t, err)
	defer f.Close()
	r, err := pcapgo.NewReader(f)
	require.NoError(t, err)
	data, _, err := r.ReadPacketData()
	require.NoError(t, err)
	require.Equal(t, p.Bytes(), data)
}
