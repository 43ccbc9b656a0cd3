// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package flowexporter

import (
	"context"
	"errors"
	"net/netip"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
	"github.com/antrea-oncache/antrea/pkg/agent/flowexporter/flows"
)

// aNode has one connection, from a local Pod, and agents that come and go.
type aNode struct {
	t          *testing.T
	cache      *fakeCache
	connection conntrack.Connection
	stateFile  string

	mu       sync.Mutex
	deltas   flows.Counts
	readings int
}

func newANode(t *testing.T) *aNode {
	n := &aNode{t: t, cache: startedCache(), stateFile: filepath.Join(t.TempDir(), "flows")}
	client, server := netip.MustParseAddrPort("10.0.1.2:1000"), netip.MustParseAddrPort("10.0.2.2:53")
	n.connection.Original, n.connection.Reply, n.connection.Started = tuple(17, client, server), tuple(17, server, client), time.Now()
	return n
}

func (n *aNode) entry(created, packets uint64) flows.Entry {
	return flows.Entry{Sent: n.connection.Original, Egress: true, Created: created, Count: flows.Count{Packets: packets, Bytes: 100 * packets}}
}

// Send implements Session.
func (n *aNode) Send(records []*flows.Record) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, r := range records {
		for d, c := range r.Delta {
			n.deltas[d].Packets += c.Packets
			n.deltas[d].Bytes += c.Bytes
		}
	}
	return len(records), nil
}

func (n *aNode) Close() {}

// agent starts an agent's exporter, and returns what stops it.
func (n *aNode) agent() (stop func()) {
	e := &Exporter{
		Poll: 5 * time.Second, Timeouts: flows.Timeouts{Active: 5 * time.Second, Idle: time.Hour}, StateFile: n.stateFile, Begun: time.Now(), Cache: n.cache,
		Connections: func(yield func(*conntrack.Connection) bool) error {
			n.mu.Lock()
			defer n.mu.Unlock()
			n.readings++
			c := n.connection
			yield(&c)
			return nil
		},
		Ends: func() (*conntrack.Ends, error) { return nil, errors.New("nothing ends here") },
		Describer: func() flows.Describe {
			return func(*conntrack.Connection) (flows.Info, bool) { return flows.Info{}, true }
		},
		Dial: func(context.Context) (Session, error) { return n, nil },
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); e.Run(ctx) }()
	return func() { cancel(); <-done }
}

// requireCounted waits for the records of the next readings, and compares what they say that the Pod has sent.
func (n *aNode) requireCounted(packets uint64, why string) {
	n.t.Helper()
	time.Sleep(20 * time.Second)
	n.mu.Lock()
	defer n.mu.Unlock()
	require.Equal(n.t, flows.Counts{{Packets: packets, Bytes: 100 * packets}}, n.deltas, why)
}

func (n *aNode) set(entries ...flows.Entry) {
	n.cache.mu.Lock()
	defer n.cache.mu.Unlock()
	n.cache.entries = entries
}

// An agent that stops has taken over all reports, and the next one continues: with entries that it sees only when its
// cache has started.
func TestRecordsGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newANode(t)
		stop := n.agent()
		n.set(n.entry(1, 10))
		n.requireCounted(10, "the beginning")
		n.set(n.entry(2, 1))
		n.cache.retired <- n.entry(1, 12)
		stop()

		n.cache.started = make(chan struct{})
		defer n.agent()()
		n.requireCounted(10, "nothing is read yet")
		n.cache.unread = []flows.Entry{n.entry(2, 5)}
		n.set(n.entry(3, 2))
		close(n.cache.started)
		n.requireCounted(12+5+2, "the report that came after the last reading, the former agent's entry in the end, and the new one")
	})
}

// It is unknown what an agent that was killed has reported, so nothing that its cache has counted is reported again.
func TestNothingIsReportedTwiceAfterAKill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newANode(t)
		time.Sleep(time.Minute)
		n.cache.started = make(chan struct{})
		n.set(n.entry(1, 1000))
		defer n.agent()()
		n.requireCounted(0, "nothing is read yet")
		n.cache.unread = []flows.Entry{n.entry(1, 1000)}
		n.set(n.entry(2, 1))
		close(n.cache.started)
		n.requireCounted(0, "all of that was before the first reading")
		n.set(n.entry(2, 3))
		n.requireCounted(2, "this was not")
	})
}

// A reading that waits for the CPU, or for the kernel, uses no CPU time, and is not followed by a long pause.
func TestReadingsOfABusyNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newANode(t)
		n.cache.delay = 10 * time.Second
		defer n.agent()()
		time.Sleep(time.Minute)
		n.mu.Lock()
		defer n.mu.Unlock()
		require.GreaterOrEqual(t, n.readings, 3)
	})
}
