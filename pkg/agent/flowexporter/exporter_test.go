// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package flowexporter

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vmware/go-ipfix/pkg/collector"
	"github.com/vmware/go-ipfix/pkg/entities"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
	"github.com/antrea-oncache/antrea/pkg/agent/flowexporter/flows"
	"github.com/antrea-oncache/antrea/pkg/agent/flowexporter/ipfix"
	agentconfig "github.com/antrea-oncache/antrea/pkg/config/agent"
	"github.com/antrea-oncache/antrea/test/env/sandbox"
)

func TestMain(m *testing.M) { sandbox.Main(m) }

const (
	patience = 20 * time.Second
	headers  = 28 // of UDP over IPv4
)

// track makes the kernel track and count the connections of the namespace.
func track(t *testing.T) {
	t.Helper()
	sandbox.RequireRoot(t)
	for _, sysctl := range []string{conntrack.AccountingSysctl, conntrack.TimestampSysctl} {
		require.NoError(t, os.WriteFile(filepath.Join("/proc/sys", sysctl), []byte("1"), 0))
	}
	output, err := exec.Command("iptables", "-w", "-A", "INPUT", "-m", "conntrack", "--ctstate", "INVALID", "-j", "DROP").CombinedOutput()
	if err != nil {
		t.Skipf("the kernel does not track connections here: %s", output)
	}
}

// sums adds up what a collector of go-ipfix gets, by the client's port.
type sums struct {
	mu      sync.Mutex
	packets map[uint16][2]uint64
	bytes   map[uint16][2]uint64
	ended   map[uint16]bool
}

// listen starts a collector at the address, and returns what stops it.
func (s *sums) listen(t *testing.T, protocol, address string) (stop func(), bound string) {
	t.Helper()
	process, err := collector.InitCollectingProcess(collector.CollectorInput{Address: address, Protocol: protocol, MaxBufferSize: 65535, TemplateTTL: 3600})
	require.NoError(t, err)
	go process.Start()
	require.Eventually(t, func() bool { return process.GetAddress() != nil }, patience, time.Millisecond)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for m := range process.GetMsgChan() {
			if m.GetSet().GetSetType() == entities.Data {
				for _, r := range m.GetSet().GetRecords() {
					s.add(r.GetElementMap())
				}
			}
		}
	}()
	stop = sync.OnceFunc(func() { process.Stop(); <-done })
	t.Cleanup(stop)
	return stop, process.GetAddress().String()
}

func (s *sums) add(r map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	port := r["sourceTransportPort"].(uint16)
	p, b := s.packets[port], s.bytes[port]
	s.packets[port] = [2]uint64{p[0] + r["packetDeltaCount"].(uint64), p[1] + r["reversePacketDeltaCount"].(uint64)}
	s.bytes[port] = [2]uint64{b[0] + r["octetDeltaCount"].(uint64), b[1] + r["reverseOctetDeltaCount"].(uint64)}
	s.ended[port] = s.ended[port] || r["flowEndReason"] == uint8(flows.ReasonEnd)
}

func (s *sums) of(port uint16) (packets, bytes [2]uint64, ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.packets[port], s.bytes[port], s.ended[port]
}

func newSums() *sums {
	return &sums{packets: map[uint16][2]uint64{}, bytes: map[uint16][2]uint64{}, ended: map[uint16]bool{}}
}

