// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vmware/go-ipfix/pkg/collector"
	"github.com/vmware/go-ipfix/pkg/entities"
	"github.com/vmware/go-ipfix/pkg/registry"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
	"github.com/antrea-oncache/antrea/test/tools/traffic/report"
)

// collectorAddress is the address of a collector on each Node, in the Node's own network.
const collectorAddress = "127.0.0.1:4739"

// carried is the traffic of a connection: from the client and from the server.
type carried struct{ Packets, Bytes [2]uint64 }

// flowSink adds up the deltas of the records of one Node, by the client's port.
type flowSink struct {
	mu   sync.Mutex
	sums map[uint16]carried
	last map[uint16]map[string]any
	// lines tell of the records in the order of their arrival.
	lines map[uint16][]string
}

// collectFlows starts a collector of go-ipfix in the Node's network.
func collectFlows(t *testing.T, n *cluster.Node) *flowSink {
	t.Helper()
	registry.LoadRegistry()
	process, err := collector.InitCollectingProcess(collector.CollectorInput{Address: collectorAddress, Protocol: "tcp", MaxBufferSize: 65535})
	require.NoError(t, err)
	var network *os.File // Do is not for long
	require.NoError(t, n.Do(func() (err error) {
		network, err = os.Open("/proc/thread-self/ns/net")
		return err
	}))
	served := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // for ever: the thread ends with the goroutine
		err := unix.Setns(int(network.Fd()), unix.CLONE_NEWNET)
		if err == nil {
			process.Start()
		}
		served <- errors.Join(err, network.Close())
	}()
	eventually(t, "the collector on "+n.Name, func() error {
		if process.GetAddress() == nil {
			return notYet("it does not listen")
		}
		return nil
	})
	s := &flowSink{sums: map[uint16]carried{}, last: map[uint16]map[string]any{}, lines: map[uint16][]string{}}
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
	t.Cleanup(func() {
		process.Stop()
		<-done
		require.NoError(t, <-served)
	})
	return s
}

func (s *flowSink) add(r map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	port := r["sourceTransportPort"].(uint16)
	sum := s.sums[port]
	for d, names := range [][2]string{{"packetDeltaCount", "octetDeltaCount"}, {"reversePacketDeltaCount", "reverseOctetDeltaCount"}} {
		sum.Packets[d] += r[names[0]].(uint64)
		sum.Bytes[d] += r[names[1]].(uint64)
	}
	s.sums[port], s.last[port] = sum, r
	s.lines[port] = append(s.lines[port], fmt.Sprintf("%s: reason %v, from %v to %v, port %v, deltas %v and %v, totals %v and %v", time.Now().Format(time.StampMilli),
		r["flowEndReason"], r["flowStartSeconds"], r["flowEndSeconds"], r["destinationTransportPort"], r["packetDeltaCount"], r["reversePacketDeltaCount"],
		r["packetTotalCount"], r["reversePacketTotalCount"]))
}

func (s *flowSink) of(port uint16) (sum carried, last map[string]any, records []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sums[port], s.last[port], slices.Clone(s.lines[port])
}

// podCounter makes the client Pod's own packet filter count the flow, in the same units: packets as the kernel handles them, and their bytes
// from the IP header on.
func podCounter(t *testing.T, s *suite, protocol string, port uint16) (read func() carried) {
	t.Helper()
	command := "iptables"
	if s.ipv6 {
		command = "ip6tables"
	}
	rules := [2]string{
		fmt.Sprintf("OUTPUT -p %s --sport %d -j ACCEPT", protocol, port), fmt.Sprintf("PREROUTING -p %s --dport %d -j ACCEPT", protocol, port),
	}
	for _, rule := range rules {
		succeeds(t, s.client.Space, strings.Fields(command+" -w -t raw -A "+rule)...)
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), execTimeout)
			defer cancel()
			_, err := s.client.Space.Exec(ctx, strings.Fields(command+" -w -t raw -D "+rule)...)
			require.NoError(t, err)
		})
	}
	return func() (c carried) {
		for d, rule := range rules {
			chain, _, _ := strings.Cut(rule, " ")
			for line := range strings.Lines(succeeds(t, s.client.Space, command, "-w", "-t", "raw", "-nvxL", chain)) {
				if fields := strings.Fields(line); strings.HasSuffix(strings.TrimSpace(line), "pt:"+strconv.Itoa(int(port))) {
					c.Packets[d], c.Bytes[d] = packetNumber(t, fields[0]), packetNumber(t, fields[1])
				}
			}
		}
		return c
	}
}

func packetNumber(t *testing.T, text string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(text, 10, 64)
	require.NoError(t, err)
	return n
}

