// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package lockorder

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// allowed has the edges that cannot stop anything, and why.
var allowed = map[Edge]string{
	{"pkg/agent/cniserver.keyLock.token", "pkg/agent/cniserver.keyLock.token"}: "one is of Server.containerLocks, the other of Server.nameLocks; " +
		"add, disconnect and reconcileInterface take the name's with the container's held, nothing the other way round",
	{"pkg/ovs/openflow.PacketIns.once", "pkg/ovs/openflow.PacketIns.once"}: "a subscription ends a connection of its own, which has no " +
		"subscriptions: another instance, whose list is empty",
}

// unknown has the functions with a call or a lock that cannot be followed, and why that is no danger.
var unknown = map[string]string{}

func TestLocksHaveAnOrder(t *testing.T) {
	order, err := Find("../..", "./pkg/...", "./cmd/...")
	require.NoError(t, err)
	for _, edge := range order.Edges() {
		t.Log(edge)
	}
	for _, cycle := range order.Cycles(allowed) {
		t.Errorf("locks are waited for in a circle:\n%s", order.Explain(cycle...))
	}
	for edge := range allowed {
		require.Contains(t, order.Edges(), edge, "delete it from allowed")
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(unknown)), slices.Collect(maps.Keys(order.Unknown)), "%v", order.Unknown)
	// It would be easy to see no cycle by not seeing locks at all: these are the orders that the sources promise.
	client := "pkg/agent/openflow/flowstore.Store."
	for _, edge := range []Edge{
		{client + "changes", "pkg/agent/oncache.ledger.mu"},
		{"pkg/agent/oncache.ledger.mu", client + "sending"},
		{client + "sending", client + "mu"},
		{client + "sending", "pkg/ovs/openflow.conn.writing"},
		{"pkg/agent/oncache.podAnnouncer.mu", "pkg/agent/oncache.ledger.mu"},
		{"pkg/agent/interfacestore.interfaceCache.changeMu", "pkg/agent/oncache/podfeed.Feed.mu"},
		{"pkg/agent/controller/networkpolicy.Controller.realizeMu", client + "changes"},
		{"pkg/controller/networkpolicy.Store.mu", "pkg/controller/networkpolicy.watcher.mu"},
	} {
		require.Contains(t, order.Edges(), edge)
	}
}

func TestPlantedCycles(t *testing.T) {
	for _, test := range []struct {
		name  string
		edges []string
		// explained must be in the explanation.
		explained []string
	}{
		{"direct", []string{"Pair.a -> Pair.b", "Pair.b -> Pair.a"}, []string{"direct.Pair).Forth (held since direct/direct.go:", "waits at direct/direct.go:"}},
		{"call", []string{"Store.mu -> Store.mu"}, []string{"Store).Outer", "calls (*test/lockorder/testdata/call.Store).Middle", "Store).Inner"}},
		{"iface", []string{"Sink.mu -> Source.mu", "Source.mu -> Sink.mu"}, []string{"Sink).Changed", "Source).Read"}},
		{"callback", []string{"Sink.mu -> Source.mu", "Source.mu -> Sink.mu"}, []string{"callback.start$1"}},
		{"semaphore", []string{"Client.changes -> Client.mu", "Client.mu -> Client.changes"}, []string{"Client).Forth$1"}},
		{"unlockfunc", []string{"Store.mu -> Table.mu", "Table.mu -> Store.mu"}, []string{"Table).Begin"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			order := planted(t, test.name)
			cycles := order.Cycles(nil)
			require.NotEmpty(t, cycles)
			require.Equal(t, test.edges, names(test.name, cycles))
			for _, part := range test.explained {
				require.Contains(t, order.Explain(cycles[0]...), part)
			}
			require.Empty(t, order.Unknown)
			require.Empty(t, order.Cycles(map[Edge]string{cycles[0][0]: "as if it could not happen"}))
		})
	}
}

func TestNoCycle(t *testing.T) {
	order := planted(t, "ok")
	require.Empty(t, order.Cycles(nil))
	require.Equal(t, []string{"Pair.a -> Pair.b", "Pair.a -> Pair.once"}, names("ok", [][]Edge{order.Edges()}))
	require.Empty(t, order.Unknown)
}

func TestUnknown(t *testing.T) {
	order := planted(t, "unknown")
	require.Contains(t, order.Unknown, "(*test/lockorder/testdata/unknown.Store).Call")
	require.Contains(t, order.Unknown, "test/lockorder/testdata/unknown.Lock")
}

func planted(t *testing.T, name string) *Order {
	order, err := Find(".", "./testdata/"+name)
	require.NoError(t, err)
	return order
}

// names returns the edges of all cycles in order, without their package.
func names(pkg string, cycles [][]Edge) []string {
	var all []string
	for _, edge := range slices.Concat(cycles...) {
		all = append(all, strings.ReplaceAll(edge.String(), "test/lockorder/testdata/"+pkg+".", ""))
	}
	slices.Sort(all)
	return slices.Compact(all)
}
