// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// Marks tell an agent, whose three watches have no order among each other, when it has heard all of an event. Events that change no policy and one
// group have none: there is nothing to wait for. The event's version is the resource version of all that is sent to the Node, and at its end each
// watch has a BOOKMARK with that version. Only clients that allow bookmarks get marks: others may end a watch with a second bookmark. Versions of a
// process that serves a Node later are higher, as far as clocks agree: agents that go from one process to another wait until all their watches have.
// The price: as long as one of a Node's watches is broken, what the others have told of such an event waits, also revocations (markLimit at the agent).

// markedNodes returns the Nodes that are told of a change of a policy, or of several changes of what policies consist of.
func markedNodes(changes []change) map[string]struct{} {
	told, marked := map[string]struct{}{}, map[string]struct{}{}
	for i := range changes {
		resource := changes[i].object.resource()
		if resource == EgressGroups || len(changes) == 1 && resource != NetworkPolicies {
			continue
		}
		for node := range changes[i].told() {
			if _, before := told[node]; before || resource == NetworkPolicies {
				marked[node] = struct{}{}
			}
			told[node] = struct{}{}
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
