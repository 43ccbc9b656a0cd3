// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package servicereject

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/stretchr/testify/require"
)

// versions runs a test with the addresses of each IP version.
func versions(t *testing.T, f func(t *testing.T, client, service netip.Addr)) {
	t.Run("IPv4", func(t *testing.T) { f(t, client4, service4) })
	t.Run("IPv6", func(t *testing.T) { f(t, client6, service6) })
}

// The numbers of a reset are taken from RFC 9293, section 3.10.7.1.
func TestReset(t *testing.T) {
	for _, test := range []struct {
		name     string
		edit     func(*layers.TCP)
		data     int
		seq, ack uint32
		hasAck   bool
	}{
		{"SYN", func(s *layers.TCP) { s.SYN = true }, 0, 0, 1001, true},
		{"SYN with data (TCP Fast Open)", func(s *layers.TCP) { s.SYN = true }, 100, 0, 1101, true},
		{"SYN with options", func(s *layers.TCP) {
			s.SYN, s.Options = true, []layers.TCPOption{{OptionType: layers.TCPOptionKindMSS, OptionLength: 4, OptionData: []byte{5, 0xb4}}}
		}, 0, 0, 1001, true},
		{"the highest sequence number", func(s *layers.TCP) { s.SYN, s.Seq = true, 0xffffffff }, 0, 0, 0, true},
		{"ACK", func(s *layers.TCP) { s.ACK, s.Ack = true, 7777 }, 0, 7777, 0, false},
		{"data", func(s *layers.TCP) { s.ACK, s.PSH, s.Ack = true, true, 7777 }, 1001, 7777, 0, false},
		{"FIN with ACK", func(s *layers.TCP) { s.ACK, s.FIN, s.Ack = true, true, 7777 }, 0, 7777, 0, false},
		{"FIN without ACK", func(s *layers.TCP) { s.FIN = true }, 3, 0, 1004, true},
		{"no flags", func(*layers.TCP) {}, 0, 0, 1000, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			versions(t, func(t *testing.T, client, service netip.Addr) {
				reply, err := Reply(segment(t, client, service, test.edit, test.data))
				require.NoError(t, err)
				tcp := decode(t, reply, client, service).TCP
				require.Equal(t, []any{test.seq, test.ack, test.hasAck, true, false, uint16(0)}, []any{tcp.Seq, tcp.Ack, tcp.ACK, tcp.RST, tcp.SYN || tcp.FIN || tcp.PSH, tcp.Window})
			})
		})
	}
}

// An error message has the packet that it is about, as far as there is room.
func TestPortUnreachable(t *testing.T) {
	sctp := &layers.SCTP{SrcPort: clientPort, DstPort: servicePort}
	versions(t, func(t *testing.T, client, service netip.Addr) {
		for name, sent := range map[string][]byte{
			"empty":  datagram(t, client, service, 0),
			"odd":    datagram(t, client, service, 33),
			"long":   datagram(t, client, service, 1400),
			"SCTP":   frame(t, client, service, layers.IPProtocolSCTP, sctp, gopacket.Payload([]byte{1, 0, 0, 4})),
			"padded": append(datagram(t, client, service, 0), make([]byte, 18)...),
		} {
			t.Run(name, func(t *testing.T) {
				reply, err := Reply(sent)
				require.NoError(t, err)
				a := decode(t, reply, client, service)
				// Frames are padded to 60 bytes.
				ip := sent[14:]
				if client.Is4() {
					ip = ip[:binary.BigEndian.Uint16(ip[2:])]
					require.Equal(t, layers.CreateICMPv4TypeCode(3, 3), a.ICMPv4.TypeCode)
					require.Equal(t, ip[:min(len(ip), 576-28)], a.quoted)
				} else {
					ip = ip[:40+binary.BigEndian.Uint16(ip[4:])]
					require.Equal(t, layers.CreateICMPv6TypeCode(1, 4), a.ICMPv6.TypeCode)
					require.Equal(t, ip[:min(len(ip), 1280-48)], a.quoted)
				}
				require.Equal(t, make([]byte, 4), reply[len(reply)-len(a.quoted)-4:len(reply)-len(a.quoted)], "unused")
			})
		}
	})
}

