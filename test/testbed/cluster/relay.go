// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"io"
	"net"
	"sync"
)

// relay forwards TCP connections from a listener in one network namespace to an address in this process's own.
type relay struct {
	listener net.Listener
	target   string

	mu     sync.Mutex
	closed bool
	conns  map[net.Conn]struct{}
}

// newRelay listens at address in space. Nodes have no other way out of their network to the Kubernetes API.
func newRelay(space *Space, address, target string) (*relay, error) {
	r := &relay{target: target, conns: map[net.Conn]struct{}{}}
	err := space.Do(func() (err error) {
		r.listener, err = net.Listen("tcp", address)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("listening for the Kubernetes API in %s: %w", space.Name, err)
	}
	go r.serve()
	return r, nil
}

func (r *relay) serve() {
	for {
		in, err := r.listener.Accept()
		if err != nil {
			return // closed
		}
		go r.forward(in)
	}
}

func (r *relay) forward(in net.Conn) {
	out, err := net.Dial("tcp", r.target)
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
			_, _ = io.Copy(pair[0], pair[1]) // either side may end it
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

func (r *relay) add(conns ...net.Conn) bool {
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

func (r *relay) Close() {
	r.listener.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for conn := range r.conns {
		conn.Close()
	}
}
