// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
)

// egressArea has one Egress, for the parts of testEgress.
type egressArea struct {
	*suite
	// area outlives the test of a part.
	area *testing.T
	*staticEgress
	addr    netip.Addr
	outside netip.AddrPort
	// local is a flow of a Pod of the Node with the address, remote of one of the other Node.
	local, remote *steadyFlow
	removeAddress func()
}

// testEgress: Pods of both Nodes reach the host outside the cluster with the address that the second Node has, until the Egress ends. Steady flows
// that are older than the Egress get the address, and lose it.
func testEgress(t *testing.T, s *suite) {
	s.label(t, s.client, map[string]string{"egress": "e2e"})
	s.label(t, s.far, map[string]string{"egress": "e2e"})
	defer s.label(t, s.client, nil)
	defer s.label(t, s.far, nil)
	e := &egressArea{suite: s, area: t, addr: s.egressAddress(200), outside: s.askWhoOutside(t)}
	e.local = s.startSteadyFlow(t, s.far.Space, e.outside)
	e.remote = s.startSteadyFlow(t, s.client.Space, netip.AddrPortFrom(e.outside.Addr(), e.outside.Port()+1))
	e.local.eventuallyFrom(t, s.node2.IP)
	e.remote.eventuallyFrom(t, s.node1.IP)
	inside := s.askInside(t)
	before := inside(t)
	e.removeAddress = addAddress(t, s.node2, e.addr)
	e.staticEgress = s.createStaticEgress(t, "e2e", "e2e", e.addr)
	e.eventuallyOn(t, s.node2, e.addr)
	e.eventuallySeen(t, e.addr)
	e.local.eventuallyFrom(t, e.addr)
	e.remote.eventuallyFrom(t, e.addr)
	for range 20 {
		require.Equal(t, e.addr, seenAs(t, s.client.Space, e.outside))
		require.Equal(t, e.addr, seenAs(t, s.far.Space, e.outside))
	}
	require.Equal(t, s.node1.IP, seenAs(t, s.neighbor.Space, e.outside), "no Egress is for this Pod")
	require.Equal(t, before, inside(t), "sources within the cluster")
	t.Run("Headers", e.testHeaders)
	t.Run("NeverCached", e.testNeverCached)
	t.Run("Exceptions", e.testExceptions)
	t.Run("AddressMoves", e.testAddressMoves)
	t.Run("OldestIsDeleted", e.testOldestIsDeleted)
	e.delete()
	s.eventuallySeenAs(t, s.client.Space, e.outside, s.node1.IP)
	s.eventuallySeenAs(t, s.far.Space, e.outside, s.node2.IP)
	e.local.eventuallyFrom(t, s.node2.IP)
	e.remote.eventuallyFrom(t, s.node1.IP)
}

// eventuallySeen waits until new connections of both Pods have a source.
func (e *egressArea) eventuallySeen(t *testing.T, want netip.Addr) {
	t.Helper()
	e.eventuallySeenAs(t, e.client.Space, e.outside, want)
	e.eventuallySeenAs(t, e.far.Space, e.outside, want)
}

// askWhoOutside returns the address of a server outside the cluster that tells each client its address.
func (s *suite) askWhoOutside(t *testing.T) netip.AddrPort {
	t.Helper()
	outside := netip.AddrPortFrom(s.internet(), egressPort)
	var l net.Listener
	require.NoError(t, s.Internet.Do(func() (err error) {
		l, err = net.Listen("tcp", outside.String())
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
	eventually(t, fmt.Sprintf("the source %s", want), func() error {
		addr, err := whoAmI(space, to, time.Second)
		if err == nil && addr != want {
			err = fmt.Errorf("the source is %s", addr)
		}
		return err
	})
}