func TestExtensionHeaders(t *testing.T) {
	sent := segment(t, client6, service6, func(s *layers.TCP) { s.SYN = true }, 5)
	extended := slices.Concat(sent[:54], []byte{60, 1, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, []byte{6, 0, 1, 4, 0, 0, 0, 0}, sent[54:])
	extended[14+6] = 0
	binary.BigEndian.PutUint16(extended[14+4:], uint16(len(extended)-54))
	reply, err := Reply(extended)
	require.NoError(t, err)
	require.Equal(t, uint32(1006), decode(t, reply, client6, service6).TCP.Ack)
}

func TestNoReply(t *testing.T) {
	syn := func(s *layers.TCP) { s.SYN = true }
	four, six := segment(t, client4, service4, syn, 0), segment(t, client6, service6, syn, 0)
	edited := func(frame []byte, at int, value ...byte) []byte {
		frame = bytes.Clone(frame)
		copy(frame[at:], value)
		return frame
	}
	address := func(s string) []byte { return netip.MustParseAddr(s).AsSlice() }
	for _, test := range []struct {
		name  string
		frame []byte
		want  string
	}{
		{"nothing", nil, "no Ethernet header"},
		{"no IP header", four[:20], "IPv4 packet of 6 bytes"},
		{"no IPv6 header", six[:20], "IPv6 packet of 6 bytes"},
		{"cut off", four[:14+40-1], "a total length of 40"},
		{"cut off, IPv6", six[:len(six)-1], "60 bytes according to its header"},
		{"wrong version", edited(four, 14, 0x65), "version 6"},
		{"wrong version, IPv6", edited(six, 14, 0x40), "version 4"},
		{"short header", edited(four, 14, 0x44), "a header of 16 bytes"},
		{"ARP", edited(four, 12, 8, 6), "EtherType 0x0806"},
		{"VLAN", edited(four, 12, 0x81, 0), "EtherType 0x8100"},
		{"first fragment", edited(four, 20, 0x20), "fragment"},
		{"later fragment", edited(four, 20, 0, 1), "fragment"},
		{"fragment, IPv6", edited(six, 20, 44), "IP protocol 44"},
		{"endless extension header", edited(six, 20, 60), "extension header"},
		{"broadcast", edited(four, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff), "several receivers"},
		{"from a group", edited(four, 6, 1), "several receivers"},
		{"to a multicast address", edited(four, 30, address("224.0.0.1")...), "without one sender and one receiver"},
		{"to the broadcast address", edited(four, 30, address("255.255.255.255")...), "without one sender and one receiver"},
		{"from a multicast address", edited(six, 22, address("ff02::1")...), "without one sender and one receiver"},
		{"from no address", edited(six, 22, address("::")...), "without one sender and one receiver"},
		{"from the loopback address", edited(four, 26, address("127.0.0.1")...), "without one sender and one receiver"},
		{"a reset", segment(t, client4, service4, func(s *layers.TCP) { s.RST = true }, 0), "reset"},
		{"a reset with ACK", segment(t, client6, service6, func(s *layers.TCP) { s.RST, s.ACK = true, true }, 0), "reset"},
		{"an incomplete TCP header", edited(four, 46, 0xf0), "no complete header"},
		{"ICMP", edited(four, 23, 1), "IP protocol 1: want TCP, UDP or SCTP"},
		{"ICMPv6", edited(six, 20, 58), "IP protocol 58"},
		{"an incomplete UDP header", edited(edited(four[:38], 23, 17), 17, 24), "4 bytes behind the IP header"},
	} {
		t.Run(test.name, func(t *testing.T) {
			reply, err := Reply(test.frame)
			require.ErrorContains(t, err, test.want)
			require.Nil(t, reply)
		})
	}
}

// A packet that a policy forbids is answered whatever its protocol is, but neither an error, nor a reset, nor what several receivers get.
func TestProhibited(t *testing.T) {
	versions(t, func(t *testing.T, client, service netip.Addr) {
		protocol, echo, failure := layers.IPProtocolICMPv4, []byte{8, 0, 0, 0, 0, 1, 0, 2}, [][]byte{{3, 3}, {4}, {5}, {11}, {12}}
		if client.Is6() {
			protocol, echo, failure = layers.IPProtocolICMPv6, []byte{128, 0, 0, 0, 0, 1, 0, 2}, [][]byte{{1, 4}, {2}, {3}, {4}, {137}}
		}
		reply, err := Prohibited(segment(t, client, service, func(s *layers.TCP) { s.SYN = true }, 0))
		require.NoError(t, err)
		tcp := decode(t, reply, client, service).TCP
		require.Equal(t, []any{true, true, uint32(0), uint32(1001), uint16(0)}, []any{tcp.RST, tcp.ACK, tcp.Seq, tcp.Ack, tcp.Window})
		for name, sent := range map[string][]byte{
			"UDP": datagram(t, client, service, 3), "echo": frame(t, client, service, protocol, gopacket.Payload(echo)),
			"SCTP": frame(t, client, service, layers.IPProtocolSCTP, gopacket.Payload(make([]byte, 20))),
			"GRE":  frame(t, client, service, layers.IPProtocolGRE, gopacket.Payload(make([]byte, 8))),
		} {
			reply, err := Prohibited(sent)
			require.NoError(t, err, name)
			a := decode(t, reply, client, service)
			if client.Is4() {
				require.Equal(t, layers.CreateICMPv4TypeCode(3, 10), a.ICMPv4.TypeCode, name)
			} else {
				require.Equal(t, layers.CreateICMPv6TypeCode(1, 1), a.ICMPv6.TypeCode, name)
			}
			require.GreaterOrEqual(t, len(a.quoted), 28, name)
			_, err = Prohibited(reply)
			require.ErrorContains(t, err, "errors of ICMP are not answered")
		}
		for _, message := range failure {
			_, err := Prohibited(frame(t, client, service, protocol, gopacket.Payload(append(message, make([]byte, 40)...))))
			require.ErrorContains(t, err, "errors of ICMP are not answered")
		}
		for want, sent := range map[string][]byte{
			"errors of ICMP are not": frame(t, client, service, protocol, gopacket.Payload(echo[:7])),
			"TCP resets":             segment(t, client, service, func(s *layers.TCP) { s.RST = true }, 0),
			"7 bytes behind":         frame(t, client, service, layers.IPProtocolUDP, gopacket.Payload(make([]byte, 7))),
		} {
			_, err := Prohibited(sent)
			require.ErrorContains(t, err, want)
		}
	})
	_, err := Prohibited(frame(t, client6, service6, layers.IPProtocolIPv6Fragment, gopacket.Payload([]byte{17, 0, 0, 9, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0})))
	require.ErrorContains(t, err, "IPv6 fragment")
	_, err = Prohibited(nil)
	require.Error(t, err)
}

// Answers are not answered: two agents cannot keep each other busy.
func TestNoReplyToReplies(t *testing.T) {
	versions(t, func(t *testing.T, client, service netip.Addr) {
		for i, sent := range [][]byte{segment(t, client, service, func(s *layers.TCP) { s.SYN = true }, 0), datagram(t, client, service, 9)} {
			reply, err := Reply(sent)
			require.NoError(t, err)
			_, err = Reply(reply)
			require.Error(t, err, fmt.Sprint(i))
		}
	})
}

// Whatever arrives, an answer is a valid packet to its sender, and never longer than RFCs allow.
func FuzzReply(f *testing.F) {
	syn := func(s *layers.TCP) { s.SYN = true }
	for _, seed := range [][]byte{segment(f, client4, service4, syn, 3), segment(f, client6, service6, syn, 3), datagram(f, client4, service4, 3), datagram(f, client6, service6, 3)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		before := bytes.Clone(frame)
		reply, err := Reply(frame)
		if forbidden, whyNot := Prohibited(frame); err == nil && whyNot != nil || whyNot == nil && !bytes.Equal(forbidden[:14], slices.Concat(frame[6:12], frame[:6], frame[12:14])) {
			t.Fatalf("%x is answered with %x, %v, if a policy forbids it", frame, forbidden, whyNot)
		}
		if !bytes.Equal(before, frame) {
			t.Fatalf("%x was changed", before)
		}
		if err != nil {
			return
		}
		if !bytes.Equal(reply[:6], frame[6:12]) || !bytes.Equal(reply[6:12], frame[:6]) || !bytes.Equal(reply[12:14], frame[12:14]) {
			t.Fatalf("%x is answered with the Ethernet header of %x", frame, reply)
		}
		if longest := map[byte]int{0x45: 576, 0x60: 1280}[reply[14]]; len(reply)-14 > longest {
			t.Fatalf("%x is answered with %d bytes", frame, len(reply))
		}
		if _, err := parse(reply); err != nil {
			t.Fatalf("%x is answered with %x: %v", frame, reply, err)
		}
	})
}
