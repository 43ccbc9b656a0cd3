// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
)

// PacketIn is a packet that a Controller action sent (NXT_PACKET_IN2, OVS's nicira-ext.h).
type PacketIn struct {
	// Data is the packet from its Ethernet header on. Length is its length before the switch truncated it, if it did.
	Data   []byte
	Length uint32
	// Table and Cookie belong to the flow that had the action. They are 0 for a Paused packet: OVS does not send them
	// then, but UserData can identify the flow.
	Table  uint8
	Cookie uint64
	// Reason is why the packet was sent (OFPR_*); 1 is an action.
	Reason uint8
	// UserData is Controller.UserData.
	UserData []byte
	// Metadata are the input port, the registers that are not 0, and other fields that are not headers of the packet.
	Metadata []Match

	// properties are the properties of the received message, when it has a continuation.
	properties []byte
}

// Paused reports whether the switch waits for Resume with this packet.
func (p *PacketIn) Paused() bool { return p.properties != nil }

// Field returns the field f of Metadata, big endian and as long as the field, or nil if there is none.
func (p *PacketIn) Field(f Field) []byte {
	for _, m := range p.Metadata {
		if m.Field == f {
			return m.Value
		}
	}
	return nil
}

// InPort is the OpenFlow port at which the packet arrived, 0 if it is not known.
func (p *PacketIn) InPort() uint32 {
	if v := p.Field(FieldInPort); len(v) == 4 {
		return binary.BigEndian.Uint32(v)
	}
	return 0
}

// Reg is register n, 0..15.
func (p *PacketIn) Reg(n uint8) uint32 {
	if v := p.Field(FieldReg0 + Field(n)); n < numRegs && len(v) == 4 {
		return binary.BigEndian.Uint32(v)
	}
	return 0
}

// Messages of Nicira (OVS's nicira-ext.h, NXT_*), and the format NXPIF_NXT_PACKET_IN2.
const (
	nxtSetPacketInFormat = 16
	nxtSetAsyncConfig    = 19
	nxtSetControllerID   = 20
	nxtResume            = 28
	nxtPacketIn2         = 30

	packetInFormat2 = 2
)

// Properties of NXT_PACKET_IN2 and NXT_RESUME (OVS's nicira-ext.h, NXPINT_*).
const (
	packetInData         = 0
	packetInLength       = 1
	packetInTable        = 3
	packetInCookie       = 4
	packetInReason       = 5
	packetInMetadata     = 6
	packetInUserData     = 7
	packetInContinuation = 8
)

// isPacketIn reports whether an experimenter message is an NXT_PACKET_IN2.
func isPacketIn(m message) bool {
	return m.typ == typeExperimenter && len(m.body) >= 8 && binary.BigEndian.Uint32(m.body) == nxExperimenter &&
		binary.BigEndian.Uint32(m.body[4:]) == nxtPacketIn2
}

// parsePacketIn decodes an NXT_PACKET_IN2. It does not keep the bytes of m.
func parsePacketIn(m message) (*PacketIn, error) {
	if !isPacketIn(m) {
		return nil, fmt.Errorf("message of type %d and %d bytes is not a packet-in", m.typ, len(m.body))
	}
	properties := bytes.Clone(m.body[8:])
	p := &PacketIn{}
	for b := properties; len(b) > 0; {
		typ, element, rest, err := cutTLV(b, 4)
		if err != nil {
			return nil, fmt.Errorf("packet-in: %w", err)
		}
		if err := p.property(typ, element[4:]); err != nil {
			return nil, fmt.Errorf("packet-in: %w", err)
		}
		if typ == packetInContinuation {
			p.properties = properties
		}
		b = rest
	}
	if p.Length == 0 {
		p.Length = uint32(len(p.Data))
	}
	return p, nil
}

func (p *PacketIn) property(typ uint16, data []byte) error {
	want := map[uint16]int{packetInLength: 4, packetInTable: 1, packetInCookie: 12, packetInReason: 1}[typ]
	if len(data) < want {
		return fmt.Errorf("property %d of %d bytes: want at least %d", typ, len(data), want)
	}
	switch typ {
	case packetInData:
		p.Data = data
	case packetInLength:
		p.Length = binary.BigEndian.Uint32(data)
	case packetInTable:
		p.Table = data[0]
	case packetInCookie:
		// 64-bit values are aligned.
		p.Cookie = binary.BigEndian.Uint64(data[4:])
	case packetInReason:
		p.Reason = data[0]
	case packetInMetadata:
		matches, _, err := parseOXMs(data)
		if err != nil {
			return fmt.Errorf("metadata: %w", err)
		}
		p.Metadata = matches
	case packetInUserData:
		p.UserData = data
	}
	return nil
}

