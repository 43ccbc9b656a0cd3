// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// Values of OpenFlow 1.3, section 7.3.4.2, and 1.5, section 7.3.4.3 (OFPGC_*, OFPG_ALL, OFPG_BUCKET_ALL, OFPGBPT_WEIGHT,
// OFPGPT_EXPERIMENTER).
const (
	groupAdd    = 0
	groupModify = 1
	groupDelete = 2
	groupPut    = 0x8000 // OVS's ofp11_group_mod_command

	groupIDAll = 0xfffffffc
	bucketAll  = 0xffffffff

	bucketPropWeight      = 0
	groupPropExperimenter = 0xffff
)

// The selection method's property (OVS's netronome-ext.h: NTR_VENDOR_ID, NTRT_SELECTION_METHOD; NTR_MAX_SELECTION_METHOD_LEN is 16
// with the final 0).
const (
	ntrExperimenter     = 0x154d
	ntrSelectionMethod  = 1
	ntrMethodSize       = 16
	ntrPropertySize     = 40
	groupTypeFailover   = 3
	bucketHeaderSize13  = 16
	bucketHeaderSize15  = 8
	groupDescHeaderSize = 8
)

// encodeGroupMod returns the OFPT_GROUP_MOD message of mod. Its errors are *GroupError.
func encodeGroupMod(mod *GroupMod, v version, xid uint32) ([]byte, error) {
	data, err := marshalGroupMod(mod, v, xid)
	if err == nil && len(data) > maxBundled {
		err = fmt.Errorf("the message has %d bytes, want at most %d", len(data), maxBundled)
	}
	if err != nil {
		return nil, &GroupError{Group: describeGroup(mod), Err: err}
	}
	binary.BigEndian.PutUint16(data[2:], uint16(len(data)))
	return data, nil
}

func marshalGroupMod(mod *GroupMod, v version, xid uint32) ([]byte, error) {
	g := mod.Group
	var command uint16
	switch mod.Command {
	case GroupAdd, GroupModify, GroupPut:
		command = map[GroupCommand]uint16{GroupAdd: groupAdd, GroupModify: groupModify, GroupPut: groupPut}[mod.Command]
		if err := g.check(v); err != nil {
			return nil, err
		}
	case GroupDelete:
		command, g = groupDelete, GroupEntry{ID: g.ID}
	case GroupDeleteAll:
		return appendGroupHeader(nil, v, xid, groupDelete, GroupEntry{ID: groupIDAll}, 0), nil
	default:
		return nil, fmt.Errorf("unknown command %d: want GroupAdd, GroupModify, GroupPut, GroupDelete or GroupDeleteAll", mod.Command)
	}
	if err := checkGroupID(g.ID); err != nil {
		return nil, err
	}
	buckets, err := encodeBuckets(g, v)
	if err != nil {
		return nil, err
	}
	b := append(appendGroupHeader(nil, v, xid, command, g, len(buckets)), buckets...)
	if g.Selection != nil {
		b = appendSelection(b, g.Selection)
	}
	return b, nil
}

// appendGroupHeader appends the OpenFlow header, without the length, and the fixed part of an OFPT_GROUP_MOD.
func appendGroupHeader(b []byte, v version, xid uint32, command uint16, g GroupEntry, bucketsSize int) []byte {
	b = appendHeader(b, v, typeGroupMod, 0, xid)
	b = binary.BigEndian.AppendUint16(b, command)
	b = append(b, byte(g.Type), 0)
	b = binary.BigEndian.AppendUint32(b, g.ID)
	if v == version13 {
		return b
	}
	b = binary.BigEndian.AppendUint16(b, uint16(bucketsSize))
	b = append(b, 0, 0)
	return binary.BigEndian.AppendUint32(b, bucketAll)
}

