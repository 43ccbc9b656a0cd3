// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"encoding/binary"
	"fmt"
)

// Flags of NXAST_CT and NXAST_NAT, and the optional parts of the latter (OVS's nicira-ext.h, NX_CT_F_*, NX_NAT_F_*,
// NX_NAT_RANGE_*).
const (
	ctCommit = 1
	ctForce  = 2
	// ctNoTable is NX_CT_RECIRC_NONE.
	ctNoTable    = 0xff
	ctHeaderSize = 24

	natSource     = 1
	natDest       = 2
	natPersistent = 4
	natHash       = 8
	natRandom     = 16

	natFirst4    = 1
	natLast4     = 2
	natFirst6    = 4
	natLast6     = 8
	natFirstPort = 16
	natLastPort  = 32

	natHeaderSize = 16
)

func appendCT(b []byte, v version, a CT) ([]byte, error) {
	if err := a.check(); err != nil {
		return nil, err
	}
	var flags uint16
	if a.Commit {
		flags |= ctCommit
	}
	if a.Force {
		flags |= ctForce
	}
	table := uint8(ctNoTable)
	if a.Table != 0 {
		table = a.Table
	}
	start := len(b)
	b = binary.BigEndian.AppendUint16(appendNX(b, nxCT), flags)
	if a.ZoneField != 0 {
		b = binary.BigEndian.AppendUint32(b, oxmHeader(a.ZoneField))
		b = binary.BigEndian.AppendUint16(b, ofsNbits(a.ZoneRange))
	} else {
		b = binary.BigEndian.AppendUint32(b, 0)
		b = binary.BigEndian.AppendUint16(b, a.Zone)
	}
	b = append(b, table, 0, 0, 0, 0, 0)
	var err error
	if a.NAT || a.NATTo != nil {
		if b, err = appendNAT(b, a.NATTo); err != nil {
			return nil, fmt.Errorf("nat: %w", err)
		}
	}
	for _, e := range a.Exec {
		if b, err = appendExec(b, v, e); err != nil {
			return nil, fmt.Errorf("exec %s: %w", actionText(e), err)
		}
	}
	return endAction(b, start), nil
}

func (a *CT) check() error {
	switch {
	case len(a.Exec) > 0 && !a.Commit:
		return fmt.Errorf("exec: only together with commit")
	case a.NATTo != nil && !a.Commit:
		return fmt.Errorf("nat: NATTo only together with commit")
	case a.NATTo != nil && a.NAT:
		return fmt.Errorf("nat: want NAT or NATTo, not both")
	case a.Force && !a.Commit:
		return fmt.Errorf("force: only together with commit")
	case a.Table == tableAll:
		return fmt.Errorf("table %d: want 0..%d", a.Table, tableAll-1)
	}
	// Lists that no message can hold are refused before they are encoded.
	const maxExec = 256
	if len(a.Exec) > maxExec {
		return fmt.Errorf("exec: %d actions, want at most %d", len(a.Exec), maxExec)
	}
	if a.ZoneField == 0 {
		return nil
	}
	if err := a.ZoneRange.check(a.ZoneField); err != nil {
		return fmt.Errorf("zone: %w", err)
	}
	if a.Zone != 0 || a.ZoneRange.width() != 16 {
		return fmt.Errorf("zone %d and %d bits of %v: want either a number or 16 bits of a field", a.Zone, a.ZoneRange.width(), a.ZoneField)
	}
	return nil
}

func appendExec(b []byte, v version, a Action) ([]byte, error) {
	var dst Field
	switch a := a.(type) {
	case LoadField:
		dst = a.Field
	case MoveField:
		dst = a.Dst
	case SetField:
		dst = a.Field
	}
	if dst != FieldCTMark && dst != FieldCTLabel {
		return nil, fmt.Errorf("want LoadField, MoveField or SetField into ct_mark or ct_label")
	}
	return appendAction(b, v, a)
}

// appendNAT appends NXAST_NAT; nil stands for the NAT of an existing connection.
func appendNAT(b []byte, n *NATTo) ([]byte, error) {
	start := len(b)
	b = append(appendNX(b, nxNAT), 0, 0)
	if n == nil {
		return endAction(append(b, 0, 0, 0, 0), start), nil
	}
	if err := n.check(); err != nil {
		return nil, err
	}
	flags := uint16(natDest)
	if n.Source {
		flags = natSource
	}
	for flag, set := range map[uint16]bool{natPersistent: n.Persistent, natHash: n.Hash, natRandom: n.Random} {
		if set {
			flags |= flag
		}
	}
	var present uint16
	var parts []byte
	add := func(part uint16, set bool, data []byte) {
		if set {
			present |= part
			parts = append(parts, data...)
		}
	}
	first, last := n.First.Unmap(), n.Last.Unmap()
	add(natFirst4, first.Is4(), first.AsSlice())
	add(natLast4, last.Is4(), last.AsSlice())
	add(natFirst6, first.Is6(), first.AsSlice())
	add(natLast6, last.Is6(), last.AsSlice())
	add(natFirstPort, n.FirstPort != 0, binary.BigEndian.AppendUint16(nil, n.FirstPort))
	add(natLastPort, n.LastPort != 0, binary.BigEndian.AppendUint16(nil, n.LastPort))
	b = binary.BigEndian.AppendUint16(b, flags)
	b = binary.BigEndian.AppendUint16(b, present)
	return endAction(append(b, parts...), start), nil
}

func (n *NATTo) check() error {
	first, last := n.First.Unmap(), n.Last.Unmap()
	switch {
	case last.IsValid() && (first.Is4() != last.Is4() || !first.IsValid() || last.Less(first)):
		return fmt.Errorf("addresses %v to %v: want two of one IP version, the first not above the last", n.First, n.Last)
	case first.Zone() != "" || last.Zone() != "":
		return fmt.Errorf("addresses %v to %v: want them without zone", n.First, n.Last)
	case n.LastPort != 0 && n.LastPort < n.FirstPort, n.LastPort != 0 && n.FirstPort == 0:
		return fmt.Errorf("ports %d to %d: want the first at least 1 and not above the last", n.FirstPort, n.LastPort)
	case n.Hash && n.Random:
		return fmt.Errorf("hash and random: want at most one of them")
	case !first.IsValid() && (n.FirstPort != 0 || n.Persistent || n.Hash || n.Random):
		return fmt.Errorf("ports %d to %d, persistent %t, hash %t, random %t without an address: want one, OVS accepts these only with addresses",
			n.FirstPort, n.LastPort, n.Persistent, n.Hash, n.Random)
	}
	return nil
}
