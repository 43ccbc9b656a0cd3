// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"encoding/binary"
	"fmt"
	"math"

	ofp "github.com/contiv/libOpenflow/openflow13"
)

// tableAll is every table, in deletions (OpenFlow 1.3, section A.3.4.1, OFPTT_ALL).
const tableAll = 0xff

// outGroupOffset is where ofp_flow_mod has out_group (OpenFlow 1.3, section A.3.4.1).
const outGroupOffset = 40

// maxMessage is the largest message that fits the 16-bit length of the header.
const maxMessage = math.MaxUint16

// FlowError is the refusal of one FlowMod of a Commit, by this package or by the switch.
type FlowError struct {
	// Flow is Flow.String of the flow, or what DeleteByCookie was to delete.
	Flow string
	Err  error
}

func (e *FlowError) Error() string { return fmt.Sprintf("flow %q: %v", e.Flow, e.Err) }

func (e *FlowError) Unwrap() error { return e.Err }

func describe(mod *FlowMod) string {
	switch mod.Command {
	case Add:
		return mod.Flow.String()
	case DeleteStrict:
		return "delete " + mod.Flow.Key()
	case DeleteByCookie:
		return fmt.Sprintf("delete cookie=%#x/%#x", mod.Flow.Cookie, mod.CookieMask)
	}
	return fmt.Sprintf("command %d of %s", mod.Command, mod.Flow.Key())
}

// encodeFlowMod returns the OFPT_FLOW_MOD message of mod. Its errors are *FlowError.
func encodeFlowMod(mod *FlowMod, xid uint32) ([]byte, error) {
	data, err := marshalFlowMod(mod, xid)
	if err != nil {
		return nil, &FlowError{Flow: describe(mod), Err: err}
	}
	return data, nil
}

func marshalFlowMod(mod *FlowMod, xid uint32) ([]byte, error) {
	m := ofp.NewFlowMod()
	m.Xid = xid
	switch mod.Command {
	case Add:
		if err := fillFlow(m, &mod.Flow); err != nil {
			return nil, err
		}
		m.Cookie = mod.Flow.Cookie
		instructions, size, err := encodeActions(mod.Flow.Actions, mod.Flow.Table)
		if err != nil {
			return nil, err
		}
		// The library adds lengths in 16 bits without a check.
		if total := int(m.Len()) + size; total > maxBundled {
			return nil, fmt.Errorf("the message has %d bytes, want at most %d", total, maxBundled)
		}
		for _, instr := range instructions {
			m.AddInstruction(instr)
		}
	case DeleteStrict:
		// A strict deletion would otherwise also ask for an equal cookie: mask 0 means any.
		m.Command = ofp.FC_DELETE_STRICT
		if err := fillFlow(m, &mod.Flow); err != nil {
			return nil, err
		}
	case DeleteByCookie:
		if mod.CookieMask == 0 {
			return nil, fmt.Errorf("the cookie mask 0 would delete every flow of the switch: want a mask with bits set")
		}
		m.Command = ofp.FC_DELETE
		m.TableId = tableAll
		m.Cookie, m.CookieMask = mod.Flow.Cookie, mod.CookieMask
	default:
		return nil, fmt.Errorf("unknown command %d: want Add, DeleteStrict or DeleteByCookie", mod.Command)
	}
	data, err := m.MarshalBinary()
	if err != nil {
		return nil, fmt.Errorf("marshal flow mod: %w", err)
	}
	// The library writes out_port here: were out_port ever set, a deletion would be wider than asked.
	binary.BigEndian.PutUint32(data[outGroupOffset:], ofp.OFPG_ANY)
	return data, nil
}

func fillFlow(m *ofp.FlowMod, f *Flow) error {
	if f.Table == tableAll {
		return fmt.Errorf("table %d: want 0..%d, %d stands for all tables", f.Table, tableAll-1, tableAll)
	}
	m.TableId, m.Priority = f.Table, f.Priority
	matches, err := normalize(f.Match)
	if err != nil {
		return err
	}
	for _, match := range matches {
		field, err := ofp.FindFieldHeaderByName(match.Field.spec().header, match.Mask != nil)
		if err != nil {
			return fmt.Errorf("match on %v: %w", match.Field, err)
		}
		field.Value = rawBytes(match.Value)
		if match.Mask != nil {
			field.Mask = rawBytes(match.Mask)
		}
		m.Match.AddField(*field)
	}
	return nil
}

// rawBytes is the payload of an OXM as the library wants it: values and masks are made by this package, since the
// library's own constructors are missing for some fields and wrong for others (NXRange(0,0) has the mask 0).
func rawBytes(b []byte) *ofp.ByteArrayField {
	return &ofp.ByteArrayField{Data: b, Length: uint8(len(b))}
}
