// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
)

// content has the objects that antrea-controller sends at a time, by resource and name.
type content map[Resource]map[string]runtime.Object

// epoch is the time from one mark to the next: the content at the mark, and the one after each further event, which changes one group.
type epoch []content

// markedSource is an antrea-controller with marks, whose watches deliver when the test wants it.
type markedSource struct {
	*randomSet
	*fakeSource
	version uint64
	epochs  []epoch
	streams map[Resource]*stream
	// flows follows the rules of the switch, node the rules of the firewall.
	flows, node inForce
}

// inForce follows what is in force.
type inForce struct {
	// of returns what contents make, of each resource one.
	of func(t *testing.T, policies, peers, targets content) string
	// seen is the index of the epoch of which something is in force.
	seen     int
	expected map[int]sets.Set[string]
}

// stream is a watch; watcher is nil while it is not open, for closed rounds.
type stream struct {
	watcher *watch.FakeWatcher
	pending []func(*watch.FakeWatcher)
	closed  int
}

func newMarkedSource(rng *rand.Rand) *markedSource {
	m := &markedSource{randomSet: newRandomSet(rng, true), fakeSource: newFakeSource(), version: 1, streams: map[Resource]*stream{}}
	for _, np := range m.present[NetworkPolicies] {
		withoutNames(np.(*v1beta2.NetworkPolicy))
	}
	m.flows, m.node = inForce{of: flowsOf, expected: map[int]sets.Set[string]{}}, inForce{of: nodeRulesOf, expected: map[int]sets.Set[string]{}}
	for r := range directories {
		m.streams[r] = &stream{}
	}
	m.epochs = []epoch{{m.content()}}
	return m
}

// withoutNames removes names of ports from a policy that may apply to the Node: a version with names leaves the former one in force there.
func withoutNames(np *v1beta2.NetworkPolicy) *v1beta2.NetworkPolicy {
	for i := range np.Rules {
		if rule := &np.Rules[i]; !isKubernetes(np) {
			rule.Services = slices.DeleteFunc(rule.Services, isNamed)
		}
	}
	return np
}

// content returns the policies and the groups that they name.
func (m *markedSource) content() content {
	c := content{NetworkPolicies: maps.Clone(m.present[NetworkPolicies]), AddressGroups: {}, AppliedToGroups: {}}
	for _, o := range c[NetworkPolicies] {
		for _, name := range addressGroupsOf(o.(*v1beta2.NetworkPolicy)) {
			c[AddressGroups][name] = m.present[AddressGroups][name]
		}
		for _, name := range appliedToGroupsOf(o.(*v1beta2.NetworkPolicy)) {
			group := m.present[AppliedToGroups][name].(*v1beta2.AppliedToGroup)
			if len(group.GroupMembers)%2 == 0 {
				group = appliedToGroup(name, append(group.GroupMembers, nodeMember("n1"))...)
			}
			c[AppliedToGroups][name] = group
		}
	}
	return c
}

func (m *markedSource) latest() content {
	e := m.epochs[len(m.epochs)-1]
	return e[len(e)-1]
}

// happen changes some objects in one event.
func (m *markedSource) happen() {
	for range 1 + m.IntN(4)*m.IntN(2) {
		switch i := m.IntN(groupCount); m.IntN(4) {
		case 0:
			if name := fmt.Sprintf("np%d", i); m.IntN(3) == 0 {
				delete(m.present[NetworkPolicies], name)
			} else {
				m.put(withoutNames(m.policy(i)))
			}
		case 1:
			m.put(m.addressGroup(i))
		default:
			m.put(m.appliedToGroup(i))
		}
	}
	before, now := m.latest(), m.content()
	events := map[Resource][]watch.Event{}
	count := 0
	for r := range now {
		events[r] = difference(before[r], now[r])
		count += len(events[r])
	}
	if count == 0 {
		return
	}
	m.version++
	isMarked := count > 1 || len(events[NetworkPolicies]) > 0
	for r, list := range events {
		for _, event := range list {
			if isMarked {
				marked(event.Object.(metav1.Object), m.version)
			}
			m.streams[r].later(func(w *watch.FakeWatcher) { w.Action(event.Type, event.Object) })
		}
	}
	if isMarked {
		m.epochs = append(m.epochs, epoch{now})
		m.mark()
	} else {
		last := len(m.epochs) - 1
		m.epochs[last] = append(m.epochs[last], now)
		delete(m.flows.expected, last)
		delete(m.node.expected, last)
	}
}

