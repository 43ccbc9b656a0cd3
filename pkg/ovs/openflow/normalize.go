// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
)

// normalize returns matches as a switch sees them: one Match per field in the order of the Field constants, which puts
// prerequisites first, as OXM demands; no field that matches everything; a nil Mask for an exact match.
// The error joins one for each match that cannot be sent; such matches are left out of the result.
func normalize(matches []Match) ([]Match, error) {
	var byField [numFields]*Match
	var errs []error
	for _, m := range matches {
		if err := m.check(); err != nil {
			errs = append(errs, err)
			continue
		}
		mask := m.Mask
		if mask == nil {
			mask = bytes.Repeat([]byte{0xff}, len(m.Value))
		}
		have := byField[m.Field]
		if have == nil {
			byField[m.Field] = &Match{Field: m.Field, Value: slices.Clone(m.Value), Mask: slices.Clone(mask)}
			continue
		}
		if err := have.merge(m.Value, mask); err != nil {
			errs = append(errs, err)
		}
	}
	var out []Match
	for _, m := range byField {
		if m == nil || allBytes(m.Mask, 0) {
			continue
		}
		if allBytes(m.Mask, 0xff) {
			m.Mask = nil
		}
		out = append(out, *m)
	}
	return out, errors.Join(errs...)
}

func (m *Match) check() error {
	s := m.Field.spec()
	if s == nil {
		return fmt.Errorf("match on unknown field %v: want one of the Field constants", m.Field)
	}
	if m.Field >= FieldXXReg0 {
		return fmt.Errorf("match on %s: want matches on the four registers that it is made of", s.match)
	}
	if len(m.Value) != s.bytes() {
		return fmt.Errorf("match on %s: the value %#x has %d bytes, want %d", s.match, m.Value, len(m.Value), s.bytes())
	}
	if m.Mask == nil {
		return nil
	}
	if len(m.Mask) != s.bytes() {
		return fmt.Errorf("match on %s: the mask %#x has %d bytes, want %d", s.match, m.Mask, len(m.Mask), s.bytes())
	}
	if !s.maskable && !allBytes(m.Mask, 0xff) {
		return fmt.Errorf("match on %s: the mask %#x must be all ones, the field cannot be matched in part", s.match, m.Mask)
	}
	for i := range m.Mask {
		if m.Value[i]&^m.Mask[i] != 0 {
			return fmt.Errorf("match on %s: the value %#x has bits outside the mask %#x", s.match, m.Value, m.Mask)
		}
	}
	return nil
}

// merge adds the bits mask of value to m.
func (m *Match) merge(value, mask []byte) error {
	for i := range mask {
		if both := m.Mask[i] & mask[i]; m.Value[i]&both != value[i]&both {
			return fmt.Errorf("match on %s: %#x/%#x and %#x/%#x together can never match",
				m.Field.spec().match, m.Value, m.Mask, value, mask)
		}
	}
	for i := range mask {
		m.Value[i] |= value[i]
		m.Mask[i] |= mask[i]
	}
	return nil
}

func allBytes(b []byte, want byte) bool {
	for _, v := range b {
		if v != want {
			return false
		}
	}
	return true
}
