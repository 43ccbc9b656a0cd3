// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// oxmID is class and number of a field in an OXM or NXM header (OpenFlow 1.3, section 7.2.3.2; OVS's nicira-ext.h), shifted as
// in the header: class << 16 | number << 9.
type oxmID uint32

const (
	classNXMOF        = 0x0000
	classNXMNX        = 0x0001
	classOXM          = 0x8000
	classExperimenter = 0xffff
)

// nxm is a field of class NXM_OF, nx one of NXM_NX, oxm one of OFPXMC_OPENFLOW_BASIC.
func nxm(number int) oxmID { return classNXMOF<<16 | oxmID(number)<<9 }
func nx(number int) oxmID  { return classNXMNX<<16 | oxmID(number)<<9 }
func oxm(number int) oxmID { return classOXM<<16 | oxmID(number)<<9 }

// oxmDSCP is the field as which OVS sends FieldIPTOS in OpenFlow 1.2 and later: the DSCP, shifted to the low bits.
const oxmDSCP oxmID = classOXM<<16 | 8<<9

// nxmInPort is the whole header of NXM_OF_IN_PORT, which has a port of OpenFlow 1.0 in 16 bits.
const nxmInPort uint32 = 2

const (
	oxmHasMask    = 1 << 8
	oxmHeaderSize = 4
)

// fieldsByID has all ids of a field under which its value has full length. NXM_OF_IN_PORT, whose id is 0, has not.
var fieldsByID = func() map[oxmID]Field {
	m := map[oxmID]Field{}
	for f := Field(1); f < numFields; f++ {
		m[f.spec().id] = f
		if other := f.spec().other; other != 0 {
			m[other] = f
		}
	}
	return m
}()

// oxmHeader is the header of field f without mask, as actions use it; f must have a spec.
func oxmHeader(f Field) uint32 { return uint32(f.spec().id) | uint32(f.spec().bytes()) }

// appendOXM appends a field with its value, and mask unless nil; m has passed check.
func appendOXM(b []byte, m Match) []byte {
	if field := libraryMatch(m); field != nil {
		if data, err := field.MarshalBinary(); err == nil {
			return append(b, data...)
		}
	}
	header := oxmHeader(m.Field)
	if m.Mask != nil {
		header = uint32(m.Field.spec().id) | oxmHasMask | uint32(2*len(m.Mask))
	}
	b = binary.BigEndian.AppendUint32(b, header)
	b = append(b, m.Value...)
	return append(b, m.Mask...)
}

// rawOXM is one field of a received list.
type rawOXM struct {
	header      uint32
	value, mask []byte
	// size is the number of bytes of header, value and mask together.
	size int
}

// cutOXM decodes the first field of b.
func cutOXM(b []byte) (rawOXM, error) {
	if len(b) < oxmHeaderSize {
		return rawOXM{}, fmt.Errorf("%d bytes left for a field: want at least %d", len(b), oxmHeaderSize)
	}
	header := binary.BigEndian.Uint32(b)
	n := int(header & 0xff)
	if len(b) < oxmHeaderSize+n {
		return rawOXM{}, fmt.Errorf("field %#x of %d bytes: only %d are left", header, n, len(b)-oxmHeaderSize)
	}
	r := rawOXM{header: header, value: b[oxmHeaderSize : oxmHeaderSize+n], size: oxmHeaderSize + n}
	if header&oxmHasMask != 0 {
		if n%2 != 0 {
			return rawOXM{}, fmt.Errorf("field %#x has value and mask in %d bytes: want an even number", header, n)
		}
		r.value, r.mask = r.value[:n/2], r.value[n/2:]
	}
	return r, nil
}

// match returns the Match that r is; ok is false for a field that this package does not know.
func (r rawOXM) match() (m Match, ok bool) {
	id := oxmID(r.header &^ (oxmHasMask | 0xff))
	if id == oxmDSCP && len(r.value) == 1 && r.mask == nil {
		return Match{Field: FieldIPTOS, Value: []byte{r.value[0] << 2}}, true
	}
	if r.header == nxmInPort {
		return Match{Field: FieldInPort, Value: binary.BigEndian.AppendUint32(nil, port32(binary.BigEndian.Uint16(r.value)))}, true
	}
	f := fieldsByID[id]
	if f == 0 || len(r.value) != f.spec().bytes() {
		return Match{}, false
	}
	return Match{Field: f, Value: bytes.Clone(r.value), Mask: bytes.Clone(r.mask)}, true
}

