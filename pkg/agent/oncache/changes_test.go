// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	"github.com/antrea-oncache/antrea/pkg/agent/reach"
)

// changeCase is a change and what it must write: before the bundle (marks), after the barrier (writes), and when the bundle was refused
// (remark).
type changeCase struct {
	name   string
	known  []coherency.Node
	change coherency.Change
	err    error
	marks  []string
	writes []string
	remark []string
}

// TestChanges lists what each kind of change writes.
func TestChanges(t *testing.T) {
	for _, tc := range slices.Concat(changesOfPods(), changesOfNodes(), changesOfDualStack()) {
		t.Run(tc.name, tc.run)
	}
}

func (tc *changeCase) run(t *testing.T) {
	e := newEnv(t, "a", "b")
	_, known := e.Begin(coherency.Change{Nodes: tc.known})
	known(nil)
	e.slots.take()
	marks, end := e.Begin(tc.change)
	require.Empty(t, e.slots.take(), "nothing before the barrier")
	require.Equal(t, tc.marks, describe(marks))
	end(tc.err)
	require.Empty(t, cmp.Diff(tc.writes, e.slots.take()))
	require.Equal(t, tc.remark, describe(e.writeMarks()))
	require.Zero(t, e.unmarked())
}

// changesOfPods are changes of local Pods, of their policies and of everything.
func changesOfPods() []changeCase {
	return []changeCase{
		{name: "nothing is affected"},
		{name: "policy of one Pod",
			change: coherency.Change{Interfaces: []string{"a"}},
			marks:  []string{"a=2"}, writes: []string{"publish 0 generation=3 epoch=2"}},
		{name: "an interface that is not ours",
			change: coherency.Change{Interfaces: []string{"zzz"}}},
		{name: "Pod deleted",
			change: coherency.Change{RemovedInterfaces: []string{"b"}},
			writes: []string{"publish 1 generation=3 epoch=0", "clear 1"}},
		{name: "Pod changed and deleted at once",
			change: coherency.Change{Interfaces: []string{"b"}, RemovedInterfaces: []string{"b"}},
			writes: []string{"publish 1 generation=3 epoch=0", "clear 1"}},
		{name: "any flow",
			change: coherency.Change{All: true},
			marks:  []string{"a=2", "b=2"}, writes: []string{"publish 0 generation=3 epoch=2", "publish 1 generation=3 epoch=2", "bump all"}},
		{name: "replay of the pipeline",
			change: coherency.Change{Replay: true},
			marks:  []string{"a=2", "b=2"}, writes: []string{"publish 0 generation=3 epoch=2", "publish 1 generation=3 epoch=2", "bump all"}},
		{name: "replay that the switch does not accept: what it had is the same, but it may write the new epochs",
			change: coherency.Change{Replay: true}, err: errors.New("disconnected"),
			marks: []string{"a=2", "b=2"}, remark: []string{"a=3", "b=3"}},
		{name: "change with a replay: only those that it names have other rules if the switch does not accept it",
			change: coherency.Change{Replay: true, Interfaces: []string{"a"}}, err: errors.New("disconnected"),
			marks: []string{"a=2", "b=2"}, writes: []string{"publish 0 generation=3 epoch=0"}, remark: []string{"a=3", "b=3"}},
		{name: "a name twice",
			change: coherency.Change{Interfaces: []string{"a", "a"}},
			marks:  []string{"a=2"}, writes: []string{"publish 0 generation=3 epoch=2"}},
		{name: "bundle refused: evicted, nothing learned until new marks are written",
			change: coherency.Change{Interfaces: []string{"a"}}, err: errors.New("refused"),
			marks: []string{"a=2"}, writes: []string{"publish 0 generation=3 epoch=0"}, remark: []string{"a=3"}},
		{name: "removal refused", change: coherency.Change{RemovedInterfaces: []string{"b"}}, err: errors.New("refused"),
			writes: []string{"publish 1 generation=3 epoch=0"}, remark: []string{"b=2"}},
	}
}

