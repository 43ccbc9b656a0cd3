// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package conntrack

import (
	"fmt"
	"net/netip"
	"syscall"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/nlattr"
)

// attribute makes the tuple's netlink attribute of that type.
func (t Tuple) attribute(typ int) *nl.RtAttr {
	source, destination := nl.CTA_IP_V4_SRC, nl.CTA_IP_V4_DST
	if t.Source.Is6() {
		source, destination = nl.CTA_IP_V6_SRC, nl.CTA_IP_V6_DST
	}
	return nested(typ,
		nested(nl.CTA_TUPLE_IP, nl.NewRtAttr(source, t.Source.AsSlice()), nl.NewRtAttr(destination, t.Destination.AsSlice())),
		nested(nl.CTA_TUPLE_PROTO, nl.NewRtAttr(nl.CTA_PROTO_NUM, []byte{t.Protocol}),
			nl.NewRtAttr(nl.CTA_PROTO_SRC_PORT, nl.BEUint16Attr(t.SourcePort)), nl.NewRtAttr(nl.CTA_PROTO_DST_PORT, nl.BEUint16Attr(t.DestinationPort))))
}

// Reversed returns the other direction, if no address is translated.
func (t Tuple) Reversed() Tuple {
	t.Source, t.Destination = t.Destination, t.Source
	t.SourcePort, t.DestinationPort = t.DestinationPort, t.SourcePort
	return t
}

// family is the address family of the tuple.
func (t Tuple) family() uint8 {
	if t.Source.Is6() {
		return unix.AF_INET6
	}
	return unix.AF_INET
}

func nested(typ int, children ...*nl.RtAttr) *nl.RtAttr {
	a := nl.NewRtAttr(typ|unix.NLA_F_NESTED, nil)
	for _, child := range children {
		a.AddChild(child)
	}
	return a
}

func parseTuple(value []byte) (t Tuple, err error) {
	parts, err := nlattr.Parse(value)
	if err != nil {
		return t, err
	}
	for _, part := range parts {
		attributes, err := nlattr.Parse(part.Value)
		if err != nil {
			return t, err
		}
		for _, a := range attributes {
			switch part.Attr.Type & typeMask {
			case nl.CTA_TUPLE_IP:
				err = t.readAddress(a)
			case nl.CTA_TUPLE_PROTO:
				err = t.readProtocol(a)
			}
			if err != nil {
				return t, err
			}
		}
	}
	return t, nil
}

func (t *Tuple) readAddress(a syscall.NetlinkRouteAttr) error {
	addr, ok := netip.AddrFromSlice(a.Value)
	if !ok {
		return fmt.Errorf("address of %d bytes", len(a.Value))
	}
	switch a.Attr.Type & typeMask {
	case nl.CTA_IP_V4_SRC, nl.CTA_IP_V6_SRC:
		t.Source = addr
	case nl.CTA_IP_V4_DST, nl.CTA_IP_V6_DST:
		t.Destination = addr
	}
	return nil
}

func (t *Tuple) readProtocol(a syscall.NetlinkRouteAttr) (err error) {
	switch a.Attr.Type & typeMask {
	case nl.CTA_PROTO_NUM:
		t.Protocol, err = number[uint8](a.Value, 1)
	case nl.CTA_PROTO_SRC_PORT:
		t.SourcePort, err = number[uint16](a.Value, 2)
	case nl.CTA_PROTO_DST_PORT:
		t.DestinationPort, err = number[uint16](a.Value, 2)
	}
	return err
}

// Attributes of CTA_TUPLE_PROTO (nfnetlink_conntrack.h, enum ctattr_l4proto).
const (
	protoICMPType   = 5
	protoICMPCode   = 6
	protoICMPv6Type = 8
	protoICMPv6Code = 9
)

// readMessage reads type and code of ICMP from a tuple that parseTuple has accepted.
func (c *Connection) readMessage(tuple []byte) error {
	if c.Original.Protocol != unix.IPPROTO_ICMP && c.Original.Protocol != unix.IPPROTO_ICMPV6 {
		return nil
	}
	parts, err := nlattr.Parse(tuple)
	if err != nil {
		return err
	}
	for _, part := range parts {
		if part.Attr.Type&typeMask != nl.CTA_TUPLE_PROTO {
			continue
		}
		attributes, err := nlattr.Parse(part.Value)
		if err != nil {
			return err
		}
		for _, a := range attributes {
			switch a.Attr.Type & typeMask {
			case protoICMPType, protoICMPv6Type:
				c.ICMPType, err = number[uint8](a.Value, 1)
			case protoICMPCode, protoICMPv6Code:
				c.ICMPCode, err = number[uint8](a.Value, 1)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}
