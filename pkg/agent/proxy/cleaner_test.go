// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/recovery"
)

// fakeConnections is the table of connections.
type fakeConnections struct {
	mu    sync.Mutex
	table []*conntrack.Connection
	err   error
	// lists counts the calls of List; revalidated was called before each of them.
	lists, revalidated int
	// stuck is not deleted, and waiting does not succeed for the time being.
	stuck *conntrack.Connection
	busy  bool
}

// connectionsOf returns a table with the connections, by name.
func connectionsOf(all map[string]*conntrack.Connection) *fakeConnections {
	return &fakeConnections{table: slices.Collect(maps.Values(all))}
}

// requireEnded checks which of the connections are no longer in the table.
func (f *fakeConnections) requireEnded(t *testing.T, all map[string]*conntrack.Connection, names ...string) {
	t.Helper()
	var ended []string
	for name, c := range all {
		if !slices.Contains(f.get(), c) {
			ended = append(ended, name)
		}
	}
	require.ElementsMatch(t, names, ended)
}

// set replaces the table, and get returns it, while others use it.
func (f *fakeConnections) set(table ...*conntrack.Connection) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.table = table
}

func (f *fakeConnections) get() []*conntrack.Connection {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.table
}

func (f *fakeConnections) List(zones []uint16, yield func(*conntrack.Connection) bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lists++
	for _, c := range f.table {
		if slices.Contains(zones, c.Zone) && !yield(c) {
			break
		}
	}
	return f.err
}

func (f *fakeConnections) Delete(gone *conntrack.Connection) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if gone == f.stuck {
		return errors.New("stuck")
	}
	f.table = slices.DeleteFunc(slices.Clone(f.table), func(c *conntrack.Connection) bool { return c == gone })
	return nil
}

func (f *fakeConnections) WaitRevalidation(context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.revalidated++
	if f.busy && f.revalidated%2 == 0 {
		return errors.New("busy")
	}
	return nil
}

const serviceMark = 0x10

// connection makes a connection of a Pod to a frontend, translated to an Endpoint.
func connection(zone uint16, protocol uint8, frontend, endpoint string, mark uint32) *conntrack.Connection {
	to, from := netip.MustParseAddrPort(frontend), netip.MustParseAddrPort(endpoint)
	client := netip.MustParseAddr("10.0.1.99")
	return &conntrack.Connection{
		Zone: zone, Mark: mark,
		Original: conntrack.Tuple{Source: client, Destination: to.Addr(), Protocol: protocol, SourcePort: 1000, DestinationPort: to.Port()},
		Reply:    conntrack.Tuple{Source: from.Addr(), Destination: client, Protocol: protocol, SourcePort: from.Port(), DestinationPort: 1000},
	}
}

