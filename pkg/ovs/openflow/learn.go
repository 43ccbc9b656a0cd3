// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// Learn adds a flow to Table, or replaces it, whenever a packet executes it (NXAST_LEARN, with Limit NXAST_LEARN2).
type Learn struct {
	Table    uint8
	Priority uint16
	Cookie   uint64
	// IdleTimeout and HardTimeout are in seconds; 0 means none. FinIdleTimeout and FinHardTimeout replace them once a TCP FIN or
	// RST has hit the learned flow.
	IdleTimeout, HardTimeout, FinIdleTimeout, FinHardTimeout uint16
	// SendFlowRemoved makes the switch report the end of the learned flow.
	SendFlowRemoved bool
	// DeleteLearned deletes the learned flows with the flow that has this action.
	DeleteLearned bool
	// Limit is the number of flows in Table with Cookie at which flows are no longer added or replaced; 0 means none.
	// The packet still executes its other actions.
	Limit uint32
	Specs []LearnSpec
}

// LearnKind is the kind of a LearnSpec.
type LearnKind uint8

const (
	// LearnMatch makes the learned flow match Dst.
	LearnMatch LearnKind = iota
	// LearnLoad makes it load Dst.
	LearnLoad
	// LearnOutput makes it output to the port in Src.
	LearnOutput
)

// LearnSpec is one match or action of the learned flow. Its value is taken from the packet that executes the learn
// action (Src), or constant (Value).
type LearnSpec struct {
	Kind     LearnKind
	Dst      Field
	DstRange Range
	// Src 0 means Value, which is not allowed with LearnOutput.
	Src      Field
	SrcRange Range
	// Value is big endian in as many bytes as the bits of DstRange need; the bits above them are 0.
	Value []byte
}

// LearnField makes the learned flow match the field f of the packet that is learned from. Like the constructors below it panics
// when a field is none of the Field constants.
func LearnField(f Field) LearnSpec { return LearnCopy(f, f) }

// LearnCopy makes the learned flow match dst where the packet that is learned from has src.
func LearnCopy(dst, src Field) LearnSpec {
	return LearnSpec{Kind: LearnMatch, Dst: dst, DstRange: dst.spec().whole(), Src: src, SrcRange: src.spec().whole()}
}

// LearnValue makes the learned flow match value in all of f, which has at most 64 bits.
func LearnValue(f Field, value uint64) LearnSpec {
	s := LearnSpec{Kind: LearnMatch, Dst: f, DstRange: f.spec().whole()}
	s.Value = learnBytes(s.DstRange, value)
	return s
}

// LearnLoadValue makes the learned flow load value into f[r].
func LearnLoadValue(f Field, r Range, value uint64) LearnSpec {
	return LearnSpec{Kind: LearnLoad, Dst: f, DstRange: r, Value: learnBytes(r, value)}
}

// LearnLoadField makes the learned flow load src[srcRange] of the packet that is learned from into dst[dstRange].
func LearnLoadField(dst Field, dstRange Range, src Field, srcRange Range) LearnSpec {
	return LearnSpec{Kind: LearnLoad, Dst: dst, DstRange: dstRange, Src: src, SrcRange: srcRange}
}

// learnBytes is value in as many bytes as r needs.
func learnBytes(r Range, value uint64) []byte {
	n := (int(r.width()) + 7) / 8
	b := binary.BigEndian.AppendUint64(make([]byte, max(n-8, 0)), value)
	return b[len(b)-n:]
}

// Bits of a specification's header, and flags of the action (OVS's nicira-ext.h, NX_LEARN_*).
const (
	learnBitsMask  = 0x3ff
	learnImmediate = 1 << 13
	learnKindShift = 11
	learnKindMask  = 3

	learnSendFlowRemoved = 1
	learnDeleteLearned   = 2

	learnWriteResult = 4

	// learnHeaderSize is the size of nx_action_learn without specifications, learn2HeaderSize the size of
	// nx_action_learn2.
	learnHeaderSize  = 32
	learn2HeaderSize = 40
)

func appendLearn(b []byte, a Learn) ([]byte, error) {
	if a.Table == tableAll {
		return nil, fmt.Errorf("table %d: want 0..%d", a.Table, tableAll-1)
	}
	start := len(b)
	if a.Limit == 0 {
		b = appendNX(b, nxLearn)
	} else {
		b = appendNX(b, nxLearn2)
	}
	b = binary.BigEndian.AppendUint16(b, a.IdleTimeout)
	b = binary.BigEndian.AppendUint16(b, a.HardTimeout)
	b = binary.BigEndian.AppendUint16(b, a.Priority)
	b = binary.BigEndian.AppendUint64(b, a.Cookie)
	var flags uint16
	if a.SendFlowRemoved {
		flags |= learnSendFlowRemoved
	}
	if a.DeleteLearned {
		flags |= learnDeleteLearned
	}
	b = binary.BigEndian.AppendUint16(b, flags)
	b = append(b, a.Table, 0)
	b = binary.BigEndian.AppendUint16(b, a.FinIdleTimeout)
	b = binary.BigEndian.AppendUint16(b, a.FinHardTimeout)
	if a.Limit != 0 {
		b = append(binary.BigEndian.AppendUint32(b, a.Limit), 0, 0, 0, 0) // no field gets the result
	}
	for i := range a.Specs {
		if err := a.Specs[i].check(); err != nil {
			return nil, fmt.Errorf("specification %s: %w", learnSpecText(&a.Specs[i]), err)
		}
		b = appendLearnSpec(b, &a.Specs[i])
	}
	return endAction(b, start), nil
}

