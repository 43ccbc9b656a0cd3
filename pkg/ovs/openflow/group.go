// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// GroupType says what a group does with a packet (OpenFlow 1.3, section 5.6.1, OFPGT_*).
type GroupType uint8

const (
	// GroupAll hands a copy to every bucket.
	GroupAll GroupType = iota
	// GroupSelect hands the packet to one bucket, by its weight.
	GroupSelect
	// GroupIndirect hands it to its only bucket.
	GroupIndirect
)

var groupTypeNames = [...]string{"all", "select", "indirect"}

// String is the name that ovs-ofctl uses.
func (t GroupType) String() string {
	if int(t) < len(groupTypeNames) {
		return groupTypeNames[t]
	}
	return fmt.Sprintf("GroupType(%d)", uint8(t))
}

// MaxGroupID is the largest id of a group (OpenFlow 1.3, section 7.3.4.2, OFPG_MAX).
const MaxGroupID uint32 = 0xffffff00

// GroupEntry is a group of the switch. ID identifies it.
type GroupEntry struct {
	ID   uint32
	Type GroupType
	// Selection says how a group of type GroupSelect chooses; nil leaves it to OVS: dp_hash, a hash that the datapath computes from
	// addresses, protocol and ports, unless the weights cannot be mapped to it. Setting it needs OpenFlow 1.5 (WithOpenFlow15).
	Selection *Selection
	Buckets   []Bucket
}

// Selection selects a bucket (OVS's extension NTRT_SELECTION_METHOD; ovs-ofctl(8), "Group Syntax").
type Selection struct {
	// Method is "hash" or "dp_hash".
	Method string
	// Param is the basis of the hash; with dp_hash its upper 32 bits choose the algorithm: 0 five-tuple, 1 symmetric.
	Param uint64
	// Fields are hashed by "hash"; none means OVS's default. Flows with the group must match the prerequisites of the
	// fields.
	Fields []Field
}

// Bucket is one list of actions of a group.
type Bucket struct {
	// Weight is the bucket's share in a group of type GroupSelect, where 0 means that the bucket is never chosen. It is 0 in others.
	Weight  uint16
	Actions []Action
}

// GroupStats is a group with its counters.
type GroupStats struct {
	ID uint32
	// References is the number of flows that point to it.
	References uint32
	Counters
	Age time.Duration
	// Buckets are in the order of GroupEntry.Buckets.
	Buckets []Counters
}

// Counters are packets and bytes.
type Counters struct{ Packets, Bytes uint64 }

// GroupCommand is the operation of a GroupMod.
type GroupCommand uint8

const (
	// GroupAdd adds the group; it is an error if there is one with its id.
	GroupAdd GroupCommand = iota
	// GroupModify replaces type, selection and buckets; it is an error if there is no such group.
	GroupModify
	// GroupPut is GroupAdd or GroupModify, whichever is possible: an extension of OVS (OFPGC11_ADD_OR_MOD).
	GroupPut
	// GroupDelete deletes the group with Group.ID and the flows that point to it; it is no error if there is none.
	GroupDelete
	// GroupDeleteAll deletes all groups and the flows that point to them.
	GroupDeleteAll
)

// GroupMod is one change of the groups.
type GroupMod struct {
	Command GroupCommand
	Group   GroupEntry
}

// GroupError is the refusal of one GroupMod, by this package or by the switch.
type GroupError struct {
	// Group is GroupEntry.String of the group, or a description of the groups to delete.
	Group string
	Err   error
}

func (e *GroupError) Error() string { return fmt.Sprintf("group %q: %v", e.Group, e.Err) }

func (e *GroupError) Unwrap() error { return e.Err }

// String is the group as ovs-ofctl dump-groups prints it with OpenFlow 1.3: "group_id=1,type=select,bucket=weight:100,actions=output:1".
// A Selection is printed as with OpenFlow 1.5.
func (g GroupEntry) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "group_id=%d,type=%v", g.ID, g.Type)
	if s := g.Selection; s != nil {
		b.WriteString(",selection_method=" + s.Method)
		if s.Param != 0 {
			fmt.Fprintf(&b, ",selection_method_param=%d", s.Param)
		}
		switch names := fieldNames(s.Fields); len(names) {
		case 0:
		case 1:
			b.WriteString(",fields=" + names[0])
		default:
			b.WriteString(",fields(" + strings.Join(names, ",") + ")")
		}
	}
	for i := range g.Buckets {
		b.WriteString(",bucket=")
		// ovs-ofctl leaves out a weight of 1.
		if g.Type == GroupSelect && g.Buckets[i].Weight != 1 {
			fmt.Fprintf(&b, "weight:%d,", g.Buckets[i].Weight)
		}
		b.WriteString("actions=" + actionsText(g.Buckets[i].Actions))
	}
	return b.String()
}

// fieldNames are the names of fields in the order of the Field constants.
func fieldNames(fields []Field) []string {
	var names []string
	for _, f := range slices.Sorted(slices.Values(fields)) {
		if s := f.spec(); s != nil {
			names = append(names, s.name)
		} else {
			names = append(names, f.String())
		}
	}
	return names
}

func describeGroup(mod *GroupMod) string {
	switch mod.Command {
	case GroupAdd:
		return mod.Group.String()
	case GroupModify:
		return "modify " + mod.Group.String()
	case GroupPut:
		return "put " + mod.Group.String()
	case GroupDelete:
		return fmt.Sprintf("delete group_id=%d", mod.Group.ID)
	case GroupDeleteAll:
		return "delete all"
	}
	return fmt.Sprintf("command %d of group_id=%d", mod.Command, mod.Group.ID)
}

func checkGroupID(id uint32) error {
	if id > MaxGroupID {
		return fmt.Errorf("group id %#x: want at most %#x", id, MaxGroupID)
	}
	return nil
}

// check returns why the group cannot be sent, regardless of its actions.
func (g *GroupEntry) check(v version) error {
	switch {
	case int(g.Type) >= len(groupTypeNames):
		return fmt.Errorf("unknown type %d: want GroupAll, GroupSelect or GroupIndirect", g.Type)
	case g.Type == GroupIndirect && len(g.Buckets) != 1:
		return fmt.Errorf("%d buckets: an indirect group has exactly 1", len(g.Buckets))
	}
	for i := range g.Buckets {
		if g.Type != GroupSelect && g.Buckets[i].Weight != 0 {
			return fmt.Errorf("bucket %d has the weight %d: want 0, only select groups have weights", i, g.Buckets[i].Weight)
		}
	}
	s := g.Selection
	switch {
	case s == nil:
		return nil
	case g.Type != GroupSelect:
		return fmt.Errorf("selection method %q: only select groups have one", s.Method)
	case v == version13:
		return fmt.Errorf("selection method %q: OpenFlow 1.3 has no message for it, make the switch with WithOpenFlow15", s.Method)
	case s.Method != "hash" && s.Method != "dp_hash":
		return fmt.Errorf("selection method %q: want hash or dp_hash", s.Method)
	case s.Method != "hash" && len(s.Fields) > 0:
		return fmt.Errorf("selection method %q: only hash can have fields", s.Method)
	}
	for i, f := range s.Fields {
		if f.spec() == nil || slices.Contains(s.Fields[:i], f) {
			return fmt.Errorf("selection field %v: want each of the Field constants at most once", f)
		}
	}
	return nil
}