func TestConnectionsOfRemovedEndpoints(t *testing.T) {
	const zone = openflow.ConntrackZoneIPv4
	table := func() map[string]*conntrack.Connection {
		return map[string]*conntrack.Connection{
			"to the first Endpoint":           connection(zone, unix.IPPROTO_UDP, "10.96.0.1:53", "10.0.1.1:53", serviceMark),
			"to the second Endpoint":          connection(zone, unix.IPPROTO_UDP, "10.96.0.1:53", "10.0.2.1:53", serviceMark),
			"to the second by external IP":    connection(zone, unix.IPPROTO_UDP, "192.0.2.1:53", "10.0.2.1:53", serviceMark),
			"not translated":                  connection(zone, unix.IPPROTO_UDP, "10.96.0.1:53", "10.96.0.1:53", 0),
			"TCP":                             connection(zone, unix.IPPROTO_TCP, "10.96.0.1:53", "10.0.2.1:53", serviceMark),
			"another zone":                    connection(1, unix.IPPROTO_UDP, "10.96.0.1:53", "10.0.2.1:53", serviceMark),
			"another Service":                 connection(zone, unix.IPPROTO_UDP, "10.96.0.2:53", "10.0.2.1:53", serviceMark),
			"straight to the second Endpoint": connection(zone, unix.IPPROTO_UDP, "10.0.2.1:53", "10.0.2.1:53", 0),
			"IPv6":                            connection(openflow.ConntrackZoneIPv6, unix.IPPROTO_UDP, "[fd00:96::1]:53", "[fd00:2::1]:53", serviceMark),
		}
	}
	dns := testService("dns", "10.96.0.1 fd00:96::1", "53/UDP 53/TCP", externalIPs("192.0.2.1"))
	dns.Spec.Ports[1].Name = "tcp"
	six := testSlice("dns-6", "dns", "53/UDP", "fd00:2::1@n2")
	for _, tc := range []struct {
		name   string
		change []any
		remove []any
		ended  []string
		idle   bool
	}{
		{name: "the Service is new", ended: []string{"not translated"}},
		{name: "nothing changes", change: []any{dns}, idle: true},
		{name: "an Endpoint is added", change: []any{testSlice("dns-1", "dns", "53/UDP", "10.0.1.1@n1", "10.0.2.1@n2", "10.0.2.2@n2")}, idle: true},
		{name: "an Endpoint is removed", change: []any{testSlice("dns-1", "dns", "53/UDP", "10.0.1.1@n1")}, ended: []string{"to the second Endpoint", "to the second by external IP", "not translated"}},
		{name: "an Endpoint terminates and serves", change: []any{testSlice("dns-1", "dns", "53/UDP", "10.0.1.1@n1", "10.0.2.1@n2 terminating")}, idle: true},
		{name: "an Endpoint terminates and does not serve", change: []any{testSlice("dns-1", "dns", "53/UDP", "10.0.1.1@n1", "10.0.2.1@n2 terminating notserving")},
			ended: []string{"to the second Endpoint", "to the second by external IP", "not translated"}},
		{name: "an address is removed", change: []any{func() any {
			s := dns.DeepCopy()
			s.Spec.ExternalIPs = nil
			return s
		}()}, ended: []string{"to the second by external IP"}},
		{name: "the Service is removed", remove: []any{dns}, ended: []string{"to the first Endpoint", "to the second Endpoint", "to the second by external IP", "not translated", "IPv6"}},
		{name: "an Endpoint of the other IP version is removed", remove: []any{six}, ended: []string{"IPv6"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			all := table()
			connections := connectionsOf(all)
			b := newBench(t, testConfig)
			clean := newCleaner(connections, connections, b.state.allowance)
			b.settled = clean.after
			b.set(dns, testSlice("dns-1", "dns", "53/UDP", "10.0.1.1@n1", "10.0.2.1@n2"), six)
			b.settle()
			if len(tc.change)+len(tc.remove) > 0 {
				clean.pending = map[frontendKey]bool{}
			}
			b.set(tc.change...)
			b.remove(tc.remove...)
			b.settle()
			require.NoError(t, clean.clean(t.Context()))
			require.Equal(t, connections.lists, connections.revalidated)
			require.Equal(t, tc.idle, connections.lists == 0, "no look at the table without need")
			connections.requireEnded(t, all, tc.ended...)
		})
	}
}

