// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// Marks tell an agent, whose three watches have no order among each other, when it has heard all of an event that changes policies of its Node.
// The event's version is the resource version of all that is sent to the Node, and at its end each watch has a BOOKMARK with that version. Only
// clients that allow bookmarks get marks: others may end a watch with a second bookmark. Versions of a process that serves a Node later are
// higher, as far as clocks agree: agents that go from one process to another wait until all their watches have.

// markedNodes returns the Nodes at which policies change.
func markedNodes(changes []change) map[string]struct{} {
	marked := map[string]struct{}{}
	for i := range changes {
		ch := &changes[i]
		if ch.object.resource() != NetworkPolicies {
			continue
		}
		for _, node := range ch.entered {
			marked[node] = struct{}{}
		}
		for _, node := range ch.left {
			marked[node] = struct{}{}
		}
		if ch.update != nil {
			for node := range ch.stayed() {
				marked[node] = struct{}{}
			}
		}
	}
	return marked
}

// withVersion returns an event with the present version. The object stays as it is: others share it.
func (s *Store) withVersion(event watch.Event) watch.Event {
	event.Object = ownCopy(event.Object)
	event.Object.(metav1.Object).SetResourceVersion(s.versionText())
	return event
}

// endMarked sends bookmarks to all watches of Nodes.
func (s *Store) endMarked(nodes map[string]struct{}) {
	for node := range nodes {
		for _, watchers := range s.watchers {
			for w := range watchers[node] {
				if w.newBookmark != nil {
					w.send(w.name, watch.Event{Type: watch.Bookmark, Object: w.newBookmark(s.versionText())})
				}
			}
		}
	}
}

// markInitial gives the first objects of a watch the present version. The other watches of the Node learn that they have heard all before it.
func (s *Store) markInitial(node string, initial []watch.Event) {
	for i, event := range initial {
		if event.Type == watch.Added {
			initial[i] = s.withVersion(event)
		}
	}
	s.endMarked(map[string]struct{}{node: {}})
}