// changesOfNodes are changes of Nodes and Pod networks.
func changesOfNodes() []changeCase {
	n2 := remote("node-2", "192.168.77.12", "10.10.2.0/24")
	direct, encrypted, unknown := n2, n2, n2
	direct.Reach.Kind, encrypted.Reach.Kind, unknown.Reach.Kind = reach.Direct, reach.WireGuard, 77
	return []changeCase{
		{name: "new Node behind no tunnel", change: coherency.Change{Nodes: []coherency.Node{direct}}},
		{name: "new Node that is reached by WireGuard", change: coherency.Change{Nodes: []coherency.Node{encrypted}}},
		{name: "Node to which packets are encrypted from now on", known: []coherency.Node{n2},
			change: coherency.Change{Nodes: []coherency.Node{encrypted}},
			marks:  []string{"a=2", "b=2"},
			writes: []string{"publish 0 generation=3 epoch=2", "publish 1 generation=3 epoch=2", "no network 10.10.2.0/24", "clear node 0"}},
		{name: "new Node that is reached in an unknown way", change: coherency.Change{Nodes: []coherency.Node{unknown}}},
		{name: "Node no longer behind the tunnel", known: []coherency.Node{n2},
			change: coherency.Change{Nodes: []coherency.Node{direct}},
			marks:  []string{"a=2", "b=2"},
			writes: []string{"publish 0 generation=3 epoch=2", "publish 1 generation=3 epoch=2", "no network 10.10.2.0/24", "clear node 0"}},
		{name: "Node from now on behind the tunnel", known: []coherency.Node{direct},
			change: coherency.Change{Nodes: []coherency.Node{n2}},
			writes: []string{"node 0 192.168.77.12", "network 10.10.2.0/24 -> 0"}},
		{name: "new Node evicts nothing",
			change: coherency.Change{Nodes: []coherency.Node{n2}},
			writes: []string{"node 0 192.168.77.12", "network 10.10.2.0/24 -> 0"}},
		{name: "Node unchanged", known: []coherency.Node{n2},
			change: coherency.Change{Nodes: []coherency.Node{n2}}},
		{name: "Node has another address", known: []coherency.Node{n2},
			change: coherency.Change{Nodes: []coherency.Node{remote("node-2", "192.168.77.99", "10.10.2.0/24")}},
			marks:  []string{"a=2", "b=2"},
			writes: []string{"publish 0 generation=3 epoch=2", "publish 1 generation=3 epoch=2", "no network 10.10.2.0/24", "clear node 0", "node 0 192.168.77.99", "network 10.10.2.0/24 -> 0"}},
		{name: "Node removed", known: []coherency.Node{n2},
			change: coherency.Change{RemovedNodes: []string{"node-2"}},
			marks:  []string{"a=2", "b=2"},
			writes: []string{"publish 0 generation=3 epoch=2", "publish 1 generation=3 epoch=2", "no network 10.10.2.0/24", "clear node 0"}},
		{name: "Pod network moves to another Node in one change", known: []coherency.Node{n2},
			change: coherency.Change{RemovedNodes: []string{"node-2"}, Nodes: []coherency.Node{remote("node-3", "192.168.77.13", "10.10.2.0/24")}},
			marks:  []string{"a=2", "b=2"},
			writes: []string{"publish 0 generation=3 epoch=2", "publish 1 generation=3 epoch=2", "no network 10.10.2.0/24", "clear node 0", "node 0 192.168.77.13", "network 10.10.2.0/24 -> 0"}},
		{name: "Pod network has moved before its old Node is removed", known: []coherency.Node{n2, remote("node-3", "192.168.77.13", "10.10.2.0/24")},
			change: coherency.Change{RemovedNodes: []string{"node-2"}},
			marks:  []string{"a=2", "b=2"},
			writes: []string{"publish 0 generation=3 epoch=2", "publish 1 generation=3 epoch=2", "clear node 0"}},
		{name: "IPv6",
			change: coherency.Change{Nodes: []coherency.Node{remote("node-6", "fd00::6", "fd00:10:6::/64")}},
			writes: []string{"node 0 fd00::6", "network fd00:10:6::/64 -> 0"}},
	}
}

// changesOfDualStack are changes of Nodes with addresses of both IP versions.
func changesOfDualStack() []changeCase {
	n2 := remote("node-2", "192.168.77.12", "10.10.2.0/24")
	n26 := remote("node-2", "fd00::2", "fd00:10:2::/64")
	return []changeCase{
		{name: "dual stack: an address for each family",
			change: coherency.Change{Nodes: []coherency.Node{n2, n26}},
			writes: []string{"node 0 192.168.77.12", "network 10.10.2.0/24 -> 0", "node 1 fd00::2", "network fd00:10:2::/64 -> 1"}},
		{name: "dual stack unchanged", known: []coherency.Node{n2, n26},
			change: coherency.Change{Nodes: []coherency.Node{n2, n26}}},
		{name: "dual stack, one address changed", known: []coherency.Node{n2, n26},
			change: coherency.Change{Nodes: []coherency.Node{n2, remote("node-2", "fd00::99", "fd00:10:2::/64")}},
			marks:  []string{"a=2", "b=2"},
			writes: []string{"publish 0 generation=3 epoch=2", "publish 1 generation=3 epoch=2",
				"no network 10.10.2.0/24", "clear node 0", "no network fd00:10:2::/64", "clear node 1",
				"node 0 192.168.77.12", "network 10.10.2.0/24 -> 0", "node 1 fd00::99", "network fd00:10:2::/64 -> 1"}},
		{name: "dual stack Node removed", known: []coherency.Node{n2, n26},
			change: coherency.Change{RemovedNodes: []string{"node-2"}},
			marks:  []string{"a=2", "b=2"},
			writes: []string{"publish 0 generation=3 epoch=2", "publish 1 generation=3 epoch=2",
				"no network 10.10.2.0/24", "clear node 0", "no network fd00:10:2::/64", "clear node 1"}},
	}
}

// TestWhatMayBeUndone: a change seems to have been refused, and entries are learned from the switch's real behavior. Sending
// everything again undoes the change. If the fate of the resend is also unknown, entries must not outlive the rules from which they
// result.
func TestWhatMayBeUndone(t *testing.T) {
	disconnected := errors.New("disconnected")
	e := newEnv(t, "a", "b", "c")
	send := func(c coherency.Change, err error) []string {
		_, end := e.Begin(c)
		end(err)
		return e.slots.take()
	}
	learn := func() {
		e.writeMarks()
		e.slots.take()
	}
	require.Equal(t, []string{"publish 0 generation=3 epoch=0"}, send(coherency.Change{Interfaces: []string{"a"}}, disconnected))
	learn()
	require.Equal(t, []string{"publish 0 generation=5 epoch=0", "publish 1 generation=3 epoch=0"},
		send(coherency.Change{Replay: true, Interfaces: []string{"b"}}, disconnected))
	learn()
	e.removeEndpoint("b")
	e.slots.take()
	require.Equal(t, []string{"publish 0 generation=7 epoch=0"}, send(coherency.Change{Replay: true}, disconnected), "as long as nothing was accepted")
	learn()
	send(coherency.Change{Replay: true}, nil)
	require.Empty(t, send(coherency.Change{Replay: true}, disconnected), "the switch has exactly what was sent")
}
