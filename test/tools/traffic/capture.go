// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/antrea-oncache/antrea/test/tools/afpacket"
	"github.com/antrea-oncache/antrea/test/tools/traffic/report"
)

const (
	ethernetLength = 14
	ipv4Length     = 20
	ipv6Length     = 40
	ipv4EtherType  = 0x0800
	ipv6EtherType  = 0x86dd
	protocolTCP    = 6
	protocolUDP    = 17

	// receiveTimeout bounds the delay until the end of the capture is noticed.
	receiveTimeout = 100 * time.Millisecond
	// drainTime is the time for which a capture that has ended still reads queued packets.
	drainTime = time.Second
)

// capture records the headers of IPv4 and IPv6 packets that arrive, or leave, through a device.
type capture struct {
	device   string
	outgoing bool
	duration time.Duration
	count    int
	limit    int
	filter   filter
	// source, notSource and destination are parsed into filter.
	source, notSource, destination string
}

// filter selects packets; zero fields select everything.
type filter struct {
	proto                          string
	source, notSource, destination netip.Addr
	sourcePort, port               uint16
}

func captureCommand() *cobra.Command {
	var c capture
	cmd := &cobra.Command{Use: "capture", Short: "Record headers of IPv4 and IPv6 packets", Args: cobra.NoArgs, RunE: run(c.run)}
	f := cmd.Flags()
	f.StringVar(&c.device, "device", "eth0", "network device")
	f.BoolVar(&c.outgoing, "outgoing", false, "record outgoing instead of incoming packets")
	f.DurationVar(&c.duration, "duration", 0, "how long; 0 for until SIGTERM")
	f.IntVar(&c.count, "count", 0, "end after this number of packets")
	f.IntVar(&c.limit, "limit", 2000, "maximum number of packets to record; others are only counted")
	f.StringVar(&c.filter.proto, "proto", "", "only tcp, udp, icmp (IPv4) or icmp6")
	f.StringVar(&c.source, "source", "", "only from this address")
	f.StringVar(&c.notSource, "not-source", "", "only from other addresses than this one")
	f.StringVar(&c.destination, "destination", "", "only to this address")
	f.Uint16Var(&c.filter.sourcePort, "source-port", 0, "only from this port")
	f.Uint16Var(&c.filter.port, "port", 0, "only to this port")
	return cmd
}

func (c *capture) run(ctx context.Context, status io.Writer) (report.Capture, error) {
	result := report.Capture{Packets: []report.Packet{}}
	for _, a := range []struct {
		text string
		into *netip.Addr
	}{{c.source, &c.filter.source}, {c.notSource, &c.filter.notSource}, {c.destination, &c.filter.destination}} {
		if a.text == "" {
			continue
		}
		var err error
		if *a.into, err = netip.ParseAddr(a.text); err != nil {
			return result, err
		}
	}
	device, err := net.InterfaceByName(c.device)
	if err != nil {
		return result, fmt.Errorf("device %s: %w", c.device, err)
	}
	socket, err := afpacket.Open(device.Index, false)
	if err != nil {
		return result, err
	}
	defer socket.Close()
	fmt.Fprintln(status, "ready", c.device)
	if c.duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.duration)
		defer cancel()
	}
	var ended time.Time
	for c.count == 0 || result.Matched < c.count {
		if ctx.Err() != nil && ended.IsZero() {
			ended = time.Now()
		}
		frame, received, err := socket.Receive(receiveTimeout)
		if err != nil {
			return result, err
		}
		// Others' packets may never cease.
		if !ended.IsZero() && (!received || time.Since(ended) > drainTime) {
			break
		}
		packet, ok := parse(frame.Data)
		if !ok || (frame.Type == afpacket.Outgoing) != c.outgoing || !c.filter.admits(&packet) {
			continue
		}
		if result.Matched++; len(result.Packets) < c.limit {
			result.Packets = append(result.Packets, packet)
		}
	}
	return result, nil
}

