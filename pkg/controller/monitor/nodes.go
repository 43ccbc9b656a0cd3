// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package monitor

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"
)

// nodes compares the cluster's Nodes with the objects that there should be for them.
type nodes struct {
	mu sync.Mutex
	// present are the Nodes, objects the names of the AntreaAgentInfos, as far as known.
	present, objects sets.Set[string]
	// listed is set while objects is complete.
	listed bool
}

func newNodes() *nodes { return &nodes{present: sets.New[string](), objects: sets.New[string]()} }

func (n *nodes) nodeAdded(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.present.Insert(name)
}

func (n *nodes) nodeDeleted(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.present.Delete(name)
}

// setObjects records which objects there are.
func (n *nodes) setObjects(names []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.objects, n.listed = sets.New(names...), true
}

// forget records that others may have changed the objects.
func (n *nodes) forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.listed = false
}

func (n *nodes) known() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.listed
}

func (n *nodes) created(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.objects.Insert(name)
}

func (n *nodes) deleted(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.objects.Delete(name)
}

// plan returns the objects to create and to delete, both sorted.
func (n *nodes) plan() (create, remove []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	create, remove = n.present.Difference(n.objects).UnsortedList(), n.objects.Difference(n.present).UnsortedList()
	slices.Sort(create)
	slices.Sort(remove)
	return create, remove
}
