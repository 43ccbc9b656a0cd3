// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"encoding/binary"
	"fmt"
	"io"
)

// version13 is OpenFlow 1.3 in the header's version field.
const version13 = 4

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
	typeMultipartRequest = 18
	typeMultipartReply   = 19
	typeBarrierRequest   = 20
	typeBarrierReply     = 21
)

// message is one message of the switch. body is what follows the header.
type message struct {
	version uint8
	typ     uint8
	xid     uint32
	body    []byte
}

// readMessage reads exactly one message. It allocates no more than the 16-bit length of the header can say.
func readMessage(r io.Reader) (message, error) {
	var h [headerSize]byte
	if _, err := io.ReadFull(r, h[:]); err != nil {
		return message{}, err
	}
	m := message{version: h[0], typ: h[1], xid: binary.BigEndian.Uint32(h[4:])}
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
func appendHeader(b []byte, typ uint8, bodySize int, xid uint32) []byte {
	b = append(b, version13, typ)
	b = binary.BigEndian.AppendUint16(b, uint16(headerSize+bodySize))
	return binary.BigEndian.AppendUint32(b, xid)
}

// appendHello appends OFPT_HELLO with a version bitmap that has OpenFlow 1.3 only (OpenFlow 1.3.1, section A.5.1).
func appendHello(b []byte, xid uint32) []byte {
	b = appendHeader(b, typeHello, 8, xid)
	b = binary.BigEndian.AppendUint16(b, helloVersionBitmap)
	b = binary.BigEndian.AppendUint16(b, 8)
	return binary.BigEndian.AppendUint32(b, 1<<version13)
}

func appendBarrier(b []byte, xid uint32) []byte { return appendHeader(b, typeBarrierRequest, 0, xid) }

// appendEchoRequest appends an OFPT_ECHO_REQUEST. Its transaction id is that of the client's hello, which no call has.
func appendEchoRequest(b []byte) []byte { return appendHeader(b, typeEchoRequest, 0, helloXID) }

func appendEchoReply(b []byte, request message) []byte {
	return append(appendHeader(b, typeEchoReply, len(request.body), request.xid), request.body...)
}

// multipartTable is the multipart type OFPMP_TABLE.
const multipartTable = 3

func appendTableStatsRequest(b []byte, xid uint32) []byte {
	b = appendHeader(b, typeMultipartRequest, 8, xid)
	b = binary.BigEndian.AppendUint16(b, multipartTable)
	return append(b, 0, 0, 0, 0, 0, 0)
}
