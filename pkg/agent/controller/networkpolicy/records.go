// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
)

// position orders records. Run is the time at which all objects were last written as a whole, Seq counts the changes since.
type position struct {
	Run int64  `json:"run"`
	Seq uint64 `json:"seq"`
}

// objectRecord is a record of an object's file: the object, then patches.
type objectRecord struct {
	position
	Resource Resource `json:"resource"`
	Name     string   `json:"name"`
	// Object and Patch are values of v1beta2 for encoding and json.RawMessage after decoding. One is nil.
	Object any `json:"object,omitempty"`
	Patch  any `json:"patch,omitempty"`
}

// inventoryRecord is a record of an inventory: the effect of one change on the set of objects. The first one has no name.
type inventoryRecord struct {
	position
	Resource Resource `json:"resource"`
	Name     string   `json:"name,omitempty"`
	Gone     bool     `json:"gone,omitempty"`
	// Patch means that Pods and NoPods change the existing entry.
	Patch bool `json:"patch,omitempty"`
	summary
}

// summary is the part of an object that is needed to close what may be open without it. It is stored apart from the object.
type summary struct {
	// AppliedTo and Directions are a policy's, Source is its origin.
	AppliedTo  []string                        `json:"appliedTo,omitempty"`
	Directions []v1beta2.Direction             `json:"directions,omitempty"`
	Source     *v1beta2.NetworkPolicyReference `json:"source,omitempty"`
	// Pods are members of an AppliedToGroup, NoPods the ones that a patch removes: a Pod as namespace/name, others as memberText says.
	Pods   []string `json:"pods,omitempty"`
	NoPods []string `json:"noPods,omitempty"`
}

// summarize returns the name of an object or a patch, and its summary for the inventory.
func summarize(object any) (name string, patch bool, s summary) {
	switch o := object.(type) {
	case *v1beta2.NetworkPolicy:
		return o.Name, false, summary{AppliedTo: appliedToGroupsOf(o), Directions: directionsOf(o), Source: o.SourceRef}
	case *v1beta2.AddressGroup:
		return o.Name, false, summary{}
	case *v1beta2.AddressGroupPatch:
		return o.Name, true, summary{}
	case *v1beta2.AppliedToGroup:
		return o.Name, false, summary{Pods: memberTexts(o.GroupMembers)}
	case *v1beta2.AppliedToGroupPatch:
		return o.Name, true, summary{Pods: memberTexts(o.AddedGroupMembers), NoPods: memberTexts(o.RemovedGroupMembers)}
	}
	return "", false, summary{}
}

// directionsOf returns the directions in which the policy isolates. An unknown direction may mean both.
func directionsOf(np *v1beta2.NetworkPolicy) []v1beta2.Direction {
	both := []v1beta2.Direction{v1beta2.DirectionIn, v1beta2.DirectionOut}
	var directions []v1beta2.Direction
	for i := range np.Rules {
		d := np.Rules[i].Direction
		if !slices.Contains(both, d) {
			return both
		}
		if !slices.Contains(directions, d) {
			directions = append(directions, d)
		}
	}
	return directions
}

// memberTexts returns the members of an AppliedToGroup in the form of summary.Pods.
func memberTexts(members []v1beta2.GroupMember) []string {
	var texts []string
	for i := range members {
		texts = append(texts, memberText(&members[i]))
	}
	return texts
}

// summarized returns the member with such a text.
func summarized(text string) v1beta2.GroupMember {
	kind, rest, ok := strings.Cut(text, " ")
	if !ok {
		kind, rest = "", text
	}
	namespace, name, _ := strings.Cut(rest, "/")
	m := v1beta2.GroupMember{IPs: []v1beta2.IPAddress{unknownAddress}}
	switch kind {
	case "":
		m.Pod = &v1beta2.PodReference{Namespace: namespace, Name: name}
	case "Node":
		m.Node = &v1beta2.NodeReference{Name: rest}
	case "Service":
		m.Service = &v1beta2.ServiceReference{Namespace: namespace, Name: name}
	}
	return m
}

// unreadable returns the replacement of an object of which only the summary is known; nil if none is needed.
func (s summary) unreadable(r Resource, name string) any {
	switch r {
	case NetworkPolicies:
		np := &v1beta2.NetworkPolicy{AppliedToGroups: s.AppliedTo, SourceRef: s.Source, Rules: unknownRules(s.Directions)}
		np.Name = name
		return np
	case AppliedToGroups:
		g := &v1beta2.AppliedToGroup{}
		g.Name = name
		for _, pod := range s.Pods {
			g.GroupMembers = append(g.GroupMembers, summarized(pod))
		}
		return g
	}
	return nil // An AddressGroup may be unknown.
}

// inventory is the content of an inventory file.
type inventory struct {
	position
	entries map[string]*entry
}

// entry is the inventory's knowledge of one object.
type entry struct {
	position
	summary
	// size is the present size of the object's file, negative when a patch is missing there. base is its size when it was
	// last written as a whole. Both are known only for files that this process has written.
	size, base int64
}