func (s *LearnSpec) check() error {
	if s.Kind > LearnOutput {
		return fmt.Errorf("unknown kind %d: want LearnMatch, LearnLoad or LearnOutput", s.Kind)
	}
	if s.Src != 0 {
		if err := s.SrcRange.check(s.Src); err != nil {
			return err
		}
	}
	if s.Kind == LearnOutput {
		if s.Src == 0 {
			return fmt.Errorf("want the field that has the port")
		}
		return nil
	}
	if err := s.DstRange.check(s.Dst); err != nil {
		return err
	}
	width := s.DstRange.width()
	if s.Src != 0 {
		if s.SrcRange.width() != width {
			return fmt.Errorf("the source has %d bits and the destination %d: want equal numbers", s.SrcRange.width(), width)
		}
		return nil
	}
	want := (int(width) + 7) / 8
	if len(s.Value) != want || (width%8 != 0 && s.Value[0]>>(width%8) != 0) {
		return fmt.Errorf("the value %#x: want %d bytes with a value of at most %d bits", s.Value, want, width)
	}
	return nil
}

func appendLearnSpec(b []byte, s *LearnSpec) []byte {
	width := s.DstRange.width()
	if s.Kind == LearnOutput {
		width = s.SrcRange.width()
	}
	header := uint16(s.Kind)<<learnKindShift | width
	if s.Src == 0 {
		b = binary.BigEndian.AppendUint16(b, header|learnImmediate)
		// Constants are in units of 2 bytes.
		b = append(b, make([]byte, len(s.Value)%2)...)
		b = append(b, s.Value...)
	} else {
		b = binary.BigEndian.AppendUint16(b, header)
		b = appendSubfield(b, s.Src, s.SrcRange)
	}
	if s.Kind != LearnOutput {
		b = appendSubfield(b, s.Dst, s.DstRange)
	}
	return b
}

func appendSubfield(b []byte, f Field, r Range) []byte {
	b = binary.BigEndian.AppendUint32(b, oxmHeader(f))
	return binary.BigEndian.AppendUint16(b, uint16(r.From))
}

// parseLearn decodes an NXAST_LEARN, or an NXAST_LEARN2 if limited is set; b is the whole action.
func parseLearn(b []byte, limited bool) (Action, error) {
	size := learnHeaderSize
	if limited {
		size = learn2HeaderSize
	}
	if len(b) < size {
		return nil, fmt.Errorf("learn of %d bytes: want at least %d", len(b), size)
	}
	flags := binary.BigEndian.Uint16(b[24:])
	a := Learn{
		IdleTimeout: binary.BigEndian.Uint16(b[10:]), HardTimeout: binary.BigEndian.Uint16(b[12:]),
		Priority: binary.BigEndian.Uint16(b[14:]), Cookie: binary.BigEndian.Uint64(b[16:]),
		SendFlowRemoved: flags&learnSendFlowRemoved != 0, DeleteLearned: flags&learnDeleteLearned != 0,
		Table: b[26], FinIdleTimeout: binary.BigEndian.Uint16(b[28:]), FinHardTimeout: binary.BigEndian.Uint16(b[30:]),
	}
	if limited {
		a.Limit = binary.BigEndian.Uint32(b[learnHeaderSize:])
	}
	if flags&learnWriteResult != 0 {
		return nil, fmt.Errorf("learn with flags %#x: a field for the result is not supported", flags)
	}
	for b = b[size:]; len(b) >= 2 && binary.BigEndian.Uint16(b) != 0; {
		spec, n, err := parseLearnSpec(b)
		if err != nil {
			return nil, err
		}
		a.Specs = append(a.Specs, spec)
		b = b[n:]
	}
	return a, nil
}

// parseLearnSpec decodes the specification at the start of b and returns its size.
func parseLearnSpec(b []byte) (s LearnSpec, size int, err error) {
	header := binary.BigEndian.Uint16(b)
	width := header & learnBitsMask
	s.Kind = LearnKind(header >> learnKindShift & learnKindMask)
	size = 2
	take := func(n int) ([]byte, error) {
		if len(b) < size+n {
			return nil, fmt.Errorf("learn specification %#x: %d bytes left, want %d", header, len(b)-size, n)
		}
		size += n
		return b[size-n : size], nil
	}
	if width == 0 || s.Kind > LearnOutput {
		return s, 0, fmt.Errorf("learn specification %#x: unknown kind or no bits", header)
	}
	if header&learnImmediate != 0 {
		units := (int(width) + 15) / 16 * 2
		value, err := take(units)
		if err != nil {
			return s, 0, err
		}
		s.Value = slices.Clone(value[units-(int(width)+7)/8:])
	} else {
		sub, err := take(6)
		if err != nil {
			return s, 0, err
		}
		if s.Src, s.SrcRange, err = parseSubfield(sub, width); err != nil {
			return s, 0, err
		}
	}
	if s.Kind == LearnOutput {
		return s, size, nil
	}
	sub, err := take(6)
	if err != nil {
		return s, 0, err
	}
	s.Dst, s.DstRange, err = parseSubfield(sub, width)
	return s, size, err
}

// parseSubfield decodes header and offset of 6 bytes.
func parseSubfield(b []byte, width uint16) (Field, Range, error) {
	f, err := fieldOfHeader(binary.BigEndian.Uint32(b))
	if err != nil {
		return 0, Range{}, err
	}
	r, err := rangeOf(f, binary.BigEndian.Uint16(b[4:]), width)
	return f, r, err
}

// rangeOf is the range of width bits of f that begins at the bit from.
func rangeOf(f Field, from, width uint16) (Range, error) {
	if width == 0 || uint32(from)+uint32(width) > uint32(f.spec().bits) {
		return Range{}, fmt.Errorf("%d bits from bit %d on: %v has %d bits", width, from, f, f.spec().bits)
	}
	return Range{uint8(from), uint8(from + width - 1)}, nil
}