// A frontend that passes from one port to another is free in between. Connections to Endpoints of both are kept, whenever the cleaner looks.
func TestConnectionsToFrontendThatPasses(t *testing.T) {
	const zone = openflow.ConntrackZoneIPv4
	both := externalIPs("203.0.113.1", "192.168.0.1") // the second one is also the Node's
	old := testService("dns", "10.96.0.1", "53/UDP", nodePorts("30053"), both)
	slice := testSlice("dns-1", "dns", "53/UDP", "10.0.1.1@n1", "10.0.2.1@n2")
	for _, tc := range []struct {
		name   string
		change func(*bench)
		ended  []string
	}{
		{"to another port of the Service", func(b *bench) {
			b.set(testService("dns", "10.96.0.1", "54/UDP", nodePorts("30053"), both))
		}, []string{"by external IP", "by the Node's address"}},
		{"to another Service", func(b *bench) {
			b.set(testService("dns", "10.96.0.1", "54/UDP"), testSlice("new-1", "new", "53/UDP", "10.0.1.1@n1"),
				testService("new", "10.96.0.2", "53/UDP", nodePorts("30053"), both))
		}, []string{"to the second Endpoint"}},
		{"without Endpoints", func(b *bench) { b.set(testService("dns", "10.96.0.1", "54/UDP")) },
			[]string{"by external IP", "by the Node's address", "to the first Endpoint", "to the second Endpoint", "on the host"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			all := map[string]*conntrack.Connection{
				"by external IP":         connection(zone, unix.IPPROTO_UDP, "203.0.113.1:53", "10.0.1.1:53", serviceMark),
				"by the Node's address":  connection(zone, unix.IPPROTO_UDP, "192.168.0.1:53", "10.0.1.1:53", serviceMark),
				"to the first Endpoint":  connection(zone, unix.IPPROTO_UDP, "169.254.0.252:30053", "10.0.1.1:53", serviceMark),
				"to the second Endpoint": connection(zone, unix.IPPROTO_UDP, "169.254.0.252:30053", "10.0.2.1:53", serviceMark),
				"on the host":            connection(conntrack.HostZone, unix.IPPROTO_UDP, "192.168.0.1:30053", "169.254.0.252:30053", 0),
			}
			connections := connectionsOf(all)
			b, clean := newHostBench(t, connections)
			b.set(old, slice)
			b.settle()

			b.settled = clean.after
			b.after = func() {
				clean.everything()
				require.NoError(t, clean.clean(t.Context()))
			}
			tc.change(b)
			b.settle()
			require.NoError(t, clean.clean(t.Context()))
			connections.requireEnded(t, all, tc.ended...)
		})
	}
}

// After a restart, the connections of Services that were deleted before are ended.
func TestConnectionsOfServicesThatAreGone(t *testing.T) {
	gone := connection(openflow.ConntrackZoneIPv4, unix.IPPROTO_UDP, "10.96.0.7:53", "10.0.2.1:53", serviceMark)
	direct := connection(openflow.ConntrackZoneIPv4, unix.IPPROTO_UDP, "10.0.2.1:53", "10.0.2.1:53", 0)
	present := connection(openflow.ConntrackZoneIPv4, unix.IPPROTO_UDP, "10.96.0.1:53", "10.0.2.1:53", serviceMark)
	connections := &fakeConnections{table: []*conntrack.Connection{gone, direct, present}, err: errors.New("interrupted")}
	clean := newCleaner(connections, connections, func(f frontendKey) allowance {
		if f != (frontendKey{protocol: corev1.ProtocolUDP, address: netip.MustParseAddrPort("10.96.0.1:53")}) {
			return allowance{}
		}
		return allowance{destinations: map[netip.AddrPort]bool{netip.MustParseAddrPort("10.0.2.1:53"): true}, held: true}
	})
	clean.everything()
	require.ErrorContains(t, clean.clean(t.Context()), "interrupted")
	require.Len(t, connections.table, 3)
	connections.err = nil
	require.NoError(t, clean.clean(t.Context()), "what has failed is tried again")
	require.Equal(t, []*conntrack.Connection{direct, present}, connections.table)
	lists := connections.lists
	require.NoError(t, clean.clean(t.Context()))
	require.Equal(t, lists, connections.lists, "once is enough")
}

// evictions records what the cache was told to forget, and how often the datapath had been waited for.
type evictions struct {
	connections *fakeConnections
	log         []string
}

func (e *evictions) EvictConnection(protocol uint8, client, dialed, server netip.AddrPort) error {
	e.log = append(e.log, fmt.Sprintf("%d %v %v %v, %d in conntrack, %d waits", protocol, client, dialed, server, len(e.connections.table), e.connections.revalidated))
	return nil
}

