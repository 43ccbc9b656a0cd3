// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package conntrack reads and changes the kernel's connection tracking table over netlink
// (include/uapi/linux/netfilter/nfnetlink_conntrack.h). conntrack.go lists it and ends connections, tcp.go decodes the
// state of TCP, table.go looks up and changes single connections, create.go makes and removes them, tuple.go makes and reads the attributes of addresses,
// accounting.go reads the kernel's counters, and reports connections that end.
package conntrack

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"syscall"
	"time"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/nlattr"
)

// Attributes that the netlink package has no names for.
const (
	ctaID       = 12
	ctaMarkMask = 21
	// typeMask is NLA_TYPE_MASK: an attribute type without its flags.
	typeMask = 0x3fff
)

// Bits of a connection's status (enum ip_conntrack_status).
const (
	statusSeenReply = 1 << 1 // packets have been seen in both directions
	statusAssured   = 1 << 2
	statusConfirmed = 1 << 3 // in the table
)

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
	// ICMPType and ICMPCode are of the packet that opened the connection; 0 for other protocols than ICMP and ICMPv6.
	ICMPType, ICMPCode uint8
	Mark               uint32
	// Timeout is the rest of the entry's life, in whole seconds.
	Timeout time.Duration
	// Assured entries are not given up when the table is full.
	Assured bool
	// TCP is nil for other protocols.
	TCP *TCP
	// Labels are the low and the high 64 bits of the label.
	Labels      [2]uint64
	Established bool
	// Accounting holds the kernel's counters, if it counts.
	Accounting

	// family and original identify the entry to the kernel. id tells it from a later one with the same addresses.
	family   uint8
	original []byte
	id       []byte
}

// Ends returns who has opened the connection, to which address, and who answers. The last two differ where the destination is
// translated.
func (c *Connection) Ends() (client, dialed, server netip.AddrPort) {
	return netip.AddrPortFrom(c.Original.Source, c.Original.SourcePort), netip.AddrPortFrom(c.Original.Destination, c.Original.DestinationPort),
		netip.AddrPortFrom(c.Reply.Source, c.Reply.SourcePort)
}

// List calls yield for all connections of the zones until it returns false. Those that come and go meanwhile may be missed. One that cannot be read
// is left out, and makes the error.
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

// Delete ends the connection: its next packet is the first one of another connection. It is no error if the connection has ended,
// and another one with the same addresses stays.
func (c *Connection) Delete() error {
	request := newRequest(nl.IPCTNL_MSG_CT_DELETE, c.family, unix.NLM_F_ACK)
	request.AddData(nl.NewRtAttr(nl.CTA_TUPLE_ORIG|unix.NLA_F_NESTED, c.original))
	request.AddData(nl.NewRtAttr(nl.CTA_ZONE, nl.BEUint16Attr(c.Zone)))
	request.AddData(nl.NewRtAttr(ctaID, c.id))
	if _, err := request.Execute(unix.NETLINK_NETFILTER, 0); err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("end the connection %+v of zone %d: %w", c.Original, c.Zone, err)
	}
	return nil
}

// HostZone is the zone of the host's own connections.
const HostZone uint16 = 0

// End ends the connections of a zone for which ended returns true. A kernel without ctnetlink ends none, without an error.
func End(zone uint16, ended func(*Connection) bool) error {
	var errs []error
	err := List([]uint16{zone}, func(c *Connection) bool {
		if ended(c) {
			errs = append(errs, c.Delete())
		}
		return true
	})
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EPROTONOSUPPORT) {
		return nil
	}
	return errors.Join(append(errs, err)...)
}

// SetMark sets the bits mask of the connection's mark to the bits of value. It succeeds if the connection has ended.
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
	attributes, err := nlattr.Parse(message[nl.SizeofNfgenmsg:])
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
		if c.Original, err = parseTuple(a.Value); err == nil {
			err = c.readMessage(a.Value)
		}
	case ctaID:
		c.id = append([]byte{}, a.Value...)
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
		c.Assured = status&statusAssured != 0
	case nl.CTA_TIMEOUT:
		var seconds uint32
		seconds, err = number[uint32](a.Value, 4)
		c.Timeout = time.Duration(seconds) * time.Second
	case nl.CTA_PROTOINFO:
		c.TCP, err = parseProtoInfo(a.Value)
	case nl.CTA_COUNTERS_ORIG:
		c.Counters[0], err = parseCounter(a.Value)
	case nl.CTA_COUNTERS_REPLY:
		c.Counters[1], err = parseCounter(a.Value)
	case nl.CTA_TIMESTAMP:
		c.Started, c.Stopped, err = parseTimestamps(a.Value)
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
func number[T uint8 | uint16 | uint32 | uint64](value []byte, size int) (n T, err error) {
	if len(value) < size {
		return 0, fmt.Errorf("attribute of %d bytes: want %d", len(value), size)
	}
	for _, b := range value[:size] {
		n = T(uint64(n)<<8 | uint64(b))
	}
	return n, nil
}
