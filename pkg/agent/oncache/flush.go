// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"errors"
	"fmt"

	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
)

// ErrNotInCache is wrapped by the error for a flush of a Pod or Node that is not in the cache.
var ErrNotInCache = errors.New("the cache has no entries for it")

// ErrUnavailable is wrapped by the error for a change of a cache that is not in use.
var ErrUnavailable = errors.New("ONCache is not available on this Node")

// FlushScope selects the entries to evict. Exactly one field is set.
type FlushScope struct {
	// Pod is a local Pod, namespace/name.
	Pod string
	// Node is the name of a remote Node.
	Node string
	// All selects everything, including the learned outer headers.
	All bool
}

func (s FlushScope) String() string {
	switch {
	case s.Pod != "":
		return "Pod " + s.Pod
	case s.Node != "":
		return "Node " + s.Node
	}
	return "all"
}

// Flush makes entries void. The next packets of their flows take the slow path, and the cache learns again from Open vSwitch. Entries
// counts the entries, of both directions, that were valid just before.
func (m *Manager) Flush(scope FlushScope) (api.Flushed, error) {
	if reason := m.Unavailable(); reason != nil {
		return api.Flushed{}, fmt.Errorf("%w: %w", ErrUnavailable, reason)
	}
	slots, err := m.ledger.slotsOf(scope)
	if err != nil {
		return api.Flushed{}, m.explainAbsence(scope, err)
	}
	flushed := api.Flushed{Scope: scope.String()}
	countErr := m.dp.Flows(func(f datapath.Flow) bool {
		if f.CurrentEverybody && f.CurrentEndpoint && f.CurrentNode && slots.has(scope, &f) {
			flushed.Entries++
		}
		return true
	})
	if scope.All {
		m.uplink.evictAll()
	} else {
		m.ledger.flush(scope)
	}
	klog.InfoS("Flushed ONCache on request", "scope", scope, "entries", flushed.Entries)
	if countErr != nil {
		return flushed, fmt.Errorf("flushed %s, but its entries could not be counted: %w", scope, countErr)
	}
	return flushed, nil
}

// explainAbsence adds the reason why a Pod of this Node is not in the cache.
func (m *Manager) explainAbsence(scope FlushScope, err error) error {
	for _, p := range m.pods.onOVS() {
		if p.Pod == scope.Pod {
			return fmt.Errorf("%w: it is kept on Open vSwitch: %s", err, p.OnOVS)
		}
	}
	return err
}

type slotSet map[int]bool

// has reports whether a flow belongs to the scope whose slots these are.
func (s slotSet) has(scope FlushScope, f *datapath.Flow) bool {
	switch {
	case scope.Pod != "":
		return s[f.EndpointSlot] || f.Local && s[f.PeerSlot]
	case scope.Node != "":
		return s[f.NodeSlot]
	}
	return true
}

// slotsOf returns the slots of a Pod or Node.
func (l *ledger) slotsOf(scope FlushScope) (slotSet, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := slotSet{}
	for _, e := range l.endpointsOf(scope.Pod) {
		found[e.slot] = true
	}
	for _, n := range l.nodes[scope.Node] {
		found[n.slot] = true
	}
	switch {
	case len(found) > 0 || scope.All:
		return found, nil
	case scope.Pod != "":
		return nil, fmt.Errorf("local Pod %s: %w", scope.Pod, ErrNotInCache)
	}
	return nil, fmt.Errorf("remote Node %s: %w", scope.Node, ErrNotInCache)
}

// endpointsOf returns the endpoints of a Pod, namespace/name. The caller holds mu.
func (l *ledger) endpointsOf(pod string) (found []*endpoint) {
	for _, e := range l.endpoints {
		if e.pod.Namespace+"/"+e.pod.Name == pod {
			found = append(found, e)
		}
	}
	return found
}

// flush voids the entries of a Pod or Node. Epochs stay: the rules have not changed, so later learning is right.
func (l *ledger) flush(scope FlushScope) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.endpointsOf(scope.Pod) {
		l.publish(e, e.epoch)
	}
	for _, n := range l.nodes[scope.Node] {
		l.evictions.Node++
		l.dp.BumpNode(n.slot)
	}
}