// The cache forgets a connection when conntrack has, and again when no packet that passed conntrack before is on its way.
func TestCacheForgetsEndedConnections(t *testing.T) {
	gone := connection(openflow.ConntrackZoneIPv4, unix.IPPROTO_UDP, "10.96.0.7:53", "10.0.2.1:5353", serviceMark)
	connections := &fakeConnections{table: []*conntrack.Connection{gone}}
	cache := &evictions{connections: connections}
	clean := newCleaner(connections, connections, func(frontendKey) allowance { return allowance{} })
	clean.cache = cache
	clean.everything()
	require.NoError(t, clean.clean(t.Context()))
	require.Equal(t, []string{
		"17 10.0.1.99:1000 10.96.0.7:53 10.0.2.1:5353, 0 in conntrack, 1 waits",
		"17 10.0.1.99:1000 10.96.0.7:53 10.0.2.1:5353, 0 in conntrack, 2 waits",
	}, cache.log)
	clean.everything()
	require.NoError(t, clean.clean(t.Context()))
	require.Len(t, cache.log, 2)
}

// Connections that the cache could not forget are not lost, although conntrack no longer lists them.
func TestCacheForgetsEndedConnectionsAfterErrors(t *testing.T) {
	gone := connection(openflow.ConntrackZoneIPv4, unix.IPPROTO_UDP, "10.96.0.7:53", "10.0.2.1:5353", serviceMark)
	stuck := connection(openflow.ConntrackZoneIPv4, unix.IPPROTO_UDP, "10.96.0.7:54", "10.0.2.1:5353", serviceMark)
	connections := &fakeConnections{table: []*conntrack.Connection{stuck, gone}, stuck: stuck}
	cache := &evictions{connections: connections}
	clean := newCleaner(connections, connections, func(frontendKey) allowance { return allowance{} })
	clean.cache = cache
	clean.everything()
	require.ErrorContains(t, clean.clean(t.Context()), "stuck")
	require.Equal(t, []string{
		"17 10.0.1.99:1000 10.96.0.7:53 10.0.2.1:5353, 1 in conntrack, 1 waits",
		"17 10.0.1.99:1000 10.96.0.7:53 10.0.2.1:5353, 1 in conntrack, 2 waits",
	}, cache.log)

	connections.stuck, connections.busy, cache.log = nil, true, nil
	require.ErrorContains(t, clean.clean(t.Context()), "busy")
	require.Equal(t, []string{"17 10.0.1.99:1000 10.96.0.7:54 10.0.2.1:5353, 0 in conntrack, 3 waits"}, cache.log)
	connections.busy, cache.log = false, nil
	require.NoError(t, clean.clean(t.Context()))
	require.Equal(t, []string{
		"17 10.0.1.99:1000 10.96.0.7:54 10.0.2.1:5353, 0 in conntrack, 5 waits",
		"17 10.0.1.99:1000 10.96.0.7:54 10.0.2.1:5353, 0 in conntrack, 6 waits",
	}, cache.log)
}

// panickingConnections panics once, when it is to list the connections.
type panickingConnections struct {
	*fakeConnections
	once sync.Once
}

func (p *panickingConnections) List(zones []uint16, yield func(*conntrack.Connection) bool) error {
	p.once.Do(func() { panic("boom") })
	return p.fakeConnections.List(zones, yield)
}

// Comparisons that are pending when the cleaner panics are done when it runs again.
func TestPanicOfCleaner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		connections := &panickingConnections{fakeConnections: &fakeConnections{}}
		connections.set(connection(openflow.ConntrackZoneIPv4, unix.IPPROTO_UDP, "10.96.0.7:53", "10.0.2.1:53", serviceMark))
		clean := newCleaner(connections, connections, func(frontendKey) allowance { return allowance{} })
		clean.everything()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go recovery.Keep(ctx, "test", clean.run)
		synctest.Wait()
		require.Len(t, connections.get(), 1)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Empty(t, connections.get())
	})
}