// xregID is class and number of the first of the 64-bit registers (OpenFlow 1.5, section 7.2.3.10, OFPXMC_PACKET_REGS): register 2n
// in the upper half, 2n+1 in the lower. OVS sends registers in this form in OpenFlow 1.5.
const xregID oxmID = 0x8001 << 16

// matches returns the matches that r stands for, none for a field that this package does not know.
func (r rawOXM) matches() []Match {
	id := oxmID(r.header &^ (oxmHasMask | 0xff))
	if n := (id - xregID) >> 9; id >= xregID && n < numRegs/2 && len(r.value) == 8 {
		var out []Match
		for half := range Field(2) {
			m := Match{Field: FieldReg0 + 2*Field(n) + half, Value: bytes.Clone(r.value[4*half : 4*half+4])}
			if r.mask != nil {
				m.Mask = bytes.Clone(r.mask[4*half : 4*half+4])
			}
			if r.mask == nil || !allBytes(m.Mask, 0) {
				out = append(out, m.exact())
			}
		}
		return out
	}
	if m, ok := r.match(); ok {
		return []Match{m}
	}
	return nil
}

// fieldOfHeader returns the field with an OXM header as actions have it.
func fieldOfHeader(header uint32) (Field, error) {
	f := fieldsByID[oxmID(header&^(oxmHasMask|0xff))]
	if f == 0 {
		return 0, fmt.Errorf("unknown field %#x", header)
	}
	return f, nil
}

// parseOXMs decodes a list of fields. It leaves out fields that this package does not know, and returns their number.
func parseOXMs(b []byte) (matches []Match, unknown int, err error) {
	for len(b) > 0 {
		r, err := cutOXM(b)
		if err != nil {
			return nil, 0, err
		}
		of := r.matches()
		if len(of) == 0 {
			unknown++
		}
		matches = append(matches, of...)
		b = b[r.size:]
	}
	return matches, unknown, nil
}

// matchTypeOXM is OFPMT_OXM (OpenFlow 1.3, section 7.2.3).
const matchTypeOXM = 1

// appendMatch appends an ofp_match of the fields, padded to 8 bytes.
func appendMatch(b []byte, matches []Match) []byte {
	start := len(b)
	b = append(b, 0, matchTypeOXM, 0, 0)
	for _, m := range matches {
		b = appendOXM(b, m)
	}
	binary.BigEndian.PutUint16(b[start+2:], uint16(len(b)-start))
	return pad8(b, start)
}

// cutMatch decodes the ofp_match at the start of b and returns what follows its padding.
func cutMatch(b []byte) (matches []Match, unknown int, rest []byte, err error) {
	if len(b) < 4 {
		return nil, 0, nil, fmt.Errorf("match of %d bytes: want at least 4", len(b))
	}
	typ, length := binary.BigEndian.Uint16(b), int(binary.BigEndian.Uint16(b[2:]))
	if typ != matchTypeOXM || length < 4 || padded8(length) > len(b) {
		return nil, 0, nil, fmt.Errorf("match of type %d and length %d: want type %d and a length of 4..%d", typ, length, matchTypeOXM, len(b))
	}
	matches, unknown, err = parseOXMs(b[4:length])
	return matches, unknown, b[padded8(length):], err
}

func padded8(n int) int { return (n + 7) / 8 * 8 }

// pad8 appends zeros until the length of b from start on is a multiple of 8 bytes.
func pad8(b []byte, start int) []byte {
	return append(b, make([]byte, padded8(len(b)-start)-(len(b)-start))...)
}

// exact returns m, without its mask if all bits of it are set.
func (m Match) exact() Match {
	if allBytes(m.Mask, 0xff) {
		m.Mask = nil
	}
	return m
}