// exporter makes an exporter of the namespace's connections, to a collector.
func exporter(t *testing.T, protocol, address, stateFile string) *Exporter {
	t.Helper()
	port := netip.MustParseAddrPort(address)
	sink := &Collector{FlowCollector: agentconfig.FlowCollector{Host: port.Addr().String(), Port: port.Port(), Protocol: protocol}, NodeName: "node"}
	zones := []uint16{0}
	return &Exporter{
		Poll: 50 * time.Millisecond, Timeouts: flows.Timeouts{Active: 100 * time.Millisecond, Idle: time.Hour}, StateFile: stateFile, Begun: time.Now(),
		Connections: func(yield func(*conntrack.Connection) bool) error { return conntrack.List(zones, yield) },
		Ends:        func() (*conntrack.Ends, error) { return conntrack.WatchEnds(zones) },
		Describer: func() flows.Describe {
			return func(c *conntrack.Connection) (flows.Info, bool) {
				return flows.Info{}, c.Original.Protocol == 17 && c.Original.DestinationPort != port.Port()
			}
		},
		Dial: sink.Dial,
	}
}

// run runs the exporter until stop is called, and waits until it has made a reading.
func run(t *testing.T, e *Exporter) (stop func()) {
	t.Helper()
	var described atomic.Bool
	describer := e.Describer
	e.Describer = func() flows.Describe { described.Store(true); return describer() }
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); e.Run(ctx) }()
	require.Eventually(t, func() bool { return described.Load() }, patience, time.Millisecond, "a reading")
	stop = sync.OnceFunc(func() { cancel(); <-done })
	t.Cleanup(stop)
	return stop
}

// exchange sends n datagrams of size bytes, and as many answers of half the size.
func exchange(t *testing.T, client, server *net.UDPConn, n, size int) {
	t.Helper()
	buffer := make([]byte, 1500)
	for range n {
		_, err := client.Write(make([]byte, size))
		require.NoError(t, err)
		length, from, err := server.ReadFromUDP(buffer)
		require.NoError(t, err)
		_, err = server.WriteToUDP(buffer[:length/2], from)
		require.NoError(t, err)
	}
}

func sockets(t *testing.T) (client, server *net.UDPConn, port uint16) {
	t.Helper()
	server, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	t.Cleanup(func() { server.Close() })
	client, err = net.DialUDP("udp4", nil, server.LocalAddr().(*net.UDPAddr))
	require.NoError(t, err)
	t.Cleanup(func() { client.Close() })
	return client, server, uint16(client.LocalAddr().(*net.UDPAddr).Port)
}

// connected reports whether there is a connection to the address that has not been closed by both sides.
func connected(t *testing.T, address string) (open bool) {
	t.Helper()
	require.NoError(t, conntrack.List([]uint16{0}, func(c *conntrack.Connection) bool {
		_, dialed, _ := c.Ends()
		open = open || dialed.String() == address && c.TCP != nil && c.TCP.State < conntrack.StateLastAck
		return true
	}))
	return open
}

// A connection is counted by the kernel, while the collector restarts and the exporter is replaced, until it is
// deleted. The sums of its records equal what was sent.
func TestSumsOfConntrack(t *testing.T) {
	track(t)
	s := newSums()
	stopCollector, address := s.listen(t, ipfix.TCP, "127.0.0.1:0")
	stateFile := filepath.Join(t.TempDir(), "flows")
	e := exporter(t, ipfix.TCP, address, stateFile)
	stop := run(t, e)
	client, server, port := sockets(t)
	const n, size = 20, 300
	sent := uint64(0)
	pass := func() { exchange(t, client, server, n, size); sent += n }
	arrived := func(when string) {
		t.Helper()
		require.Eventually(t, func() bool { packets, _, _ := s.of(port); return packets == [2]uint64{sent, sent} }, patience, 10*time.Millisecond, when)
	}
	pass()
	arrived("first records")

	before := e.reconnections.Load()
	stopCollector()
	require.Eventually(t, func() bool { return !connected(t, address) }, patience, 10*time.Millisecond, "the end of the connection is noticed")
	pass()
	_, _ = s.listen(t, ipfix.TCP, address)
	arrived("after the collector's restart")
	require.Greater(t, e.reconnections.Load(), before)

	stop()
	pass()
	e = exporter(t, ipfix.TCP, address, stateFile)
	stop = run(t, e)
	arrived("after another exporter has taken over")
	require.NoFileExists(t, stateFile, "the file is used once")

	pass()
	var connection *conntrack.Connection
	require.NoError(t, conntrack.List([]uint16{0}, func(c *conntrack.Connection) bool {
		if c.Original.SourcePort == port {
			connection = c
		}
		return true
	}))
	require.NoError(t, connection.Delete())
	require.Eventually(t, func() bool { _, _, ended := s.of(port); return ended }, patience, 10*time.Millisecond, "the end")
	packets, bytes, _ := s.of(port)
	require.Equal(t, [2]uint64{sent, sent}, packets)
	require.Equal(t, [2]uint64{sent * (size + headers), sent * (size/2 + headers)}, bytes)
	stop()
}

