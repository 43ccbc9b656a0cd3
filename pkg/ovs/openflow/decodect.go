// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

// parseCT decodes an NXAST_CT.
func parseCT(b []byte) (Action, error) {
	if len(b) < ctHeaderSize {
		return nil, fmt.Errorf("ct of %d bytes: want at least %d", len(b), ctHeaderSize)
	}
	flags := binary.BigEndian.Uint16(b[10:])
	a := CT{Commit: flags&ctCommit != 0, Force: flags&ctForce != 0}
	if header, packed := binary.BigEndian.Uint32(b[12:]), binary.BigEndian.Uint16(b[16:]); header == 0 {
		a.Zone = packed
	} else {
		var err error
		if a.ZoneField, err = fieldOfHeader(header); err != nil {
			return nil, err
		}
		if a.ZoneRange, err = rangeOf(a.ZoneField, packed>>6, packed&0x3f+1); err != nil {
			return nil, err
		}
	}
	if b[18] != ctNoTable {
		a.Table = b[18]
	}
	if alg := binary.BigEndian.Uint16(b[22:]); alg != 0 {
		return nil, fmt.Errorf("ct with the helper of port %d", alg)
	}
	for b = b[ctHeaderSize:]; len(b) > 0; {
		typ, element, rest, err := cutTLV(b, 8)
		if err != nil {
			return nil, fmt.Errorf("ct: %w", err)
		}
		b = rest
		if typ == actionExperimenter && len(element) >= natHeaderSize && binary.BigEndian.Uint16(element[8:]) == nxNAT &&
			binary.BigEndian.Uint32(element[4:]) == nxExperimenter {
			if a.NATTo, err = parseNAT(element); err != nil {
				return nil, err
			}
			a.NAT = a.NATTo == nil
			continue
		}
		// With ct or clone inside ct, the message would determine the depth of the recursion.
		if isNicira(typ, element, nxCT) || isNicira(typ, element, nxClone) {
			return nil, fmt.Errorf("ct or clone inside ct")
		}
		action, err := parseAction(typ, element)
		if err != nil {
			return nil, fmt.Errorf("exec: %w", err)
		}
		a.Exec = append(a.Exec, action)
	}
	return a, nil
}

// parseNAT decodes an NXAST_NAT of at least natHeaderSize bytes; nil stands for the NAT of an existing connection.
func parseNAT(b []byte) (*NATTo, error) {
	flags, present := binary.BigEndian.Uint16(b[12:]), binary.BigEndian.Uint16(b[14:])
	if flags&(natSource|natDest) == 0 {
		return nil, nil
	}
	n := &NATTo{Source: flags&natSource != 0, Persistent: flags&natPersistent != 0, Hash: flags&natHash != 0, Random: flags&natRandom != 0}
	b = b[natHeaderSize:]
	for _, part := range []struct {
		bit  uint16
		size int
		ip   *netip.Addr
		port *uint16
	}{
		{natFirst4, 4, &n.First, nil}, {natLast4, 4, &n.Last, nil}, {natFirst6, 16, &n.First, nil}, {natLast6, 16, &n.Last, nil},
		{natFirstPort, 2, nil, &n.FirstPort}, {natLastPort, 2, nil, &n.LastPort},
	} {
		if present&part.bit == 0 {
			continue
		}
		if len(b) < part.size {
			return nil, fmt.Errorf("nat: %d bytes left for part %#x: want %d", len(b), part.bit, part.size)
		}
		if part.ip != nil {
			*part.ip, _ = netip.AddrFromSlice(b[:part.size])
		} else {
			*part.port = binary.BigEndian.Uint16(b)
		}
		b = b[part.size:]
	}
	return n, nil
}