// later makes something be delivered on a watch, if it is open.
func (s *stream) later(deliver func(*watch.FakeWatcher)) {
	if s.watcher != nil {
		s.pending = append(s.pending, deliver)
	}
}

func (m *markedSource) mark() {
	version := m.version
	for _, s := range m.streams {
		s.later(func(w *watch.FakeWatcher) { w.Action(watch.Bookmark, bookmark(version)) })
	}
}

// difference returns the events that lead from some objects of a resource to others.
func difference(before, now map[string]runtime.Object) (events []watch.Event) {
	for name, o := range before {
		if now[name] == nil {
			events = append(events, watch.Event{Type: watch.Deleted, Object: o.DeepCopyObject()})
		}
	}
	for name, o := range now {
		switch old := before[name]; {
		case old == nil:
			events = append(events, watch.Event{Type: watch.Added, Object: o.DeepCopyObject()})
		case old != o:
			events = append(events, watch.Event{Type: watch.Modified, Object: update(old, o)})
		}
	}
	return events
}

func update(old, now runtime.Object) runtime.Object {
	meta := metav1.ObjectMeta{Name: now.(metav1.Object).GetName()}
	switch now := now.(type) {
	case *v1beta2.AddressGroup:
		return &v1beta2.AddressGroupPatch{ObjectMeta: meta, AddedGroupMembers: now.GroupMembers, RemovedGroupMembers: old.(*v1beta2.AddressGroup).GroupMembers}
	case *v1beta2.AppliedToGroup:
		return &v1beta2.AppliedToGroupPatch{ObjectMeta: meta, AddedGroupMembers: now.GroupMembers, RemovedGroupMembers: old.(*v1beta2.AppliedToGroup).GroupMembers}
	}
	return now.DeepCopyObject()
}

// open answers the next watch of a resource: it begins with the present content, and the others learn that they have all before it.
func (m *markedSource) open(r Resource) {
	m.version++
	m.epochs = append(m.epochs, epoch{m.latest()})
	m.mark()
	*m.streams[r] = stream{watcher: <-m.fakeSource.streams[r]}
	version := m.version
	for _, o := range m.latest()[r] {
		object := o.DeepCopyObject()
		marked(object.(metav1.Object), version)
		m.streams[r].later(func(w *watch.FakeWatcher) { w.Add(object) })
	}
	m.streams[r].later(func(w *watch.FakeWatcher) { w.Action(watch.Bookmark, bookmark(version)) })
}

// advance lets one thing happen to the watches.
func (m *markedSource) advance() {
	resources := []Resource{NetworkPolicies, AddressGroups, AppliedToGroups}
	r := resources[m.IntN(len(resources))]
	s := m.streams[r]
	switch {
	case m.IntN(100) == 0: // another process
		m.version = []uint64{1, m.version + 1000}[m.IntN(2)]
		for _, s := range m.streams {
			s.end()
		}
	case m.IntN(40) == 0:
		s.end()
	case s.watcher != nil && len(s.pending) > 0:
		for range 1 + m.IntN(len(s.pending)) {
			s.pending[0](s.watcher)
			s.pending = s.pending[1:]
		}
	}
	for _, r := range resources {
		if s := m.streams[r]; s.watcher != nil && s.watcher.IsStopped() {
			s.end()
		} else if s.watcher == nil {
			if s.closed++; s.closed > 8 || m.IntN(4) == 0 {
				m.open(r)
			}
		}
	}
}

func (s *stream) end() {
	if s.watcher != nil {
		s.watcher.Stop()
		*s = stream{}
	}
}

// stateOf returns the state with contents.
func stateOf(t *testing.T, policies, peers, targets content) *state {
	s := newState()
	s.effects = antreaEffects
	for i := range localPods {
		s.setInterface(podName{Namespace: "ns", Name: localName(i)}, policy.Pod{
			InterfaceName: localName(i), OFPort: uint32(i + 1), IPs: []netip.Addr{netip.MustParseAddr(localIP(i))},
		})
	}
	for _, objects := range []map[string]runtime.Object{policies[NetworkPolicies], peers[AddressGroups], targets[AppliedToGroups]} {
		for _, o := range objects {
			ch, err := setObject(o)
			require.NoError(t, err)
			ch.apply(s)
		}
	}
	return s
}