func (f *filter) admits(p *report.Packet) bool {
	numbers := map[string]uint8{"tcp": protocolTCP, "udp": protocolUDP, "icmp": 1, "icmp6": 58}
	return (f.proto == "" || numbers[f.proto] == p.Protocol) &&
		(!f.source.IsValid() || f.source.String() == p.Source) &&
		(!f.notSource.IsValid() || f.notSource.String() != p.Source) &&
		(!f.destination.IsValid() || f.destination.String() == p.Destination) &&
		(f.sourcePort == 0 || f.sourcePort == p.SourcePort) &&
		(f.port == 0 || f.port == p.DestinationPort)
}

// parse reads the headers of an IPv4 or IPv6 packet in a frame without VLAN tag.
func parse(frame []byte) (p report.Packet, ok bool) {
	if len(frame) < ethernetLength {
		return p, false
	}
	var l4 []byte
	ip := frame[ethernetLength:]
	switch binary.BigEndian.Uint16(frame[12:]) {
	case ipv4EtherType:
		p, l4, ok = parse4(ip)
	case ipv6EtherType:
		p, l4, ok = parse6(ip)
	}
	if !ok {
		return p, false
	}
	p.DestinationMAC, p.SourceMAC = net.HardwareAddr(frame[0:6]).String(), net.HardwareAddr(frame[6:12]).String()
	if p.FragmentOffset > 0 || p.Protocol != protocolTCP && p.Protocol != protocolUDP || len(l4) < 8 {
		return p, true
	}
	p.SourcePort, p.DestinationPort = binary.BigEndian.Uint16(l4), binary.BigEndian.Uint16(l4[2:])
	if p.Protocol == protocolTCP && len(l4) >= 20 {
		p.Sequence = binary.BigEndian.Uint32(l4[4:])
		p.TCPFlags = flagNames(l4[13])
	}
	return p, true
}

// parse4 returns the content of the IPv4 header, and the bytes after it.
func parse4(ip []byte) (p report.Packet, l4 []byte, ok bool) {
	if len(ip) < ipv4Length {
		return p, nil, false
	}
	header := int(ip[0]&0xf) * 4
	if header < ipv4Length || len(ip) < header {
		return p, nil, false
	}
	fragment := binary.BigEndian.Uint16(ip[6:])
	return report.Packet{
		Source: netip.AddrFrom4([4]byte(ip[12:16])).String(), Destination: netip.AddrFrom4([4]byte(ip[16:20])).String(),
		Protocol: ip[9], TTL: ip[8], TOS: ip[1], ID: binary.BigEndian.Uint16(ip[4:]), Length: int(binary.BigEndian.Uint16(ip[2:])),
		FragmentOffset: int(fragment&0x1fff) * 8, MoreFragments: fragment&0x2000 != 0, OptionBytes: header - ipv4Length,
	}, ip[header:], true
}

// parse6 returns the content of the IPv6 header and of hop-by-hop, destination and fragment headers, and the bytes after
// them.
func parse6(ip []byte) (p report.Packet, l4 []byte, ok bool) {
	if len(ip) < ipv6Length {
		return p, nil, false
	}
	first := binary.BigEndian.Uint32(ip)
	p = report.Packet{
		Source: netip.AddrFrom16([16]byte(ip[8:24])).String(), Destination: netip.AddrFrom16([16]byte(ip[24:40])).String(),
		Protocol: ip[6], TTL: ip[7], TOS: uint8(first >> 20), ID: uint16(first), Length: ipv6Length + int(binary.BigEndian.Uint16(ip[4:])),
	}
	l4 = ip[ipv6Length:]
	for {
		length := 8
		switch p.Protocol {
		case 0, 60:
			if len(l4) < 8 {
				return p, nil, false
			}
			length += int(l4[1]) * 8
		case fragmentHeader:
			if len(l4) < 8 {
				return p, nil, false
			}
			fragment := binary.BigEndian.Uint16(l4[2:])
			p.FragmentOffset, p.MoreFragments = int(fragment&^7), fragment&1 != 0
		default:
			return p, l4, true
		}
		if len(l4) < length {
			return p, nil, false
		}
		p.Protocol, l4 = l4[0], l4[length:]
		p.OptionBytes += length
	}
}

func flagNames(flags byte) string {
	var names strings.Builder
	for bit := range 8 {
		if flags>>bit&1 != 0 {
			names.WriteByte(tcpFlagNames[bit])
		}
	}
	return names.String()
}