// fakeCache is a cache whose entries are as the test says.
type fakeCache struct {
	mu      sync.Mutex
	entries []flows.Entry
	retired chan flows.Entry
	// unread are entries that were removed before their end was read.
	unread  []flows.Entry
	started chan struct{}
	err     error
	// delay is the time that reading the entries takes.
	delay time.Duration
}

// startedCache is a fakeCache that is in use.
func startedCache() *fakeCache {
	c := &fakeCache{retired: make(chan flows.Entry), started: make(chan struct{})}
	close(c.started)
	return c
}

func (c *fakeCache) Entries() ([]flows.Entry, error) {
	time.Sleep(c.delay)
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]flows.Entry{}, c.entries...), c.err
}

func (c *fakeCache) Started() <-chan struct{} { return c.started }

func (c *fakeCache) WatchRetired(ctx context.Context, drained func(), yield func(flows.Entry)) error {
	c.mu.Lock()
	for _, e := range c.unread {
		yield(e)
	}
	c.unread = nil
	c.mu.Unlock()
	drained()
	for {
		select {
		case <-ctx.Done():
			return nil
		case e := <-c.retired:
			yield(e)
		}
	}
}

// The counts of the cache are added to the counts of conntrack, over UDP, also when the cache cannot be read for a
// while.
func TestSumsOfBothPaths(t *testing.T) {
	track(t)
	s := newSums()
	_, address := s.listen(t, ipfix.UDP, "127.0.0.1:0")
	e := exporter(t, ipfix.UDP, address, filepath.Join(t.TempDir(), "flows"))
	cache := startedCache()
	e.Cache = cache
	run(t, e)
	client, server, port := sockets(t)
	exchange(t, client, server, 3, 100)
	entry := flows.Entry{
		Sent:   tuple(17, client.LocalAddr().(*net.UDPAddr).AddrPort(), server.LocalAddr().(*net.UDPAddr).AddrPort()),
		Egress: true, Created: 1, Count: flows.Count{Packets: 10, Bytes: 1000},
	}
	entry.Sent.Source, entry.Sent.Destination = entry.Sent.Source.Unmap(), entry.Sent.Destination.Unmap()
	set := func(err error, entries ...flows.Entry) {
		cache.mu.Lock()
		defer cache.mu.Unlock()
		cache.entries, cache.err = entries, err
	}
	set(errors.New("the cache cannot be read"))
	exchange(t, client, server, 3, 100)
	set(nil, entry)
	require.Eventually(t, func() bool { packets, _, _ := s.of(port); return packets == [2]uint64{16, 6} }, patience, 10*time.Millisecond)
	entry.Count = flows.Count{Packets: 11, Bytes: 1100}
	cache.retired <- entry
	another := entry
	another.Created, another.Egress, another.Count = 2, false, flows.Count{Packets: 5, Bytes: 500}
	set(nil, another)
	require.Eventually(t, func() bool { packets, _, _ := s.of(port); return packets == [2]uint64{17, 11} }, patience, 10*time.Millisecond)
	_, bytes, _ := s.of(port)
	require.Equal(t, [2]uint64{6*128 + 1100, 6*78 + 500}, bytes)
}