// testFlowExporter compares the records of connections that are mostly on the fast path with what the client Pod has counted, and its tool.
func testFlowExporter(t *testing.T, s *suite) {
	sinks := [2]*flowSink{collectFlows(t, s.node1), collectFlows(t, s.node2)}
	s.setFlowExporter(t, true)
	defer s.setFlowExporter(t, false)

	t.Run("UDP", func(t *testing.T) {
		f := s.flow("UDP", 4401, udpEchoPort)
		counted := podCounter(t, s, "udp", f.client.Port())
		startEcho(t, s.server.Space, s.server.IP)
		m := s.measure(t)
		s.openUDP(t, f)
		ping := runTraffic[report.Ping](t, s.client.Space, 2*execTimeout, "udp-ping", fmt.Sprintf("--from=:%d", f.client.Port()),
			to(f.dialed().Addr(), f.dialed().Port()), "--rate=1000", "--window=50", "--count="+strconv.Itoa(longUDP))
		requireNoLoss(t, ping)
		if s.isCached(f) {
			require.NoError(t, m.fast(t, f))
		}
		want := counted()
		require.Equal(t, [2]uint64{uint64(ping.Sent) + 1, uint64(ping.Received) + 1}, want.Packets, "the Pod and the tool count the same, and the first datagram")
		s.requireRecords(t, sinks, f, counted)
	})
	t.Run("TCP", func(t *testing.T) {
		f := s.flow("TCP", 4402, sinkPort)
		counted := podCounter(t, s, "tcp", f.client.Port())
		sink := startSink(t, s.server.Space)
		m := s.measure(t)
		sender := start(t, s.client.Space, "tcp-send", fmt.Sprintf("--from=:%d", f.client.Port()), to(f.dialed().Addr(), f.dialed().Port()))
		const least = longTCP / 4
		waitReceived(t, sink, 1<<20, execTimeout)
		if s.isCached(f) {
			eventuallyWithin(t, 2*execTimeout, "a flow on the fast path", func() error {
				e, err := s.entriesOf(t, f, true)
				if err == nil && e.ingress.Packets < least {
					err = notYet(fmt.Sprintf("%d packets of %d on the fast path", e.ingress.Packets, least))
				}
				if err == nil {
					err = m.fast(t, f)
				}
				return err
			})
		}
		s.waitRecord(t, sinks, f) // a connection that ends before has one record
		requireIntact(t, stop[report.Send](t, sender))
		s.requireRecords(t, sinks, f, counted)
	})
	t.Run("UDPWhileAgentsRestart", func(t *testing.T) {
		f := s.flow("UDP", 4403, udpEchoPort)
		counted := podCounter(t, s, "udp", f.client.Port())
		startEcho(t, s.server.Space, s.server.IP)
		s.openUDP(t, f)
		ping := start(t, s.client.Space, "udp-ping", f.from(), f.to(), "--rate=1000", "--window=50", "--progress=100ms")
		s.waitFastIfGate(t, f)
		s.restartAgents(t)
		waitReceived(t, ping, lastReceived(ping), patience)
		s.waitFastIfGate(t, f)
		requireNoLoss(t, stop[report.Ping](t, ping))
		s.requireRecords(t, sinks, f, counted)
	})
}

// waitRecord waits until both Nodes have sent a record of the flow.
func (s *suite) waitRecord(t *testing.T, sinks [2]*flowSink, f flow) {
	t.Helper()
	for i, sink := range sinks {
		eventually(t, fmt.Sprintf("a record of %s from Node %d", f, i+1), func() error {
			if _, _, records := sink.of(f.client.Port()); len(records) == 0 {
				return notYet("there is none")
			}
			return nil
		})
	}
}

// openUDP sends one datagram of the flow, which is answered. When several open a connection, conntrack does not count those that Open
// vSwitch has in user space when another one has opened it: see "What is not counted" in docs/use/network-flow-visibility.md.
func (s *suite) openUDP(t *testing.T, f flow) {
	t.Helper()
	requireNoLoss(t, runTraffic[report.Ping](t, s.client.Space, execTimeout, "udp-ping", f.from(), f.to(), "--rate=1000", "--count=1"))
}

// tcpHeaders is the number of bytes of the headers of a TCP packet over IPv4, with timestamps.
const tcpHeaders = 52

// sameTraffic reports whether the records of the Node with this index have counted what the Pod has. WireGuard, and a tunnel whose headers make them too
// long, divide the packets that the kernel takes for several, and the receiving Node may join them in another way, which changes the number of headers.
func sameTraffic(node int, f flow, got, want carried) bool {
	if node == 1 && f.proto == "TCP" {
		for i := range got.Packets {
			got.Bytes[i] -= tcpHeaders * (got.Packets[i] - want.Packets[i])
		}
		got.Packets = want.Packets
	}
	return got == want
}

// requireRecords waits until the records of both Nodes have all packets of the flow, in two records at least, a start and an end or an interval, and
// checks who the records say it is between. The Pod may still acknowledge the end of the connection when this begins.
func (s *suite) requireRecords(t *testing.T, sinks [2]*flowSink, f flow, counted func() carried) {
	t.Helper()
	for i, sink := range sinks {
		eventually(t, fmt.Sprintf("all packets of %s in records of Node %d", f, i+1), func() error {
			want := counted()
			if got, _, records := sink.of(f.client.Port()); !sameTraffic(i, f, got, want) || len(records) < 2 {
				return notYet(fmt.Sprintf("%+v; the Pod has counted %+v; records:\n%s", got, want, strings.Join(records, "\n")))
			}
			return nil
		})
	}
	_, source, _ := sinks[0].of(f.client.Port())
	_, destination, _ := sinks[1].of(f.client.Port())
	require.Equal(t, []any{namespace, "client", "", "", uint8(2)}, []any{source["sourcePodNamespace"], source["sourcePodName"], source["destinationPodNamespace"],
		source["destinationPodName"], source["flowType"]})
	require.Equal(t, []any{"", "", namespace, "server", uint8(2)}, []any{destination["sourcePodNamespace"], destination["sourcePodName"],
		destination["destinationPodNamespace"], destination["destinationPodName"], destination["flowType"]})
}

// setFlowExporter restarts all agents with the export of flow records on or off.
func (s *suite) setFlowExporter(t *testing.T, on bool) {
	t.Helper()
	for _, n := range s.Nodes {
		require.NoError(t, n.WriteAgentConfig(func(conf map[string]any) {
			conf["flowExporter"] = map[string]any{
				"enable": on, "flowCollectorAddr": collectorAddress + ":tcp", "flowPollInterval": "1s", "activeFlowExportTimeout": "1s", "idleFlowExportTimeout": "5s",
			}
		}))
		require.NoError(t, n.SetFeatureGates(map[string]bool{"FlowExporter": on}))
	}
	s.restartAgents(t)
}
