// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package relay forwards TCP connections between network namespaces of one machine.
package relay

import (
	"io"
	"net"
	"sync"
)

// Relay accepts TCP connections on a listener and forwards each to a connection that a function makes. Either of the two may belong to
// another network namespace.
type Relay struct {
	listener net.Listener
	dial     func() (net.Conn, error)

	mu     sync.Mutex
	closed bool
	conns  map[net.Conn]struct{}
}

// New forwards what l accepts until Close, which closes l too. dial makes TCP connections; it is called by several goroutines.
func New(l net.Listener, dial func() (net.Conn, error)) *Relay {
	r := &Relay{listener: l, dial: dial, conns: map[net.Conn]struct{}{}}
	go r.serve()
	return r
}

func (r *Relay) serve() {
	for {
		in, err := r.listener.Accept()
		if err != nil {
			return // closed
		}
		go r.forward(in)
	}
}

func (r *Relay) forward(in net.Conn) {
	out, err := r.dial()
	if err != nil { // the client sees a closed connection, as from a server that is down
		in.Close()
		return
	}
	if !r.add(in, out) {
		return
	}
	var wg sync.WaitGroup
	for _, pair := range [][2]net.Conn{{in, out}, {out, in}} {
		wg.Go(func() {
			_, _ = io.Copy(pair[0], pair[1]) // either side may close the connection
			pair[0].(*net.TCPConn).CloseWrite()
		})
	}
	wg.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, conn := range []net.Conn{in, out} {
		conn.Close()
		delete(r.conns, conn)
	}
}

func (r *Relay) add(conns ...net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, conn := range conns {
		if r.closed {
			conn.Close()
		} else {
			r.conns[conn] = struct{}{}
		}
	}
	return !r.closed
}

// Close also ends all connections.
func (r *Relay) Close() {
	r.listener.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for conn := range r.conns {
		conn.Close()
	}
}
