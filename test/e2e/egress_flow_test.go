// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"maps"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
)

// steadyFlow sends datagrams from one socket to a server outside the cluster, without a pause in which a connection could end.
type steadyFlow struct {
	mu sync.Mutex
	// latest is the latest source that the server has seen since forget, seen has all of them, with the number of their datagrams.
	latest netip.Addr
	seen   map[netip.Addr]int
}

// startSteadyFlow starts the flow and its server, until the test ends.
func (s *suite) startSteadyFlow(t *testing.T, space *cluster.Space, outside netip.AddrPort) *steadyFlow {
	t.Helper()
	var server net.PacketConn
	require.NoError(t, s.Internet.Do(func() (err error) {
		server, err = net.ListenPacket("udp", outside.String())
		return err
	}))
	t.Cleanup(func() { server.Close() })
	f := &steadyFlow{seen: map[netip.Addr]int{}}
	go func() {
		buffer := make([]byte, 64)
		for {
			_, from, err := server.ReadFrom(buffer)
			if err != nil {
				return
			}
			f.add(netip.MustParseAddrPort(from.String()).Addr().Unmap())
		}
	}()
	client, err := space.DialContext(t.Context(), "udp", outside.String())
	require.NoError(t, err)
	go func() {
		defer client.Close()
		ticker := time.NewTicker(20 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-t.Context().Done():
				return
			case <-ticker.C:
				_, _ = client.Write([]byte("x"))
			}
		}
	}()
	return f
}

func (f *steadyFlow) add(source netip.Addr) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.latest = source
	f.seen[source]++
}

// forget lets latest and seen begin again.
func (f *steadyFlow) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.latest, f.seen = netip.Addr{}, map[netip.Addr]int{}
}

// sources returns the latest source, and all since forget.
func (f *steadyFlow) sources() (latest netip.Addr, seen map[netip.Addr]int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.latest, maps.Clone(f.seen)
}

// eventuallyFrom waits until the server sees a source.
func (f *steadyFlow) eventuallyFrom(t *testing.T, want netip.Addr) {
	t.Helper()
	require.Eventually(t, func() bool {
		latest, _ := f.sources()
		return latest == want
	}, 30*time.Second, 20*time.Millisecond, "want the source %s", want)
}

// requireOnly requires that the server has seen no other sources since forget.
func (f *steadyFlow) requireOnly(t *testing.T, what string, allowed ...netip.Addr) {
	t.Helper()
	_, seen := f.sources()
	t.Logf("%s: %v", what, seen)
	for source := range seen {
		require.Contains(t, allowed, source, "%s: %v", what, seen)
	}
}
