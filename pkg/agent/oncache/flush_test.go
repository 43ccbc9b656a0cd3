// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
)

// TestFlushOfThePod: the generation advances and the epoch stays, so that the Pod's packets are learned from at once.
func TestFlushOfThePod(t *testing.T) {
	e := newEnv(t, "a", "b")
	before := [2][2]uint32{e.slots.words[0], e.slots.words[1]}
	slots, err := e.slotsOf(FlushScope{Pod: "ns/b"})
	require.NoError(t, err)
	require.Equal(t, slotSet{1: true}, slots)
	e.flush(FlushScope{Pod: "ns/b"})
	require.Equal(t, before[0], e.slots.words[0], "another Pod's entries are evicted")
	require.Equal(t, [2]uint32{before[1][0] + 1, before[1][1]}, e.slots.words[1])
	require.NotZero(t, e.slots.words[1][1], "the Pod could not learn before")
	require.Empty(t, e.needMarks, "nothing has to be written to Open vSwitch")
}

// A Pod that may not learn yet stays so.
func TestFlushKeepsAPodFromLearning(t *testing.T) {
	e := newEnv(t)
	e.add(t, "a", "10.10.1.2")
	e.flush(FlushScope{Pod: "ns/a"})
	require.Zero(t, e.slots.words[0][1])
	require.True(t, e.needMarks["a"])
}

// TestFlushOfTheNode: all addresses of the Node, and nothing of another one.
func TestFlushOfTheNode(t *testing.T) {
	e := newEnv(t, "a")
	_, end := e.Begin(coherency.Change{Nodes: []coherency.Node{
		remote("n2", "192.168.1.2", "10.10.2.0/24"), remote("n2", "fd00::2", "fd10:2::/64"), remote("n3", "192.168.1.3", "10.10.3.0/24"),
	}})
	end(nil)
	e.slots.take()
	evicted := e.evictions.Node
	slots, err := e.slotsOf(FlushScope{Node: "n2"})
	require.NoError(t, err)
	require.Equal(t, slotSet{0: true, 1: true}, slots)
	e.flush(FlushScope{Node: "n2"})
	require.Equal(t, []string{"bump node 0", "bump node 1"}, e.slots.take())
	require.Equal(t, evicted+2, e.evictions.Node)
}

func TestFlushOfTheUnknown(t *testing.T) {
	e := newEnv(t, "a")
	for scope, message := range map[FlushScope]string{
		{Pod: "ns/b"}: "local Pod ns/b: the cache has no entries for it",
		{Node: "n9"}:  "remote Node n9: the cache has no entries for it",
	} {
		_, err := e.slotsOf(scope)
		require.ErrorIs(t, err, ErrNotInCache)
		require.EqualError(t, err, message)
	}
	_, err := e.slotsOf(FlushScope{All: true})
	require.NoError(t, err)
}

// TestFlushCounts: which entries belong to what is flushed.
func TestFlushCounts(t *testing.T) {
	f := &datapath.Flow{EndpointSlot: 3, NodeSlot: 5}
	require.True(t, slotSet{3: true}.has(FlushScope{Pod: "ns/a"}, f))
	require.False(t, slotSet{5: true}.has(FlushScope{Pod: "ns/a"}, f))
	require.True(t, slotSet{5: true}.has(FlushScope{Node: "n"}, f))
	require.False(t, slotSet{3: true}.has(FlushScope{Node: "n"}, f))
	require.True(t, slotSet{}.has(FlushScope{All: true}, f))
	require.False(t, slotSet{0: true}.has(FlushScope{Pod: "ns/a"}, f), "not within the Node: it has no such peer")

	local := &datapath.Flow{EndpointSlot: 3, NodeSlot: -1, Local: true, PeerSlot: 4}
	for _, slot := range []int{3, 4} {
		require.True(t, slotSet{slot: true}.has(FlushScope{Pod: "ns/a"}, local), "either Pod's generation voids it")
	}
}

func TestFlushWithoutCache(t *testing.T) {
	flushed, err := New(Config{}, nil, nil, nil).Flush(FlushScope{All: true})
	require.ErrorIs(t, err, ErrUnavailable)
	require.ErrorContains(t, err, "has not started ONCache")
	require.Equal(t, api.Flushed{}, flushed)
}

// TestFlushOfAPodOnOVS: the answer says why the Pod has no entries.
func TestFlushOfAPodOnOVS(t *testing.T) {
	m := New(Config{}, nil, nil, nil)
	m.pods.pods["a-if"] = &localPod{Pod: Pod{InterfaceName: "a-if", Namespace: "ns", Name: "a"}, onOVS: "its interface is being captured"}
	m.ledger = newEnv(t).ledger
	m.setUnavailable(nil)
	_, err := m.Flush(FlushScope{Pod: "ns/a"})
	require.ErrorIs(t, err, ErrNotInCache)
	require.ErrorContains(t, err, "it is kept on Open vSwitch: its interface is being captured")
}
