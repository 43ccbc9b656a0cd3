// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"time"

	"github.com/spf13/cobra"

	"github.com/antrea-oncache/antrea/test/tools/afpacket"
	"github.com/antrea-oncache/antrea/test/tools/traffic/report"
)

// sendRaw sends crafted frames. Missing values are filled in as the host itself would.
type sendRaw struct {
	device                    string
	sourceMAC, destinationMAC string
	source, destination       string
	frame
	count    int
	interval time.Duration
	// everyTOS sends each frame once for each type of service byte, 0 to 255.
	everyTOS bool
}

func sendRawCommand() *cobra.Command {
	var s sendRaw
	cmd := &cobra.Command{Use: "send-raw", Short: "Send crafted IPv4 or IPv6 frames", Args: cobra.NoArgs, RunE: run(s.run)}
	f := cmd.Flags()
	f.StringVar(&s.device, "device", "eth0", "network device")
	f.StringVar(&s.sourceMAC, "source-mac", "", "default: the device's")
	f.StringVar(&s.destinationMAC, "destination-mac", "", "default: the default gateway's")
	f.StringVar(&s.source, "source", "", "default: the device's address")
	f.StringVar(&s.destination, "destination", "", "destination address")
	f.StringVar(&s.proto, "proto", "udp", "tcp, udp or icmp")
	f.Uint16Var(&s.sourcePort, "source-port", 0, "source port, or identifier of ICMP")
	f.Uint16Var(&s.port, "port", 0, "destination port")
	f.StringVar(&s.flags, "flags", "A", "TCP flags, of "+tcpFlagNames)
	f.Uint32Var(&s.sequence, "sequence", 0, "TCP sequence number")
	f.Uint32Var(&s.ack, "ack", 0, "TCP acknowledgment number")
	f.Uint8Var(&s.ttl, "ttl", 64, "time to live, or hop limit")
	f.Uint8Var(&s.tos, "tos", 0, "type of service byte, or traffic class")
	f.BoolVar(&s.everyTOS, "every-tos", false, "send with every type of service byte, 0 to 255")
	f.Uint16Var(&s.id, "id", 0, "IPv4 identification or IPv6 flow label, incremented with every packet")
	f.IntVar(&s.payload, "payload", 32, "bytes after the TCP, UDP or ICMP header")
	f.StringVar(&s.option, "option", "", "IPv4 option: nop, record-route, router-alert; IPv6: nop, destination, router-alert")
	f.IntVar(&s.fragment, "fragment", 0, "send in fragments with this number of bytes")
	f.BoolVar(&s.badChecksum, "bad-checksum", false, "make the TCP, UDP or ICMP checksum wrong")
	f.IntVar(&s.count, "count", 1, "how many times; 0 for until SIGTERM")
	f.DurationVar(&s.interval, "interval", 5*time.Millisecond, "time between two packets")
	return cmd
}

func (s *sendRaw) run(ctx context.Context, _ io.Writer) (report.Sent, error) {
	var result report.Sent
	device, err := net.InterfaceByName(s.device)
	if err != nil {
		return result, fmt.Errorf("device %s: %w", s.device, err)
	}
	if err := s.complete(ctx, device); err != nil {
		return result, err
	}
	socket, err := afpacket.Open(device.Index, false)
	if err != nil {
		return result, err
	}
	defer socket.Close()
	due := time.Now()
	for n := 0; s.count == 0 || n < s.count; n++ {
		for _, tos := range s.allTOS() {
			if !waitUntil(ctx, due) {
				return result, nil
			}
			due = due.Add(s.interval)
			s.tos = tos
			frames, err := s.build()
			if err != nil {
				return result, err
			}
			s.id++
			for _, f := range frames {
				if err := socket.Send(afpacket.Frame{Data: f}); err != nil {
					return result, fmt.Errorf("sending frame %d: %w", result.Frames, err)
				}
				result.Frames++
			}
		}
	}
	return result, nil
}

func (s *sendRaw) allTOS() []uint8 {
	if !s.everyTOS {
		return []uint8{s.tos}
	}
	all := make([]uint8, 256)
	for i := range all {
		all[i] = uint8(i)
	}
	return all
}

// complete fills in the addresses of the frame.
func (s *sendRaw) complete(ctx context.Context, device *net.Interface) (err error) {
	if s.frame.destination, err = netip.ParseAddr(s.destination); err != nil {
		return fmt.Errorf("destination %q must be an IP address", s.destination)
	}
	if s.source == "" {
		s.frame.source, err = addressOf(device, s.frame.destination.Is4())
	} else {
		s.frame.source, err = netip.ParseAddr(s.source)
	}
	if err != nil {
		return fmt.Errorf("source: %w", err)
	}
	s.frame.sourceMAC = device.HardwareAddr
	if s.sourceMAC != "" {
		if s.frame.sourceMAC, err = net.ParseMAC(s.sourceMAC); err != nil {
			return err
		}
	}
	if s.destinationMAC == "" {
		s.frame.destinationMAC, err = gatewayMAC(ctx, device.Index, s.frame.destination.Is4())
	} else {
		s.frame.destinationMAC, err = net.ParseMAC(s.destinationMAC)
	}
	return err
}

// addressOf returns an address of the device that is not link-local.
func addressOf(device *net.Interface, ipv4 bool) (netip.Addr, error) {
	addresses, err := device.Addrs()
	if err != nil {
		return netip.Addr{}, err
	}
	for _, a := range addresses {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil && prefix.Addr().Is4() == ipv4 && prefix.Addr().IsGlobalUnicast() {
			return prefix.Addr(), nil
		}
	}
	return netip.Addr{}, fmt.Errorf("device %s has no address of the destination's family", device.Name)
}