func decodeInventory(payloads [][]byte, r Resource) (*inventory, error) {
	x := &inventory{entries: map[string]*entry{}}
	for i, payload := range payloads {
		var record inventoryRecord
		if err := decodeStrictly(payload, &record); err != nil {
			return nil, err
		}
		switch {
		case record.Resource != r:
			return nil, fmt.Errorf("the inventory is of %q, want %q", record.Resource, r)
		case i == 0:
			x.position = record.position
			continue
		case record.Name == "":
			return nil, fmt.Errorf("record %d has no name", i)
		}
		if err := x.enter(&record); err != nil {
			return nil, err
		}
	}
	if len(payloads) == 0 {
		return nil, errors.New("the inventory has no record")
	}
	return x, nil
}

// enter applies a change.
func (x *inventory) enter(record *inventoryRecord) error {
	x.Seq = max(x.Seq, record.Seq)
	e := x.entries[record.Name]
	switch {
	case record.Gone:
		delete(x.entries, record.Name)
		return nil
	case !record.Patch:
		x.entries[record.Name] = &entry{position: record.position, summary: record.summary}
		return nil
	case e == nil:
		return fmt.Errorf("a change of %s, which is not there", record.Name)
	}
	e.position = record.position
	if len(record.Pods)+len(record.NoPods) > 0 {
		gone := func(pod string) bool { return slices.Contains(record.NoPods, pod) || slices.Contains(record.Pods, pod) }
		e.Pods = append(slices.DeleteFunc(slices.Clone(e.Pods), gone), record.Pods...)
	}
	return nil
}

// decodeStrictly refuses fields that this version does not know: they may be restrictions.
func decodeStrictly(content []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(content))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is something after the end of the record")
	}
	return nil
}

// decodeObject makes an object from the records of its file. It returns the position of the last one.
func decodeObject(payloads [][]byte, r Resource, name string) (object any, last position, err error) {
	if len(payloads) == 0 {
		return nil, last, errors.New("the file has no record")
	}
	var patches []json.RawMessage
	for i, payload := range payloads {
		var whole, patch json.RawMessage
		record := objectRecord{Object: &whole, Patch: &patch}
		if err := decodeStrictly(payload, &record); err != nil {
			return nil, last, err
		}
		if record.Resource != r || record.Name != name {
			return nil, last, fmt.Errorf("the file contains %q of %q, want %q of %q", record.Name, record.Resource, name, r)
		}
		if (len(whole) > 0) != (i == 0) || (len(patch) > 0) == (i == 0) {
			return nil, last, fmt.Errorf("record %d: want an object first, then patches", i)
		}
		if i == 0 {
			object = newObject(r)
			err = decodeStrictly(whole, object)
		} else {
			patches = append(patches, patch)
		}
		if err != nil {
			return nil, last, err
		}
		if i > 0 && (record.Run != last.Run || record.Seq <= last.Seq) {
			return nil, last, fmt.Errorf("record %d comes before the one that it follows", i)
		}
		last = record.position
	}
	if err := applyPatches(object, patches); err != nil {
		return nil, last, err
	}
	if got, _, _ := summarize(object); got != name {
		return nil, last, fmt.Errorf("the object is named %q, want %q", got, name)
	}
	return object, last, nil
}

func newObject(r Resource) any {
	switch r {
	case AddressGroups:
		return &v1beta2.AddressGroup{}
	case AppliedToGroups:
		return &v1beta2.AppliedToGroup{}
	}
	return &v1beta2.NetworkPolicy{}
}

func applyPatches(object any, patches []json.RawMessage) error {
	if len(patches) == 0 {
		return nil
	}
	switch o := object.(type) {
	case *v1beta2.AddressGroup:
		return foldMembers(&o.GroupMembers, patches, func(p *v1beta2.AddressGroupPatch) (added, removed []v1beta2.GroupMember) {
			return p.AddedGroupMembers, p.RemovedGroupMembers
		})
	case *v1beta2.AppliedToGroup:
		return foldMembers(&o.GroupMembers, patches, func(p *v1beta2.AppliedToGroupPatch) (added, removed []v1beta2.GroupMember) {
			return p.AddedGroupMembers, p.RemovedGroupMembers
		})
	}
	return fmt.Errorf("patches of a %T", object)
}

func foldMembers[P any](members *[]v1beta2.GroupMember, patches []json.RawMessage, changes func(*P) (added, removed []v1beta2.GroupMember)) error {
	byKey := map[string]v1beta2.GroupMember{}
	add := func(added []v1beta2.GroupMember) {
		for i := range added {
			byKey[memberKey(&added[i])] = added[i]
		}
	}
	add(*members)
	for _, content := range patches {
		patch := new(P)
		if err := decodeStrictly(content, patch); err != nil {
			return err
		}
		added, removed := changes(patch)
		for i := range removed {
			delete(byKey, memberKey(&removed[i]))
		}
		add(added)
	}
	*members = make([]v1beta2.GroupMember, 0, len(byKey))
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		*members = append(*members, byKey[key])
	}
	return nil
}
