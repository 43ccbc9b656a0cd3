// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package conntrack reads the kernel's connection tracking table and marks its connections, over netlink
// (include/uapi/linux/netfilter/nfnetlink_conntrack.h).
package conntrack

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"syscall"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Attributes that the netlink package has no names for.
const (
	ctaMarkMask = 21
	// typeMask is NLA_TYPE_MASK: an attribute type without its flags.
	typeMask = 0x3fff
)

// statusSeenReply is IPS_SEEN_REPLY: packets have been seen in both directions.
const statusSeenReply = 1 << 1

// nfnetlinkConntrack is NFNL_SUBSYS_CTNETLINK in a message type.
const nfnetlinkConntrack = 1 << 8

// Tuple is one direction of a connection. Ports are 0 for protocols without.
type Tuple struct {
	Source, Destination         netip.Addr
	Protocol                    uint8
	SourcePort, DestinationPort uint16
}

// Connection is an entry of the table.
type Connection struct {
	Zone uint16
	// Original is the direction of the packet that opened the connection, Reply the one of the answers, as they arrive: they
	// differ by more than their order where addresses are translated.
	Original, Reply Tuple
	Mark            uint32
	// Labels are the low and the high 64 bits of the label.
	Labels      [2]uint64
	Established bool

	// family and original identify the entry to the kernel.
	family   uint8
	original []byte
}

// List calls yield for all connections of the zones until it returns false. Those that come and go meanwhile may be missed.
func List(zones []uint16, yield func(*Connection) bool) error {
	wanted := map[uint16]bool{}
	for _, zone := range zones {
		wanted[zone] = true
	}
	request := newRequest(nl.IPCTNL_MSG_CT_GET, unix.AF_UNSPEC, unix.NLM_F_DUMP)
	var parseErr error
	err := request.ExecuteIter(unix.NETLINK_NETFILTER, 0, func(message []byte) bool {
		c, err := parse(message, wanted)
		if err != nil {
			parseErr = err
			return false
		}
		return c == nil || yield(c)
	})
	if err == nil {
		err = parseErr
	}
	if err != nil {
		return fmt.Errorf("list connections: %w", err)
	}
	return nil
}

func newRequest(message int, family uint8, flags int) *nl.NetlinkRequest {
	request := nl.NewNetlinkRequest(nfnetlinkConntrack|message, flags)
	request.AddData(&nl.Nfgenmsg{NfgenFamily: family, Version: nl.NFNETLINK_V0})
	return request
}

// SetMark changes the bits mask of the connection's mark to those of value. It is no error if the connection has ended.
func (c *Connection) SetMark(value, mask uint32) error {
	request := newRequest(nl.IPCTNL_MSG_CT_NEW, c.family, unix.NLM_F_ACK)
	request.AddData(nl.NewRtAttr(nl.CTA_TUPLE_ORIG|unix.NLA_F_NESTED, c.original))
	request.AddData(nl.NewRtAttr(nl.CTA_ZONE, nl.BEUint16Attr(c.Zone)))
	request.AddData(nl.NewRtAttr(nl.CTA_MARK, nl.BEUint32Attr(value)))
	request.AddData(nl.NewRtAttr(ctaMarkMask, nl.BEUint32Attr(mask)))
	if _, err := request.Execute(unix.NETLINK_NETFILTER, 0); err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("mark the connection %+v of zone %d: %w", c.Original, c.Zone, err)
	}
	return nil
}

// parse returns nil for a connection of another zone.
func parse(message []byte, zones map[uint16]bool) (*Connection, error) {
	if len(message) < nl.SizeofNfgenmsg {
		return nil, fmt.Errorf("message of %d bytes: too short", len(message))
	}
	c := &Connection{family: message[0]}
	attributes, err := nl.ParseRouteAttr(message[nl.SizeofNfgenmsg:])
	if err != nil {
		return nil, err
	}
	for _, a := range attributes {
		if err := c.read(a); err != nil {
			return nil, err
		}
	}
	if !zones[c.Zone] {
		return nil, nil
	}
	return c, nil
}

func (c *Connection) read(a syscall.NetlinkRouteAttr) (err error) {
	switch a.Attr.Type & typeMask {
	case nl.CTA_TUPLE_ORIG:
		c.original = append([]byte{}, a.Value...)
		c.Original, err = parseTuple(a.Value)
	case nl.CTA_TUPLE_REPLY:
		c.Reply, err = parseTuple(a.Value)
	case nl.CTA_ZONE:
		c.Zone, err = number[uint16](a.Value, 2)
	case nl.CTA_MARK:
		c.Mark, err = number[uint32](a.Value, 4)
	case nl.CTA_STATUS:
		var status uint32
		status, err = number[uint32](a.Value, 4)
		c.Established = status&statusSeenReply != 0
	case nl.CTA_LABELS:
		// In host byte order, as Open vSwitch writes it.
		for i := range c.Labels {
			if len(a.Value) >= 8*(i+1) {
				c.Labels[i] = binary.NativeEndian.Uint64(a.Value[8*i:])
			}
		}
	}
	return err
}

// number reads a big-endian number.
func number[T uint8 | uint16 | uint32](value []byte, size int) (n T, err error) {
	if len(value) < size {
		return 0, fmt.Errorf("attribute of %d bytes: want %d", len(value), size)
	}
	for _, b := range value[:size] {
		n = T(uint64(n)<<8 | uint64(b))
	}
	return n, nil
}

func parseTuple(value []byte) (t Tuple, err error) {
	parts, err := nl.ParseRouteAttr(value)
	if err != nil {
		return t, err
	}
	for _, part := range parts {
		attributes, err := nl.ParseRouteAttr(part.Value)
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
