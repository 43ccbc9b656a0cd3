// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"time"
)

// handshakeTimeout bounds dialing, hello and the first barrier.
const handshakeTimeout = 5 * time.Second

// dialer makes connections.
type dialer struct {
	open         func(context.Context) (net.Conn, error)
	echoInterval time.Duration
	version      version
	// packetIn and setUp are set for connections that get packet-ins: setUp appends messages to be sent after the hello.
	packetIn func(*PacketIn)
	setUp    func(b []byte) []byte
}

// dial connects, agrees on the version and returns once the switch has answered a barrier.
func (d *dialer) dial(ctx context.Context) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	nc, err := d.open(ctx)
	if err != nil {
		return nil, err
	}
	c, err := d.handshake(ctx, nc)
	if err != nil {
		_ = nc.Close()
		return nil, fmt.Errorf("handshake with the OpenFlow switch: %w", err)
	}
	c.wg.Add(1)
	go c.echoLoop(d.echoInterval)
	return c, nil
}

// openUnix opens the unix socket at path.
func openUnix(path string) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) { return (&net.Dialer{}).DialContext(ctx, "unix", path) }
}

func (d *dialer) handshake(ctx context.Context, nc net.Conn) (*conn, error) {
	// When ctx ends, this deadline interrupts the hello.
	stop := context.AfterFunc(ctx, func() { _ = nc.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if _, err := nc.Write(appendHello(nil, d.version, helloXID)); err != nil {
		return nil, err
	}
	r := bufio.NewReader(nc)
	hello, err := readMessage(r)
	if err != nil {
		return nil, err
	}
	if err := checkHello(hello, d.version); err != nil {
		return nil, err
	}
	if !stop() {
		return nil, ctx.Err()
	}
	c := newConn(nc, d.version, helloXID+1)
	c.packetIn = d.packetIn
	c.wg.Add(2)
	go c.readLoop(r)
	go c.backgroundLoop()
	if err := c.start(ctx, d.setUp); err != nil {
		c.close(err)
		return nil, err
	}
	return c, nil
}

// start sends what setUp appends, if it is set, and returns when the switch has processed that.
func (c *conn) start(ctx context.Context, setUp func(b []byte) []byte) error {
	if setUp == nil {
		return c.barrier(ctx)
	}
	_, err := c.request(ctx, maxParts, func(b []byte, xid uint32) []byte { return appendBarrier(setUp(b), c.version, xid) })
	return err
}
