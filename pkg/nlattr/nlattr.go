// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package nlattr reads the attributes of netlink messages. Unlike the netlink library's parser, it stays within the
// message whatever lengths are in it.
package nlattr

import (
	"encoding/binary"
	"fmt"
	"syscall"
)

const (
	// headerSize is the size of struct nlattr (include/uapi/linux/netlink.h): length with header, and type, both in
	// host byte order.
	headerSize = 4
	alignment  = 4
)

// Parse returns the attributes in b; their Values are parts of b. The padding of the last one may be missing, and less
// than a header behind it is ignored.
func Parse(b []byte) ([]syscall.NetlinkRouteAttr, error) {
	var attributes []syscall.NetlinkRouteAttr
	for len(b) >= headerSize {
		length, typ := binary.NativeEndian.Uint16(b), binary.NativeEndian.Uint16(b[2:])
		if int(length) < headerSize || int(length) > len(b) {
			return nil, fmt.Errorf("attribute %d has a length of %d bytes; want %d to %d", typ, length, headerSize, len(b))
		}
		attributes = append(attributes, syscall.NetlinkRouteAttr{
			Attr: syscall.RtAttr{Len: length, Type: typ}, Value: b[headerSize:length:length],
		})
		b = b[min((int(length)+alignment-1)&^(alignment-1), len(b)):]
	}
	return attributes, nil
}

// Uint32 reads a number in host byte order.
func Uint32(a syscall.NetlinkRouteAttr) (uint32, error) {
	if len(a.Value) < 4 {
		return 0, fmt.Errorf("attribute %d has a value of %d bytes; want 4", a.Attr.Type, len(a.Value))
	}
	return binary.NativeEndian.Uint32(a.Value), nil
}
