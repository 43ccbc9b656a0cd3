// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package generic

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSourceOf(t *testing.T) {
	for remote, want := range map[string]string{
		"192.0.2.1:1234":          "192.0.2.1/32",
		"[::ffff:192.0.2.1]:1234": "192.0.2.1/32",
		"[2001:db8::1:2:3]:1234":  "2001:db8::/64",
		"[fe80::1%eth0]:1234":     "fe80::/64",
		"@":                       "invalid Prefix",
	} {
		require.Equal(t, want, sourceOf(remote).String(), remote)
	}
}

// fakeConn is a connection from an address.
type fakeConn struct {
	net.Conn
	from   string
	closed bool
}

func (c *fakeConn) RemoteAddr() net.Addr {
	address, err := net.ResolveTCPAddr("tcp", c.from)
	if err != nil {
		panic(err)
	}
	return address
}

func (c *fakeConn) Close() error {
	c.closed = true
	return nil
}

// fakeListener accepts the given connections.
type fakeListener struct {
	net.Listener
	next net.Conn
}

func (l *fakeListener) Accept() (net.Conn, error) { return l.next, nil }

func TestConnections(t *testing.T) {
	listener := &fakeListener{}
	all := NewGuests(5, 3)
	accepting := all.Listen(listener)
	conns := map[string]*fakeConn{}
	guests := map[string]*connection{}
	accept := func(name, from string) {
		t.Helper()
		conns[name] = &fakeConn{from: from}
		listener.next = conns[name]
		conn, err := accepting.Accept()
		require.NoError(t, err)
		guests[name] = conn.(*connection)
	}
	open := func() (names []string) {
		for _, name := range []string{"a1", "a2", "a3", "a4", "b1", "b2", "c1", "d1", "e1"} {
			if conns[name] != nil && !conns[name].closed {
				names = append(names, name)
			}
		}
		return names
	}
	const a, b, c = "192.0.2.1:1", "192.0.2.2:1", "[2001:db8::1]:1"
	accept("a1", a)
	accept("a2", a)
	accept("a3", a)
	accept("a4", a)
	require.Equal(t, []string{"a2", "a3", "a4"}, open(), "the oldest of a source goes")
	guests["a2"].admit()
	guests["a2"].admit()
	accept("b1", b)
	accept("b2", b)
	accept("c1", c)
	require.Equal(t, []string{"a2", "a3", "a4", "b1", "b2", "c1"}, open(), "who is admitted does not count")
	accept("d1", "192.0.2.4:1")
	require.Equal(t, []string{"a2", "a4", "b1", "b2", "c1", "d1"}, open(), "the oldest of all goes")
	require.NoError(t, guests["b1"].Close())
	accept("e1", "192.0.2.5:1")
	require.Equal(t, []string{"a2", "a4", "b2", "c1", "d1", "e1"}, open(), "who has gone does not count")
	for _, guest := range guests {
		require.NoError(t, guest.Close())
	}
	require.Zero(t, all.guests.Len())
	require.Empty(t, all.ofSource)
}