// encodeBuckets returns the buckets of g. With OpenFlow 1.5 they have ids, which count from 0.
func encodeBuckets(g GroupEntry, v version) ([]byte, error) {
	var b []byte
	for i, bucket := range g.Buckets {
		actions, err := appendActions(nil, v, bucket.Actions)
		if err != nil {
			return nil, fmt.Errorf("bucket %d: %w", i, err)
		}
		if v == version13 {
			b = binary.BigEndian.AppendUint16(b, uint16(min(bucketHeaderSize13+len(actions), math.MaxUint16)))
			b = binary.BigEndian.AppendUint16(b, bucket.Weight)
			b = binary.BigEndian.AppendUint32(b, portAny)
			b = binary.BigEndian.AppendUint32(b, groupAny)
			b = append(append(b, 0, 0, 0, 0), actions...)
		} else {
			const weightSize = 8
			properties := 0
			if g.Type == GroupSelect {
				properties = weightSize
			}
			b = binary.BigEndian.AppendUint16(b, uint16(min(bucketHeaderSize15+len(actions)+properties, math.MaxUint16)))
			b = binary.BigEndian.AppendUint16(b, uint16(min(len(actions), math.MaxUint16)))
			b = append(binary.BigEndian.AppendUint32(b, uint32(i)), actions...)
			if properties > 0 {
				b = appendProperty(b, bucketPropWeight, []byte{byte(bucket.Weight >> 8), byte(bucket.Weight), 0, 0})
			}
		}
		if len(b) > maxBundled {
			return nil, fmt.Errorf("buckets 0 to %d have %d bytes: want at most %d in one message", i, len(b), maxBundled)
		}
	}
	return b, nil
}

func appendSelection(b []byte, s *Selection) []byte {
	start := len(b)
	b = binary.BigEndian.AppendUint16(b, groupPropExperimenter)
	b = append(b, 0, 0)
	b = binary.BigEndian.AppendUint32(b, ntrExperimenter)
	b = binary.BigEndian.AppendUint32(b, ntrSelectionMethod)
	b = append(b, 0, 0, 0, 0)
	b = append(b, s.Method...)
	b = append(b, make([]byte, ntrMethodSize-len(s.Method))...)
	b = binary.BigEndian.AppendUint64(b, s.Param)
	for _, f := range slices.Sorted(slices.Values(s.Fields)) {
		// The value of a field is the mask of the bits to hash.
		mask := make([]byte, f.spec().bytes())
		for i := range mask {
			mask[i] = 0xff
		}
		b = appendOXM(b, Match{Field: f, Value: mask})
	}
	binary.BigEndian.PutUint16(b[start+2:], uint16(len(b)-start))
	return pad8(b, start)
}

// parseGroupDescs decodes the groups of one OFPMP_GROUP_DESC reply.
func parseGroupDescs(m message) ([]GroupEntry, error) {
	b, err := multipartBody(m, multipartGroupDesc)
	if err != nil {
		return nil, err
	}
	var groups []GroupEntry
	for len(b) > 0 {
		if len(b) < groupDescHeaderSize {
			return nil, fmt.Errorf("group description of %d bytes: want at least %d", len(b), groupDescHeaderSize)
		}
		n := int(binary.BigEndian.Uint16(b))
		if n < groupDescHeaderSize || n > len(b) {
			return nil, fmt.Errorf("group description of the length %d: want %d..%d", n, groupDescHeaderSize, len(b))
		}
		g, err := parseGroupDesc(b[:n], m.version)
		if err != nil {
			return nil, fmt.Errorf("description of group %d: %w", binary.BigEndian.Uint32(b[4:]), err)
		}
		groups = append(groups, g)
		b = b[n:]
	}
	return groups, nil
}

