// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package ippacket

import (
	"net"
	"net/netip"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/stretchr/testify/require"
)

var (
	outline4 = Outline{
		SrcMAC: net.HardwareAddr{2, 0, 0, 0, 0, 1}, DstMAC: net.HardwareAddr{2, 0, 0, 0, 0, 2},
		Src: netip.MustParseAddr("10.10.0.11"), Dst: netip.MustParseAddr("10.10.1.20"), DSCP: 63, TTL: 64, IPFlags: 2,
		SrcPort: 40001, DstPort: 80, TCPFlags: 2, ICMPID: 7, ICMPSequence: 9,
	}
	outline6 = func() Outline {
		o := outline4
		o.Src, o.Dst = netip.MustParseAddr("fd00::11"), netip.MustParseAddr("fd00:1::20")
		return o
	}()
)

// Another implementation reads what was built, and would have built the same.
func TestBuild(t *testing.T) {
	for name, test := range map[string]struct {
		outline  Outline
		protocol uint8
		want     gopacket.LayerType
	}{
		"echo": {outline4, ICMP, layers.LayerTypeICMPv4}, "TCP": {outline4, TCP, layers.LayerTypeTCP}, "UDP": {outline4, UDP, layers.LayerTypeUDP},
		"echo, IPv6": {outline6, ICMPv6, layers.LayerTypeICMPv6}, "TCP, IPv6": {outline6, TCP, layers.LayerTypeTCP}, "UDP, IPv6": {outline6, UDP, layers.LayerTypeUDP},
	} {
		t.Run(name, func(t *testing.T) {
			o := test.outline
			o.Protocol = test.protocol
			frame, err := Build(o)
			require.NoError(t, err)
			p, err := Parse(frame)
			require.NoError(t, err)
			require.Equal(t, []any{o.Src, o.Dst, o.Protocol}, []any{p.Src, p.Dst, p.Protocol})

			packet := gopacket.NewPacket(frame, layers.LayerTypeEthernet, gopacket.Default)
			require.Nil(t, packet.ErrorLayer())
			require.NotNil(t, packet.Layer(test.want))
			var parts []gopacket.SerializableLayer
			for _, layer := range packet.Layers() {
				switch l := layer.(type) {
				case *layers.IPv4:
					require.Equal(t, []any{o.DSCP << 2, o.TTL, layers.IPv4DontFragment}, []any{l.TOS, l.TTL, l.Flags})
				case *layers.IPv6:
					require.Equal(t, []any{o.DSCP << 2, o.TTL}, []any{l.TrafficClass, l.HopLimit})
				case *layers.TCP:
					require.Equal(t, []any{layers.TCPPort(40001), layers.TCPPort(80), true}, []any{l.SrcPort, l.DstPort, l.SYN})
				case *layers.UDP:
					require.Equal(t, []any{layers.UDPPort(40001), layers.UDPPort(80)}, []any{l.SrcPort, l.DstPort})
				case *layers.ICMPv4:
					require.Equal(t, []uint16{7, 9}, []uint16{l.Id, l.Seq})
				}
				if l, ok := layer.(interface {
					SetNetworkLayerForChecksum(gopacket.NetworkLayer) error
				}); ok {
					require.NoError(t, l.SetNetworkLayerForChecksum(packet.NetworkLayer()))
				}
				parts = append(parts, layer.(gopacket.SerializableLayer))
			}
			again := gopacket.NewSerializeBuffer()
			require.NoError(t, gopacket.SerializeLayers(again, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, parts...))
			require.Equal(t, again.Bytes()[:len(frame)], frame, "except that gopacket pads frames to 60 bytes")
		})
	}
}

func TestBuildRefuses(t *testing.T) {
	tcp := outline4
	tcp.Protocol = TCP
	for want, change := range map[string]func(*Outline){
		"both must have 6 bytes":     func(o *Outline) { o.DstMAC = nil },
		"both must be IPv4":          func(o *Outline) { o.Dst = outline6.Dst },
		"want 1 (echo request), 6":   func(o *Outline) { o.Protocol = ICMPv6 },
		"packet of IP protocol 132 ": func(o *Outline) { o.Protocol = SCTP },
	} {
		o := tcp
		change(&o)
		_, err := Build(o)
		require.ErrorContains(t, err, want)
	}
}
