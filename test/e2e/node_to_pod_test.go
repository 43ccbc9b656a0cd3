// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
	"github.com/antrea-oncache/antrea/test/tools/traffic/report"
)

// testNodeToPod checks connections that processes of the first Node's host open to a Pod of the second Node: they take the fast path in both
// directions, and do what policies and other changes demand.
func testNodeToPod(t *testing.T, s *suite) {
	for _, p := range []*cluster.Pod{s.client, s.server} {
		s.label(t, p, map[string]string{"app": p.PodName})
	}
	t.Run("UDP", func(t *testing.T) { testNodeUDP(t, s, s.fromHost("UDP", 4501, udpEchoPort)) })
	t.Run("TCP", func(t *testing.T) { testNodeTCP(t, s, s.fromHost("TCP", 4502, sinkPort)) })
	t.Run("Service", func(t *testing.T) { testNodeToService(t, s) })
	t.Run("PolicyOfTheRemotePod", func(t *testing.T) { testNodeAndPolicy(t, s) })
	if s.oncache {
		t.Run("StampsOfTheHostsPackets", func(t *testing.T) { testStampsOfTheHostsPackets(t, s) })
	}
}

// fromHost is a connection from the first Node's host, which uses the gateway's address.
func (s *suite) fromHost(proto string, clientPort, serverPort uint16) flow {
	f := s.flow(proto, clientPort, serverPort)
	for _, network := range s.node1.PodCIDRs {
		if gateway := network.Masked().Addr().Next(); gateway.Is6() == s.ipv6 {
			f.client = netip.AddrPortFrom(gateway, clientPort)
		}
	}
	return f
}

func testNodeUDP(t *testing.T, s *suite, f flow) {
	startEcho(t, s.server.Space, s.server.IP)
	m := s.measure(t)
	ping := runTraffic[report.Ping](t, s.node1.Space, 2*execTimeout, "udp-ping", fmt.Sprintf("--from=:%d", f.client.Port()),
		to(f.dialed().Addr(), f.dialed().Port()), "--rate=1000", "--window=50", "--count="+strconv.Itoa(longUDP))
	requireNoLoss(t, ping)
	if s.oncache {
		require.NoError(t, m.fast(t, f))
	}
}

func testNodeTCP(t *testing.T, s *suite, f flow) {
	startSink(t, s.server.Space)
	m := s.measure(t)
	sender := start(t, s.node1.Space, "tcp-send", fmt.Sprintf("--from=:%d", f.client.Port()), to(f.dialed().Addr(), f.dialed().Port()))
	eventuallyWithin(t, 3*execTimeout, "a long flow", func() error {
		if !s.oncache {
			return nil
		}
		e, err := s.entriesOf(t, f, true)
		if err == nil && e.ingress.Packets < longTCP {
			err = notYet(fmt.Sprintf("%d packets of %d on the fast path", e.ingress.Packets, longTCP))
		}
		if err == nil {
			err = m.fast(t, f)
		}
		return err
	})
	requireIntact(t, stop[report.Send](t, sender))
	if !s.oncache {
		return
	}
	eventually(t, "the entries to end with the connection", func() error {
		e, err := s.entriesOf(t, f, true)
		if err == nil && e != (entries{}) {
			err = notYet(fmt.Sprintf("%+v", e))
		}
		return err
	})
}

// testNodeToService: the host's connection to a cluster IP, which the bridge translates if AntreaProxy handles Services of the host
// (proxyAll). Otherwise nothing translates it in the testbed, which has no kube-proxy.
func testNodeToService(t *testing.T, s *suite) {
	if s.ipv6 {
		t.Skip("the testbed's API server gives Services IPv4 addresses")
	}
	f, name := s.fromHost("UDP", 4503, udpEchoPort), "from-node"
	f.service = s.createClusterIP(t, name, corev1.ProtocolUDP)
	s.setEndpoint(t, name, corev1.ProtocolUDP, s.node2, f.server)
	if route := succeeds(t, s.node1.Space, "ip", "route", "get", f.service.Addr().String()); !strings.Contains(route, "antrea-gw0") {
		t.Skip("without proxyAll, the host's connections to Services do not reach the bridge")
	}
	testNodeUDP(t, s, f)
}

// testNodeAndPolicy: a policy of the remote Pod decides which connections the host may open, and leaves open ones alone.
func testNodeAndPolicy(t *testing.T, s *suite) {
	startEcho(t, s.server.Space, s.server.IP)
	f := s.fromHost("UDP", 4504, udpEchoPort)
	open := start(t, s.node1.Space, "udp-ping", "--from=:4504", to(s.server.IP, udpEchoPort), "--rate=100", "--progress=100ms")
	waitReceived(t, open, 100, patience)
	s.waitFastIfGate(t, f)
	remove := s.applyPolicy(t, ingressTo("deny-node", "server"))
	if s.oncache {
		s.waitFast(t, f)
	}
	waitReceived(t, open, lastReceived(open)+100, patience)
	port := uint16(4510)
	ping := func() report.Ping {
		port++
		return runTraffic[report.Ping](t, s.node1.Space, execTimeout, "udp-ping", fmt.Sprintf("--from=:%d", port), to(s.server.IP, udpEchoPort), "--rate=100", "--duration=200ms")
	}
	eventually(t, "new connections of the host to be refused", func() error {
		if p := ping(); p.Sent == 0 || p.Received > 0 {
			return fmt.Errorf("%+v", p)
		}
		return nil
	})
	remove()
	eventually(t, "new connections of the host to be possible", func() error {
		if p := ping(); p.Sent == 0 || p.Lost > 0 {
			return fmt.Errorf("%+v", p)
		}
		return nil
	})
	requireNoLoss(t, stop[report.Ping](t, open))
}

// testStampsOfTheHostsPackets: packets that come from the host have a stamp, which changes with the rules of the Pod that they are sent to. So a policy
// holds for them as soon as it is realized, although megaflows from before it are still in the kernel.
func testStampsOfTheHostsPackets(t *testing.T, s *suite) {
	s.label(t, s.client, map[string]string{"app": "client"})
	defer s.label(t, s.client, nil)
	startEcho(t, s.client.Space, s.client.IP)
	before := marksOfHost(t, s)
	s.applyPolicy(t, ingressTo("any-policy", "client", networkingv1.NetworkPolicyIngressRule{}))
	eventually(t, "another stamp after a change", func() error {
		for mark := range marksOfHost(t, s) {
			if !before[mark] {
				return nil
			}
		}
		return notYet(fmt.Sprint("megaflows still match only ", before))
	})
}

// stampedMegaflow finds what a megaflow of packets from the host matches of a stamp.
var stampedMegaflow = regexp.MustCompile(`in_port\(antrea-gw0\),skb_mark\((0x[0-9a-f]+)/0x3ff00000\)`)

// marksOfHost sends datagrams from the first Node's host to the client, and returns the marks that megaflows of such packets match.
func marksOfHost(t *testing.T, s *suite) map[string]bool {
	t.Helper()
	ping := runTraffic[report.Ping](t, s.node1.Space, execTimeout, "udp-ping", "--from=:4505", to(s.client.IP, udpEchoPort), "--rate=100", "--duration=200ms")
	require.Positive(t, ping.Received)
	out, err := s.node1.Exec(t.Context(), "ovs-appctl", "dpctl/dump-flows", "--names")
	require.NoError(t, err)
	marks := map[string]bool{}
	for _, m := range stampedMegaflow.FindAllStringSubmatch(out, -1) {
		marks[m[1]] = true
	}
	require.NotEmpty(t, marks, "%s", out)
	return marks
}