// encodeResume returns the NXT_RESUME for p, with changes of its metadata.
func encodeResume(p *PacketIn, changes []Match, v version, xid uint32) ([]byte, error) {
	if !p.Paused() {
		return nil, fmt.Errorf("packet-in of table %d and cookie %#x: the switch does not wait for it, want one of a Controller action with Pause",
			p.Table, p.Cookie)
	}
	changes, err := normalize(changes)
	if err != nil {
		return nil, err
	}
	var body []byte
	seen := false
	for b := p.properties; len(b) > 0; {
		typ, element, rest, err := cutTLV(b, 4)
		if err != nil {
			return nil, fmt.Errorf("packet-in: %w", err)
		}
		switch typ {
		case packetInMetadata:
			seen = true
			metadata, err := changeMetadata(element[4:], changes)
			if err != nil {
				return nil, err
			}
			body = appendProperty(body, typ, metadata)
		// OVS does not want these back.
		case packetInLength, packetInUserData:
		default:
			body = append(body, b[:len(b)-len(rest)]...)
		}
		b = rest
	}
	if !seen && len(changes) > 0 {
		metadata, err := changeMetadata(nil, changes)
		if err != nil {
			return nil, err
		}
		body = appendProperty(body, packetInMetadata, metadata)
	}
	if size := headerSize + 8 + len(body); size > maxMessage {
		return nil, fmt.Errorf("the message has %d bytes, want at most %d", size, maxMessage)
	}
	return append(appendNicira(nil, v, nxtResume, len(body), xid), body...), nil
}

// changeMetadata returns the list of fields b, with changes added or in place of former values.
func changeMetadata(b []byte, changes []Match) ([]byte, error) {
	var out []byte
	for len(b) > 0 {
		r, err := cutOXM(b)
		if err != nil {
			return nil, fmt.Errorf("metadata: %w", err)
		}
		of := r.matches()
		kept := slices.DeleteFunc(slices.Clone(of), func(m Match) bool {
			return slices.ContainsFunc(changes, func(c Match) bool { return c.Field == m.Field })
		})
		if len(kept) == len(of) {
			out = append(out, b[:r.size]...)
		} else {
			for _, m := range kept {
				out = appendOXM(out, m)
			}
		}
		b = b[r.size:]
	}
	for _, c := range changes {
		if c.Mask != nil {
			return nil, fmt.Errorf("change of %v under the mask %#x: want a change of the whole field", c.Field, c.Mask)
		}
		out = appendOXM(out, c)
	}
	return out, nil
}

// PacketOut is a packet for the switch to process.
type PacketOut struct {
	// InPort is the port at which the packet seems to arrive; 0 stands for PortController.
	InPort uint32
	// Actions are applied to it: LoadField sets registers and other metadata, ResubmitFrom with PortInPort and a table
	// sends it through the flows from there on, Output to a port.
	Actions []Action
	// Data is the packet from its Ethernet header on, without checksum.
	Data []byte
}

// encodePacketOut returns the OFPT_PACKET_OUT (OpenFlow 1.3, section 7.3.7; 1.5, section 7.3.6).
func encodePacketOut(p *PacketOut, v version, xid uint32) ([]byte, error) {
	if len(p.Actions) == 0 {
		return nil, fmt.Errorf("packet-out without actions: the switch would drop it")
	}
	actions, err := appendActions(nil, v, p.Actions)
	if err != nil {
		return nil, fmt.Errorf("packet-out: %w", err)
	}
	inPort := p.InPort
	if inPort == 0 {
		inPort = PortController
	}
	var match []byte
	if v != version13 {
		match = appendMatch(nil, []Match{InPort(inPort).exact()})
	}
	const fixed = 16
	size := fixed + len(match) + len(actions) + len(p.Data)
	if v != version13 {
		size -= 8
	}
	if headerSize+size > maxMessage {
		return nil, fmt.Errorf("packet-out of %d bytes of actions and a packet of %d: want at most %d in the message", len(actions), len(p.Data), maxMessage)
	}
	b := appendHeader(nil, v, typePacketOut, size, xid)
	b = binary.BigEndian.AppendUint32(b, noBuffer)
	if v == version13 {
		b = binary.BigEndian.AppendUint32(b, inPort)
	}
	b = binary.BigEndian.AppendUint16(b, uint16(len(actions)))
	if v == version13 {
		b = append(b, 0, 0, 0, 0, 0, 0)
	} else {
		b = append(b, 0, 0)
	}
	return slices.Concat(b, match, actions, p.Data), nil
}
