// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"encoding/binary"
	"fmt"
	"math"
)

// tableAll is every table, in deletions (OpenFlow 1.3, section A.3.4.1, OFPTT_ALL).
const tableAll = 0xff

// maxMessage is the largest message that fits the 16-bit length of the header.
const maxMessage = math.MaxUint16

// Values of OpenFlow 1.3, section A.3.4.1 (OFPFC_*, OFP_NO_BUFFER, OFPP_ANY, OFPG_ANY).
const (
	flowAdd          = 0
	flowDelete       = 3
	flowDeleteStrict = 4

	noBuffer = 0xffffffff
	portAny  = 0xffffffff
	groupAny = 0xffffffff
)

// FlowError is the refusal of one FlowMod of a Commit, by this package or by the switch.
type FlowError struct {
	// Flow is Flow.String of the flow, or a description of the flows to delete.
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
func encodeFlowMod(mod *FlowMod, v version, xid uint32) ([]byte, error) {
	data, err := marshalFlowMod(mod, v, xid)
	if err == nil && len(data) > maxBundled {
		err = fmt.Errorf("the message has %d bytes, want at most %d", len(data), maxBundled)
	}
	if err != nil {
		return nil, &FlowError{Flow: describe(mod), Err: err}
	}
	binary.BigEndian.PutUint16(data[2:], uint16(len(data)))
	return data, nil
}

// flowHeader precedes the match of an OFPT_FLOW_MOD.
type flowHeader struct {
	cookie, cookieMask       uint64
	table, command           uint8
	idleTimeout, hardTimeout uint16
	priority                 uint16
}

// append appends the OpenFlow header, without the length, and the fixed part of an OFPT_FLOW_MOD.
func (h flowHeader) append(b []byte, v version, xid uint32) []byte {
	b = appendHeader(b, v, typeFlowMod, 0, xid)
	b = binary.BigEndian.AppendUint64(b, h.cookie)
	b = binary.BigEndian.AppendUint64(b, h.cookieMask)
	b = append(b, h.table, h.command)
	b = binary.BigEndian.AppendUint16(b, h.idleTimeout)
	b = binary.BigEndian.AppendUint16(b, h.hardTimeout)
	b = binary.BigEndian.AppendUint16(b, h.priority)
	b = binary.BigEndian.AppendUint32(b, noBuffer)
	b = binary.BigEndian.AppendUint32(b, portAny)
	b = binary.BigEndian.AppendUint32(b, groupAny)
	return append(b, 0, 0, 0, 0)
}

func marshalFlowMod(mod *FlowMod, v version, xid uint32) ([]byte, error) {
	f := &mod.Flow
	switch mod.Command {
	case Add, DeleteStrict:
		if f.Table == tableAll {
			return nil, fmt.Errorf("table %d: want 0..%d, %d stands for all tables", f.Table, tableAll-1, tableAll)
		}
		matches, err := normalize(f.Match)
		if err != nil {
			return nil, err
		}
		if mod.Command == DeleteStrict {
			// A strict deletion leaves cookie and mask 0, which matches any cookie.
			return appendMatch(flowHeader{table: f.Table, command: flowDeleteStrict, priority: f.Priority}.append(nil, v, xid), matches), nil
		}
		b := flowHeader{cookie: f.Cookie, table: f.Table, command: flowAdd, priority: f.Priority,
			idleTimeout: f.IdleTimeout, hardTimeout: f.HardTimeout}.append(nil, v, xid)
		return appendInstructions(appendMatch(b, matches), v, f.Actions, f.Table)
	case DeleteByCookie:
		if mod.CookieMask == 0 {
			return nil, fmt.Errorf("the cookie mask 0 would delete every flow of the switch: want a mask with bits set")
		}
		return appendMatch(flowHeader{cookie: f.Cookie, cookieMask: mod.CookieMask, table: tableAll, command: flowDelete}.append(nil, v, xid), nil), nil
	default:
		return nil, fmt.Errorf("unknown command %d: want Add, DeleteStrict or DeleteByCookie", mod.Command)
	}
}
