// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"slices"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// Selection describes the objects that a client wants.
type Selection struct {
	// Node limits it to objects that affect a Node; empty means everything.
	Node string
	// Name limits it to one object; empty means all.
	Name string
	// Marked adds marks to a watch of a Node: see marks.go.
	Marked bool
}

// Store holds the results of the core and tells watchers of every change.
type Store struct {
	mu   sync.Mutex
	core *core
	// version counts the events that have changed something. A watch with marks begins at least at the time in microseconds, now: versions of a process
	// that serves agents later are higher than of the one before.
	version uint64
	now     func() uint64
	// onNode has the objects by the Nodes in their spans.
	onNode [resources]map[string]map[object]struct{}
	// watchers are keyed by Node; "" holds the watchers of everything.
	watchers [resources]map[string]map[*watcher]struct{}
	// notify is called when a status may have changed; nil for none.
	notify func(StatusKey)
}

// NewStore returns an empty store.
func NewStore() *Store {
	s := &Store{core: newCore(), now: func() uint64 { return uint64(time.Now().UnixMicro()) }}
	for r := range s.watchers {
		s.onNode[r] = map[string]map[object]struct{}{}
		s.watchers[r] = map[string]map[*watcher]struct{}{}
	}
	return s
}

// Get returns an object with all its members, nil if there is none of that name. It must not be modified.
func (s *Store) Get(resource Resource, name string) runtime.Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.core.object(resource, name); o != nil {
		return ownCopy(o.full(""))
	}
	return nil
}

// List returns the selected objects, sorted by name, and the version of the store. They must not be modified.
func (s *Store) List(resource Resource, selection Selection) (objects []runtime.Object, version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.selected(resource, selection) {
		objects = append(objects, o.full(selection.Node))
	}
	return objects, s.versionText()
}

// Watch returns a watch that begins with the selected objects as ADDED and the BOOKMARK that endOfInitial makes for the
// version of the store. Package v1beta2 of the API group describes the events after that.
func (s *Store) Watch(resource Resource, selection Selection, endOfInitial func(version string) runtime.Object) watch.Interface {
	w, initial := s.subscribe(resource, selection, endOfInitial)
	go func() {
		w.run(initial)
		s.forget(resource, selection.Node, w)
	}()
	return w
}

// subscribe returns a watcher, which is told of all that happens from now on, and the events that precede that.
func (s *Store) subscribe(resource Resource, selection Selection, endOfInitial func(string) runtime.Object) (*watcher, []watch.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if selection.Marked {
		s.version = max(s.version, s.now())
	}
	var initial []watch.Event
	for _, o := range s.selected(resource, selection) {
		initial = append(initial, watch.Event{Type: watch.Added, Object: o.full(selection.Node)})
	}
	initial = append(initial, watch.Event{Type: watch.Bookmark, Object: endOfInitial(s.versionText())})
	w := newWatcher(selection.Name, queued[resource])
	if selection.Marked && selection.Node != "" {
		w.newBookmark = endOfInitial
		s.markInitial(selection.Node, initial)
	}
	ofNode := s.watchers[resource]
	if ofNode[selection.Node] == nil {
		ofNode[selection.Node] = map[*watcher]struct{}{}
	}
	ofNode[selection.Node][w] = struct{}{}
	watching.WithLabelValues(resource.String()).Inc()
	return w, initial
}

func (s *Store) forget(resource Resource, node string, w *watcher) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ofNode := s.watchers[resource]
	delete(ofNode[node], w)
	w.drop()
	watching.WithLabelValues(resource.String()).Dec()
	if len(ofNode[node]) == 0 {
		delete(ofNode, node)
	}
}

// selected returns the selected objects, sorted by name.
func (s *Store) selected(resource Resource, selection Selection) []object {
	var selected []object
	add := func(o object) {
		if selection.Name == "" || selection.Name == o.id() {
			selected = append(selected, o)
		}
	}
	if selection.Node == "" {
		s.core.objects(resource, add)
	} else {
		for o := range s.onNode[resource][selection.Node] {
			add(o)
		}
	}
	slices.SortFunc(selected, compareIDs)
	return selected
}

func (s *Store) versionText() string { return strconv.FormatUint(s.version, 10) }

// apply gives the core one event and tells the watchers what it has changed. An error may be about a part of the event only.
func (s *Store) apply(event func(*core) ([]change, error)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	began := time.Now()
	changes, err := event(s.core)
	unreadable.Set(float64(s.core.unreadable))
	if len(changes) > 0 {
		s.version++
	}
	var marked map[string]struct{}
	if slices.ContainsFunc(s.watchers[:], func(ofNode map[string]map[*watcher]struct{}) bool { return len(ofNode) > 0 }) {
		marked = markedNodes(changes)
	}
	for i := range changes {
		processed[changes[i].object.resource()].Inc()
		s.index(&changes[i])
		s.tell(&changes[i], marked)
		s.noteStatus(&changes[i])
	}
	s.endMarked(marked)
	s.tellStatus()
	observe(changes, began)
	return err
}

func (s *Store) index(ch *change) {
	onNode := s.onNode[ch.object.resource()]
	for _, node := range ch.left {
		delete(onNode[node], ch.object)
		if len(onNode[node]) == 0 {
			delete(onNode, node)
		}
	}
	for _, node := range ch.entered {
		if onNode[node] == nil {
			onNode[node] = map[object]struct{}{}
		}
		onNode[node][ch.object] = struct{}{}
	}
}

func (s *Store) tell(ch *change, marked map[string]struct{}) {
	watchers := s.watchers[ch.object.resource()]
	send := func(node string, kind watch.EventType, object func() runtime.Object) {
		if len(watchers[node]) == 0 {
			return
		}
		event := watch.Event{Type: kind, Object: object()}
		if event.Object == nil {
			return
		}
		_, isMarked := marked[node]
		for w := range watchers[node] {
			if isMarked && w.newBookmark != nil {
				w.send(ch.object.id(), s.withVersion(event))
			} else {
				w.send(ch.object.id(), event)
			}
		}
	}
	for _, node := range ch.left {
		send(node, watch.Deleted, ch.object.bare)
	}
	for _, node := range ch.entered {
		send(node, watch.Added, func() runtime.Object { return ch.object.full(node) })
	}
	switch {
	case ch.created:
		send("", watch.Added, func() runtime.Object { return ch.object.full("") })
	case ch.deleted:
		send("", watch.Deleted, ch.object.bare)
	case ch.update != nil:
		for node := range ch.stayed() {
			send(node, watch.Modified, func() runtime.Object { return ch.update(node) })
		}
		send("", watch.Modified, func() runtime.Object { return ch.update("") })
	}
}

// told yields the Nodes that hear of the change.
func (ch *change) told() func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for _, nodes := range [][]string{ch.left, ch.entered} {
			for _, node := range nodes {
				if !yield(node) {
					return
				}
			}
		}
		if ch.update != nil {
			ch.stayed()(yield)
		}
	}
}

// stayed yields the Nodes in both the old and the new span for which there is an update.
func (ch *change) stayed() func(yield func(string) bool) {
	span := ch.object.concerns()
	consider := func(node string) bool {
		_, entered := slices.BinarySearch(ch.entered, node)
		return !entered && span.has(node)
	}
	return func(yield func(string) bool) {
		if ch.only != nil {
			for _, node := range ch.only {
				if consider(node) && !yield(node) {
					return
				}
			}
			return
		}
		for node := range span {
			if consider(node) && !yield(node) {
				return
			}
		}
	}
}
