// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"cmp"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/util/sets"
)

// loaded is the readable content of a resource's files.
type loaded struct {
	// changes create the objects. An unreadable object is replaced by one that isolates the Pods that it concerns.
	changes []change
	// lost is set when there may have been objects of which nothing is known.
	lost    bool
	damages []damage
}

// damage is a file that cannot be used, with the reason and the consequence.
type damage struct{ path, message string }

func (l *loaded) damaged(path string, err error, consequence string) {
	l.damages = append(l.damages, damage{path, fmt.Sprintf("%v; %s until antrea-controller answers", err, consequence)})
}

// consequences describe the effect on Pods that one object of the resource concerns.
var consequences = map[Resource]string{
	NetworkPolicies: "the Pods that this policy is applied to are isolated in its directions",
	AddressGroups:   "this group of peers is taken to be empty",
	AppliedToGroups: "its Pods are isolated as its policies say, and have no named ports",
}

// lostConsequences describe the effect on Pods when the resource's objects are unknown.
var lostConsequences = map[Resource]string{
	NetworkPolicies: "all Pods of the Node are isolated",
	AddressGroups:   "all groups of peers are taken to be empty",
	AppliedToGroups: "all Pods of the Node are isolated in the directions that policies have",
}

// load reads all files. It trusts only content that the inventories confirm.
func (f *files) load() *loaded {
	l := &loaded{}
	known, agreed := f.loadInventories(l)
	if known == nil {
		l.lost = true
		return l
	}
	names, err := f.names()
	if err != nil {
		l.damaged(f.dir, err, "what should be there is doubted")
	}
	for _, name := range sets.List(sets.New(names...).Union(sets.KeySet(known.entries))) {
		path := f.fileOf(name)
		object, last, err := f.loadObject(name)
		if err == nil && !agreed && known.isBehind(last) {
			l.damaged(path, fmt.Errorf("the file is not of the time of the only inventory, %+v, but of %+v", known.position, last), lostConsequences[f.resource])
			return &loaded{lost: true, damages: l.damages}
		}
		f.judge(l, known, name, object, last, err)
	}
	return l
}

// isBehind reports whether a file is newer than an agent killed between its writes leaves it, or belongs to another run.
func (x *inventory) isBehind(last position) bool { return last.Run != x.Run || last.Seq > x.Seq+1 }

// judge decides whether an object is used, closed, or ignored.
func (f *files) judge(l *loaded, known *inventory, name string, object any, last position, err error) {
	path, e := f.fileOf(name), known.entries[name]
	// The very last change may be in the object's file only.
	isLast := err == nil && last == position{known.Run, known.Seq + 1}
	switch {
	case e == nil && err == nil && !isLast && !known.isBehind(last):
		return // The object was deleted, only its file was left.
	case e == nil && !isLast:
		l.damages = append(l.damages, damage{path, "the file is not of what the agent keeps here, and is ignored"})
		return
	case err == nil && !isLast && last != e.position:
		err = fmt.Errorf("the file is of %+v, want %+v", last, e.position)
	}
	if err == nil {
		// An invalid policy is not damage: it is treated as if antrea-controller had just sent it.
		var ch change
		if ch, err = setObject(object); err == nil {
			l.changes = append(l.changes, ch)
			return
		}
	}
	l.damaged(path, err, consequences[f.resource])
	s := summary{}
	if e != nil {
		s = e.summary
	} else if object != nil {
		_, _, s = summarize(object)
	}
	if substitute := s.unreadable(f.resource, name); substitute != nil {
		if ch, err := setObject(substitute); err == nil {
			l.changes = append(l.changes, ch)
		}
	}
}

func (f *files) loadObject(name string) (object any, last position, err error) {
	path, err := f.path(name)
	if err != nil {
		return nil, last, err
	}
	payloads, err := readJournal(path)
	if err != nil {
		return nil, last, err
	}
	return decodeObject(payloads, f.resource, name)
}

// loadInventories returns the newer of the readable inventories, nil if there is none. agreed reports whether both are
// equal except for the last change. In that case any other file that differs is wrong.
func (f *files) loadInventories(l *loaded) (newer *inventory, agreed bool) {
	valid := map[string]*inventory{}
	broken := map[string]error{}
	for _, path := range f.inventories() {
		payloads, err := readJournal(path)
		if err == nil {
			valid[path], err = decodeInventory(payloads, f.resource)
		}
		if err != nil {
			delete(valid, path)
			broken[path] = err
		}
	}
	for x := range maps.Values(valid) {
		if newer == nil || comparePositions(x.position, newer.position) > 0 {
			newer = x
		}
	}
	agreed = len(valid) == 2
	for path, x := range valid {
		if x.isOlder(newer) {
			agreed = false
			broken[path] = fmt.Errorf("the file is of %+v, the other inventory of %+v", x.position, newer.position)
		}
	}
	consequence := "the other inventory is used"
	if newer == nil {
		consequence = lostConsequences[f.resource]
	}
	for path, err := range broken {
		l.damaged(path, err, consequence)
	}
	return newer, agreed
}

// isOlder reports whether the inventories differ by more than an agent killed between its writes leaves.
func (x *inventory) isOlder(newer *inventory) bool { return x.Run != newer.Run || x.Seq+1 < newer.Seq }

func comparePositions(a, b position) int {
	return cmp.Or(cmp.Compare(a.Run, b.Run), cmp.Compare(a.Seq, b.Seq))
}