// parseGroupDesc decodes one description of at least groupDescHeaderSize bytes.
func parseGroupDesc(b []byte, v version) (GroupEntry, error) {
	g := GroupEntry{Type: GroupType(b[2]), ID: binary.BigEndian.Uint32(b[4:])}
	if g.Type >= groupTypeFailover {
		return g, fmt.Errorf("unknown type %d", g.Type)
	}
	if v == version13 {
		err := g.parseBuckets13(b[groupDescHeaderSize:])
		return g, err
	}
	const headerSize15 = 16
	if len(b) < headerSize15 {
		return g, fmt.Errorf("%d bytes: want at least %d", len(b), headerSize15)
	}
	size := int(binary.BigEndian.Uint16(b[8:]))
	b = b[headerSize15:]
	if size > len(b) {
		return g, fmt.Errorf("buckets of %d bytes: only %d are left", size, len(b))
	}
	if err := g.parseBuckets15(b[:size]); err != nil {
		return g, err
	}
	for b = b[size:]; len(b) > 0; {
		typ, element, rest, err := cutTLV(b, 4)
		if err != nil {
			return g, fmt.Errorf("property: %w", err)
		}
		if typ == groupPropExperimenter {
			if g.Selection, err = parseSelection(element); err != nil {
				return g, err
			}
		}
		b = rest
	}
	return g, nil
}

func (g *GroupEntry) parseBuckets13(b []byte) error {
	for len(b) > 0 {
		if len(b) < bucketHeaderSize13 {
			return fmt.Errorf("bucket of %d bytes: want at least %d", len(b), bucketHeaderSize13)
		}
		n := int(binary.BigEndian.Uint16(b))
		if n < bucketHeaderSize13 || n > len(b) {
			return fmt.Errorf("bucket of the length %d: want %d..%d", n, bucketHeaderSize13, len(b))
		}
		actions, err := parseActions(b[bucketHeaderSize13:n])
		if err != nil {
			return fmt.Errorf("bucket %d: %w", len(g.Buckets), err)
		}
		bucket := Bucket{Actions: actions}
		if g.Type == GroupSelect {
			bucket.Weight = binary.BigEndian.Uint16(b[2:])
		}
		g.Buckets = append(g.Buckets, bucket)
		b = b[n:]
	}
	return nil
}

func (g *GroupEntry) parseBuckets15(b []byte) error {
	for len(b) > 0 {
		if len(b) < bucketHeaderSize15 {
			return fmt.Errorf("bucket of %d bytes: want at least %d", len(b), bucketHeaderSize15)
		}
		n, size := int(binary.BigEndian.Uint16(b)), int(binary.BigEndian.Uint16(b[2:]))
		if n < bucketHeaderSize15+size || n > len(b) {
			return fmt.Errorf("bucket of the length %d with actions of %d bytes: %d are left", n, size, len(b))
		}
		actions, err := parseActions(b[bucketHeaderSize15 : bucketHeaderSize15+size])
		if err != nil {
			return fmt.Errorf("bucket %d: %w", len(g.Buckets), err)
		}
		bucket := Bucket{Actions: actions}
		for properties := b[bucketHeaderSize15+size : n]; len(properties) > 0; {
			typ, element, rest, err := cutTLV(properties, 8)
			if err != nil {
				return fmt.Errorf("property of bucket %d: %w", len(g.Buckets), err)
			}
			if typ == bucketPropWeight && g.Type == GroupSelect {
				bucket.Weight = binary.BigEndian.Uint16(element[4:])
			}
			properties = rest
		}
		g.Buckets = append(g.Buckets, bucket)
		b = b[n:]
	}
	return nil
}

// parseSelection decodes an experimenter's property; it returns nil for another experimenter's.
func parseSelection(b []byte) (*Selection, error) {
	if len(b) < 12 || binary.BigEndian.Uint32(b[4:]) != ntrExperimenter || binary.BigEndian.Uint32(b[8:]) != ntrSelectionMethod {
		return nil, nil
	}
	if len(b) < ntrPropertySize {
		return nil, fmt.Errorf("selection method of %d bytes: want at least %d", len(b), ntrPropertySize)
	}
	method := b[16 : 16+ntrMethodSize]
	if end := slices.Index(method, 0); end >= 0 {
		method = method[:end]
	}
	if len(method) == 0 {
		return nil, nil
	}
	fields, _, err := parseOXMs(b[ntrPropertySize:])
	if err != nil {
		return nil, fmt.Errorf("selection method: %w", err)
	}
	s := &Selection{Method: string(method), Param: binary.BigEndian.Uint64(b[32:])}
	for _, f := range fields {
		s.Fields = append(s.Fields, f.Field)
	}
	return s, nil
}
