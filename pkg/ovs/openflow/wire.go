// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"encoding/binary"
	"fmt"
	"io"
)

// version is the OpenFlow version in a message's header.
type version uint8

const (
	version13 version = 4
	version15 version = 6
)

// String is "OpenFlow 1.3".
func (v version) String() string { return fmt.Sprintf("OpenFlow 1.%d", int(v)-1) }

// headerSize is the size of ofp_header: version, type, length (16 bits), xid (32 bits).
const headerSize = 8

// helloXID is the transaction id of messages that no call waits for.
const helloXID = 0

// Message types (OpenFlow 1.3, section A.1).
const (
	typeHello            = 0
	typeError            = 1
	typeEchoRequest      = 2
	typeEchoReply        = 3
	typeExperimenter     = 4
	typeSetConfig        = 9
	typePacketOut        = 13
	typeFlowMod          = 14
	typeGroupMod         = 15
	typeMultipartRequest = 18
	typeMultipartReply   = 19
	typeBarrierRequest   = 20
	typeBarrierReply     = 21
	typeMeterMod         = 29
	// Bundle messages have types of their own since OpenFlow 1.4.
	typeBundleControl    = 33
	typeBundleAddMessage = 34
)

// message is one message of the switch. body follows the header.
type message struct {
	version version
	typ     uint8
	xid     uint32
	body    []byte
}

// readMessage reads exactly one message. Its allocations are bounded by the 16-bit length in the header.
func readMessage(r io.Reader) (message, error) {
	var h [headerSize]byte
	if _, err := io.ReadFull(r, h[:]); err != nil {
		return message{}, err
	}
	m := message{version: version(h[0]), typ: h[1], xid: binary.BigEndian.Uint32(h[4:])}
	length := int(binary.BigEndian.Uint16(h[2:]))
	if length < headerSize {
		return message{}, fmt.Errorf("message of type %d has the length %d: want at least %d", m.typ, length, headerSize)
	}
	m.body = make([]byte, length-headerSize)
	if _, err := io.ReadFull(r, m.body); err != nil {
		return message{}, fmt.Errorf("read the body of a message of type %d: %w", m.typ, err)
	}
	return m, nil
}

// appendHeader appends the header of a message whose body has bodySize bytes.
func appendHeader(b []byte, v version, typ uint8, bodySize int, xid uint32) []byte {
	b = append(b, byte(v), typ)
	b = binary.BigEndian.AppendUint16(b, uint16(headerSize+bodySize))
	return binary.BigEndian.AppendUint32(b, xid)
}

// appendHello appends OFPT_HELLO with a version bitmap that has one version only (OpenFlow 1.3.1, section A.5.1).
func appendHello(b []byte, v version, xid uint32) []byte {
	b = appendHeader(b, v, typeHello, 8, xid)
	b = binary.BigEndian.AppendUint16(b, helloVersionBitmap)
	b = binary.BigEndian.AppendUint16(b, 8)
	return binary.BigEndian.AppendUint32(b, 1<<v)
}

func appendBarrier(b []byte, v version, xid uint32) []byte {
	return appendHeader(b, v, typeBarrierRequest, 0, xid)
}

// appendEchoRequest appends an OFPT_ECHO_REQUEST. It has the transaction id of the client's hello, which belongs to no
// call.
func appendEchoRequest(b []byte, v version) []byte {
	return appendHeader(b, v, typeEchoRequest, 0, helloXID)
}

func appendEchoReply(b []byte, request message) []byte {
	return append(appendHeader(b, request.version, typeEchoReply, len(request.body), request.xid), request.body...)
}

// Multipart types (OpenFlow 1.3, section 7.3.5, OFPMP_*).
const (
	multipartFlow          = 1
	multipartTable         = 3
	multipartGroup         = 6
	multipartGroupDesc     = 7
	multipartMeter         = 9
	multipartMeterConfig   = 10
	multipartMeterFeatures = 11
)

// appendMultipart appends a multipart request with its body.
func appendMultipart(b []byte, v version, xid uint32, typ uint16, body []byte) []byte {
	b = appendHeader(b, v, typeMultipartRequest, multipartHeaderSize+len(body), xid)
	b = binary.BigEndian.AppendUint16(b, typ)
	return append(append(b, 0, 0, 0, 0, 0, 0), body...)
}

// appendNicira appends the header of a message of Nicira (OVS's nicira-ext.h) whose body has bodySize bytes.
func appendNicira(b []byte, v version, subtype uint32, bodySize int, xid uint32) []byte {
	b = appendHeader(b, v, typeExperimenter, 8+bodySize, xid)
	b = binary.BigEndian.AppendUint32(b, nxExperimenter)
	return binary.BigEndian.AppendUint32(b, subtype)
}
