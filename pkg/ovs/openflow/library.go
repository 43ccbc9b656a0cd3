// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"fmt"

	ofp "github.com/contiv/libOpenflow/openflow13"
)

// This file has all uses of libOpenflow, so that it can be replaced: they are what the library encodes correctly. doc.go lists what
// it lacks or gets wrong, which is encoded in other files.

// libraryMessage is encoded by the library: an action, an instruction or a field of a match.
type libraryMessage interface{ MarshalBinary() ([]byte, error) }

func appendLibrary(b []byte, m libraryMessage) ([]byte, error) {
	data, err := m.MarshalBinary()
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", m, err)
	}
	return append(b, data...), nil
}

// libraryField returns the field's header without value, with or without mask, nil for a field that the library does not know.
func libraryField(f Field, masked bool) *ofp.MatchField {
	header, err := ofp.FindFieldHeaderByName(f.spec().header, masked)
	if err != nil {
		return nil
	}
	return header
}

// libraryBytes is a value or mask in the library's form. It replaces the library's own constructors, which are missing for some
// fields and wrong for others (the mask of bits 0..0 is 0).
func libraryBytes(b []byte) *ofp.ByteArrayField {
	return &ofp.ByteArrayField{Data: b, Length: uint8(len(b))}
}

// libraryMatch is a field of a match with its value, and mask unless nil.
func libraryMatch(m Match) libraryMessage {
	field := libraryField(m.Field, m.Mask != nil)
	if field == nil {
		return nil
	}
	field.Value = libraryBytes(m.Value)
	if m.Mask != nil {
		field.Mask = libraryBytes(m.Mask)
	}
	return field
}

func librarySetField(m Match) libraryMessage {
	field := libraryField(m.Field, false)
	if field == nil {
		return nil
	}
	field.Value = libraryBytes(m.Value)
	return ofp.NewActionSetField(*field)
}

func libraryLoad(a LoadField) libraryMessage {
	field := libraryField(a.Field, false)
	if field == nil {
		return nil
	}
	return ofp.NewNXActionRegLoad(ofsNbits(a.Range), field, a.Value)
}

func libraryMove(a MoveField) libraryMessage {
	src, dst := libraryField(a.Src, false), libraryField(a.Dst, false)
	if src == nil || dst == nil {
		return nil
	}
	return ofp.NewNXActionRegMove(a.SrcRange.width(), uint16(a.SrcRange.From), uint16(a.DstRange.From), src, dst)
}

func libraryOutputField(a OutputField) libraryMessage {
	field := libraryField(a.Field, false)
	if field == nil {
		return nil
	}
	return ofp.NewOutputFromField(field, ofsNbits(a.Range))
}

func libraryOutput(port uint32) libraryMessage {
	a := ofp.NewActionOutput(port)
	a.MaxLen = controllerMaxLen
	return a
}

func libraryResubmit(table uint8) libraryMessage {
	return ofp.NewNXActionResubmitTableAction(ofp.OFPP_IN_PORT, table)
}

// libraryConjunction counts clauses from 0, as the wire does.
func libraryConjunction(a Conjunction) libraryMessage {
	return ofp.NewNXActionConjunction(a.Clause-1, a.NClauses, a.ID)
}

func libraryDecTTL() libraryMessage { return ofp.NewActionDecNwTtl() } // its NXAST_DEC_TTL is refused by OVS

func libraryGotoTable(table uint8) libraryMessage { return ofp.NewInstrGotoTable(table) }