// flowsOf returns the rules of contents, of each resource of one.
func flowsOf(t *testing.T, policies, peers, targets content) string {
	s := stateOf(t, policies, peers, targets)
	ops := newRealized().plan(s, s.dirty.Clone(), never)
	return textOf(slices.Values(ops.install))
}

// nodeRulesOf is flowsOf for the Node.
func nodeRulesOf(t *testing.T, policies, peers, targets content) string {
	s := stateOf(t, policies, peers, targets)
	s.built.node = "n1"
	var lines []string
	for name := range s.policies {
		version, _ := s.resolve(name)
		if isKubernetes(version) {
			continue
		}
		rules, err := s.compileForNode(version)
		require.NoError(t, err)
		for _, r := range rules {
			lines = append(lines, nodeRuleText(r.NodePolicyRule))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func textOf(rules iter.Seq[*policy.Rule]) string {
	var lines []string
	for rule := range rules {
		lines = append(lines, ruleText(rule))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// require fails unless what is in force is of one epoch, which is not before the last one that was seen.
func (f *inForce) require(t *testing.T, epochs []epoch, text string) {
	t.Helper()
	for i := f.seen; i < len(epochs); i++ {
		if f.expected[i] == nil {
			f.expected[i] = sets.New[string]()
			for _, peers := range epochs[i] {
				for _, targets := range epochs[i] {
					f.expected[i].Insert(f.of(t, epochs[i][0], peers, targets))
				}
			}
		}
		if f.expected[i].Has(text) {
			f.seen = i
			return
		}
	}
	t.Fatalf("what is in force is of no version from number %d of %d:\n%s", f.seen, len(epochs), text)
}

// In whatever order the watches bring what belongs together, however late marks come, and whenever watches end and begin: at no time the flows
// are a mixture of versions, and in the end they are the latest version's.
func TestNoMixtureOfVersions(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testNoMixture(t, newMarkedSource(rand.New(rand.NewPCG(seed, 0)))) })
		})
	}
}

func testNoMixture(t *testing.T, m *markedSource) {
	a := newAgent(t, m, t.TempDir())
	firewall := &fakeFirewall{}
	a.ApplyToNode("n1", firewall, filepath.Join(t.TempDir(), "nodepolicies"))
	for i := range localPods {
		a.enterInterface(localInterface(i))
	}
	a.EnableAntreaPolicies(nil, false)
	var seen []string
	look := func() {
		if a.flows.calls > 0 {
			seen = append(seen, textOf(maps.Values(a.flows.rules)))
		}
	}
	a.flows.fail = func([]*policy.Rule) error { look(); return nil } // called before each change of the flows, with their lock
	requireWhole := func() []string {
		t.Helper()
		synctest.Wait()
		a.flows.mu.Lock()
		look()
		flows := seen
		seen = nil
		a.flows.mu.Unlock()
		for _, text := range flows {
			m.flows.require(t, m.epochs, text)
		}
		for _, rules := range firewall.takeSeen() {
			m.node.require(t, m.epochs, strings.Join(slices.Sorted(slices.Values(rules)), "\n"))
		}
		return flows
	}
	a.run()
	for range 150 {
		if m.IntN(3) > 0 {
			m.happen()
		}
		m.advance()
		time.Sleep(time.Duration(m.IntN(500)) * time.Millisecond)
		requireWhole()
	}
	for r, s := range m.streams {
		if s.watcher == nil || s.watcher.IsStopped() {
			s.end()
			m.open(r)
		}
	}
	for _, s := range m.streams {
		for _, deliver := range s.pending {
			deliver(s.watcher)
			requireWhole()
		}
	}
	require.Equal(t, []string{flowsOf(t, m.latest(), m.latest(), m.latest())}, requireWhole())
	rules, _ := firewall.take(t)
	require.Equal(t, nodeRulesOf(t, m.latest(), m.latest(), m.latest()), strings.Join(slices.Sorted(slices.Values(rules)), "\n"))
	requireNothingWaits(t, a)
}
