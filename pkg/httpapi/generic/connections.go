// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package generic

import (
	"container/list"
	"context"
	"crypto/tls"
	"net"
	"net/netip"
	"sync"
)

// Guests are connections, of one or several listeners, without an allowed request so far. When there are too many
// guests the oldest one is closed: unknown clients can neither exhaust memory nor keep others out.
type Guests struct {
	limit, limitOfSource int

	mu sync.Mutex
	// guests lists all guests, ofSource the guests of each source, oldest first.
	guests   *list.List
	ofSource map[netip.Prefix]*list.List
}

// NewGuests makes Guests of which at most limit may be open at once, limitOfSource from one address (IPv6: one /64).
func NewGuests(limit, limitOfSource int) *Guests {
	return &Guests{limit: limit, limitOfSource: limitOfSource, guests: list.New(), ofSource: map[netip.Prefix]*list.List{}}
}

// Listen returns the listener with all its connections being guests.
func (c *Guests) Listen(listener net.Listener) net.Listener { return guestListener{listener, c} }

type guestListener struct {
	net.Listener
	all *Guests
}

// connection is one guest. The elements are its places in both lists, nil when it is not a guest.
type connection struct {
	net.Conn
	all             *Guests
	source          netip.Prefix
	among, ofSource *list.Element
}

// Accept returns the next connection, a guest.
func (l guestListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	guest := &connection{Conn: conn, all: l.all, source: sourceOf(conn.RemoteAddr().String())}
	for _, old := range l.all.welcome(guest) {
		_ = old.Conn.Close()
	}
	return guest, nil
}

// welcome adds a guest and returns the guests that must be closed to make room.
func (c *Guests) welcome(guest *connection) []*connection {
	c.mu.Lock()
	defer c.mu.Unlock()
	same := c.ofSource[guest.source]
	if same == nil {
		same = list.New()
		c.ofSource[guest.source] = same
	}
	guest.among, guest.ofSource = c.guests.PushBack(guest), same.PushBack(guest)
	var ended []*connection
	end := func(l *list.List) {
		oldest := l.Front().Value.(*connection)
		c.remove(oldest)
		ended = append(ended, oldest)
	}
	if same.Len() > c.limitOfSource {
		end(same)
	}
	if c.guests.Len() > c.limit {
		end(c.guests)
	}
	return ended
}

// remove removes a connection from the guests. The caller holds the lock.
func (c *Guests) remove(guest *connection) {
	if guest.among == nil {
		return
	}
	c.guests.Remove(guest.among)
	same := c.ofSource[guest.source]
	same.Remove(guest.ofSource)
	if same.Len() == 0 {
		delete(c.ofSource, guest.source)
	}
	guest.among, guest.ofSource = nil, nil
}

// admit ends the connection's time as a guest.
func (c *connection) admit() {
	c.all.mu.Lock()
	defer c.all.mu.Unlock()
	c.all.remove(c)
}

// Close closes the connection.
func (c *connection) Close() error {
	c.admit()
	return c.Conn.Close()
}

type connectionKey struct{}

// withConnection is for http.Server.ConnContext.
func withConnection(ctx context.Context, conn net.Conn) context.Context {
	if encrypted, ok := conn.(*tls.Conn); ok {
		conn = encrypted.NetConn()
	}
	return context.WithValue(ctx, connectionKey{}, conn)
}

// admitConnection admits the connection of an allowed request.
func admitConnection(ctx context.Context) {
	if c, ok := ctx.Value(connectionKey{}).(*connection); ok {
		c.admit()
	}
}
