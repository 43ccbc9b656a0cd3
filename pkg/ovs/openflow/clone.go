// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"encoding/binary"
	"fmt"
)

// appendClone refuses what Open vSwitch refuses in a clone, another clone, and groups, which GroupsOf would not find.
func appendClone(b []byte, v version, a Clone) ([]byte, error) {
	for _, inner := range a.Actions {
		switch inner.(type) {
		case Clone, Meter, Group, Conjunction, Learn:
			return nil, fmt.Errorf("%s: not in a clone", actionText(inner))
		}
	}
	start := len(b)
	b, err := appendActions(append(appendNX(b, nxClone), 0, 0, 0, 0, 0, 0), v, a.Actions)
	if err != nil {
		return nil, err
	}
	return endAction(b, start), nil
}

// parseClone decodes the actions of NXAST_CLONE, among which is no other clone: the message would determine the depth of the recursion.
func parseClone(b []byte) (Action, error) {
	for rest := b; len(rest) > 0; {
		typ, element, next, err := cutTLV(rest, 8)
		if err != nil {
			return nil, fmt.Errorf("clone: %w", err)
		}
		if isNicira(typ, element, nxClone) {
			return nil, fmt.Errorf("clone inside clone")
		}
		rest = next
	}
	actions, err := parseActions(b)
	return Clone{actions}, err
}

// isNicira reports whether an action is Nicira's with the subtype.
func isNicira(typ uint16, action []byte, subtype uint16) bool {
	return typ == actionExperimenter && len(action) >= 10 && binary.BigEndian.Uint16(action[8:]) == subtype
}
