// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"encoding/binary"
	"fmt"
)

// The functions of this file decode bytes of the switch. They must neither panic nor allocate more than the input justifies.

// helloVersionBitmap is the only element type of OFPT_HELLO (OpenFlow 1.3.1, section A.5.1).
const helloVersionBitmap = 1

// checkHello returns an error unless the sender of hello speaks v.
func checkHello(m message, v version) error {
	if m.typ == typeError {
		return fmt.Errorf("the switch refused the connection: %w", parseError(m.body))
	}
	if m.typ != typeHello {
		return fmt.Errorf("the first message has the type %d: want a hello", m.typ)
	}
	for b := m.body; len(b) >= 4; {
		typ, length := binary.BigEndian.Uint16(b), int(binary.BigEndian.Uint16(b[2:]))
		if length < 4 || length > len(b) {
			return fmt.Errorf("hello has an element of length %d: want 4..%d", length, len(b))
		}
		if typ == helloVersionBitmap && length >= 8 {
			if bitmap := binary.BigEndian.Uint32(b[4:]); bitmap&(1<<v) == 0 {
				return fmt.Errorf("the switch offers the OpenFlow versions %#b: want version %d (%v), "+
					"add OpenFlow1%d to the bridge's protocols", bitmap, uint8(v), v, v-1)
			}
			return nil
		}
		// Elements are padded to 8 bytes.
		b = b[min((length+7)/8*8, len(b)):]
	}
	if m.version < v {
		return fmt.Errorf("the switch offers the OpenFlow version %d at most: want %d (%v)", uint8(m.version), uint8(v), v)
	}
	return nil
}

// errorExperimenter is the error type OFPET_EXPERIMENTER.
const errorExperimenter = 0xffff

// parseError decodes the body of OFPT_ERROR. A truncated body also becomes an Error, because something certainly went
// wrong.
func parseError(body []byte) *Error {
	if len(body) < 4 {
		return &Error{Malformed: true}
	}
	e := &Error{Type: binary.BigEndian.Uint16(body), Code: binary.BigEndian.Uint16(body[2:])}
	if e.Type == errorExperimenter {
		if len(body) < 8 {
			return &Error{Malformed: true}
		}
		e.Experimenter = binary.BigEndian.Uint32(body[4:])
	}
	return e
}

// bundleReply is ONF_ET_BUNDLE_CONTROL, or OFPT_BUNDLE_CONTROL, from the switch.
type bundleReply struct {
	id  uint32
	typ uint16
}

// parseBundleReply decodes an answer to a bundle control message; ok is false if it is something else.
func parseBundleReply(m message) (r bundleReply, ok bool) {
	b := m.body
	if m.version == version13 {
		if m.typ != typeExperimenter || len(b) < 16 || binary.BigEndian.Uint32(b) != onfExperimenter || binary.BigEndian.Uint32(b[4:]) != bundleControl {
			return bundleReply{}, false
		}
		b = b[8:]
	} else if m.typ != typeBundleControl || len(b) < 8 {
		return bundleReply{}, false
	}
	return bundleReply{id: binary.BigEndian.Uint32(b), typ: binary.BigEndian.Uint16(b[4:])}, true
}

// multipartHeaderSize is the size of the type, flags and padding of a multipart message.
const multipartHeaderSize = 8

// moreParts reports whether the multipart reply announces another one (OFPMPF_REPLY_MORE).
func moreParts(m message) bool {
	return m.typ == typeMultipartReply && len(m.body) >= multipartHeaderSize && binary.BigEndian.Uint16(m.body[2:])&1 != 0
}

// tableStatsSize is the size of ofp_table_stats (OpenFlow 1.3, section A.3.5.3): table id, 3 bytes of padding, active
// count (32 bits), lookup count and matched count (64 bits each).
const tableStatsSize = 24

// parseTableStats adds the active counts that are not 0 of an OFPMP_TABLE reply to counts.
func parseTableStats(m message, counts map[uint8]int) error {
	if m.typ != typeMultipartReply || len(m.body) < multipartHeaderSize || binary.BigEndian.Uint16(m.body) != multipartTable {
		return fmt.Errorf("message of type %d and %d bytes is not a reply to a table statistics request", m.typ, len(m.body))
	}
	stats := m.body[multipartHeaderSize:]
	if len(stats)%tableStatsSize != 0 {
		return fmt.Errorf("table statistics of %d bytes: want a multiple of %d", len(stats), tableStatsSize)
	}
	for ; len(stats) > 0; stats = stats[tableStatsSize:] {
		if active := binary.BigEndian.Uint32(stats[4:]); active != 0 {
			counts[stats[0]] = int(active)
		}
	}
	return nil
}
