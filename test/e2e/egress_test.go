// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
)

// testEgress: Pods of both Nodes reach the host outside the cluster with the address that the second Node has, until the Egress ends. A steady flow
// that is older than the Egress gets the address, and loses it.
func testEgress(t *testing.T, s *suite) {
	addr := netip.MustParseAddr("192.168.77.200")
	s.label(t, s.client, map[string]string{"egress": "e2e"})
	s.label(t, s.far, map[string]string{"egress": "e2e"})
	defer s.label(t, s.client, nil)
	defer s.label(t, s.far, nil)
	outside := s.askWhoOutside(t)
	flow := s.startSteadyFlow(t, s.far.Space, outside)
	flow.eventuallyFrom(t, s.node2.IP)
	removeAddress := addAddress(t, s.node2, addr)
	e := s.createStaticEgress(t, "e2e", addr)
	e.eventuallyOn(t, s.node2, addr)
	s.eventuallySeenAs(t, s.client.Space, outside, addr)
	s.eventuallySeenAs(t, s.far.Space, outside, addr)
	flow.eventuallyFrom(t, addr)
	for range 20 {
		require.Equal(t, addr, seenAs(t, s.client.Space, outside))
		require.Equal(t, addr, seenAs(t, s.far.Space, outside))
	}
	require.Equal(t, s.node1.IP, seenAs(t, s.neighbor.Space, outside), "no Egress is for this Pod")
	requireTCPOnce(t, s.client.Space, s.far)

	// The Node loses the address: nothing leaves with another one.
	removeAddress()
	require.Eventually(t, func() bool {
		_, err := whoAmI(s.client.Space, outside, time.Second)
		return err != nil
	}, 20*time.Second, 50*time.Millisecond)
	_, err := whoAmI(s.far.Space, outside, time.Second)
	require.Error(t, err)
	e.delete()
	s.eventuallySeenAs(t, s.client.Space, outside, s.node1.IP)
	s.eventuallySeenAs(t, s.far.Space, outside, s.node2.IP)
	flow.eventuallyFrom(t, s.node2.IP)
}

// askWhoOutside returns the address of a server outside the cluster that tells each client its address.
func (s *suite) askWhoOutside(t *testing.T) netip.AddrPort {
	t.Helper()
	outside := netip.AddrPortFrom(s.internet(), egressPort)
	var l net.Listener
	require.NoError(t, s.Internet.Do(func() (err error) {
		l, err = net.Listen("tcp4", outside.String())
		return err
	}))
	t.Cleanup(func() { l.Close() })
	go sayWho(l)
	return outside
}

// egressPort is the port of the server outside the cluster.
const egressPort = 8099

// sayWho tells each client its address.
func sayWho(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = conn.Write([]byte("outside " + netip.MustParseAddrPort(conn.RemoteAddr().String()).Addr().String()))
		_ = conn.Close()
	}
}

func whoAmI(space *cluster.Space, to netip.AddrPort, limit time.Duration) (netip.Addr, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	conn, err := space.DialContext(ctx, "tcp", to.String())
	if err != nil {
		return netip.Addr{}, err
	}
	return readWho(conn, 10*time.Second)
}

// readWho reads the answer of a server of askWhoOutside, and closes the connection.
func readWho(conn net.Conn, limit time.Duration) (netip.Addr, error) {
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(limit)); err != nil {
		return netip.Addr{}, err
	}
	buffer := make([]byte, 64)
	n, err := conn.Read(buffer)
	if err != nil {
		return netip.Addr{}, err
	}
	a, err := parseAnswer(string(buffer[:n]))
	return a.client, err
}

func seenAs(t *testing.T, space *cluster.Space, to netip.AddrPort) netip.Addr {
	t.Helper()
	addr, err := whoAmI(space, to, 10*time.Second)
	require.NoError(t, err)
	return addr
}

func (s *suite) eventuallySeenAs(t *testing.T, space *cluster.Space, to netip.AddrPort, want netip.Addr) {
	t.Helper()
	var last any
	require.Eventually(t, func() bool {
		addr, err := whoAmI(space, to, time.Second)
		last = []any{addr, err}
		return err == nil && addr == want
	}, 20*time.Second, 50*time.Millisecond, "want the source %s, last: %v", want, &last)
}

// requireTCPOnce: connections between Pods are not the Egress's.
func requireTCPOnce(t *testing.T, from *cluster.Space, server *cluster.Pod) {
	t.Helper()
	startSink(t, server.Space)
	requireConnects(t, from, netip.AddrPortFrom(server.IP, sinkPort))
}
