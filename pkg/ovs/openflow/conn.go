// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"bufio"
	"context"
	"fmt"
	"math"
	"net"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"
)

const (
	// maxParts bounds the multipart replies to most requests; 254 tables need one.
	maxParts = 64
	// maxBackground bounds the echo messages and discards that wait to be sent. OVS has one echo request at a time.
	maxBackground = 64
)

// conn is one connection to the switch, from the hello to the first error. One goroutine reads it; another one sends messages
// for which no call waits, so that reading never waits for a write.
type conn struct {
	nc      net.Conn
	version version
	// packetIn is called with each packet-in; nil on connections that get none. It must not block.
	packetIn func(*PacketIn)
	// writing is a mutex that can be waited for with a context.
	writing    chan struct{}
	background chan []byte
	// alive is set by every sign of life of the switch.
	alive atomic.Bool
	// closed is closed after err has been set.
	closed chan struct{}
	wg     sync.WaitGroup

	mu      sync.Mutex
	err     error
	nextXID uint32
	calls   []*call
}

// call is a range of transaction ids and the switch's answers to them. mu of the conn guards the maps. Their keys are in the
// range, so the switch cannot make them grow beyond it.
type call struct {
	first, last uint32
	// maxParts bounds the replies to one request.
	maxParts int
	errors   map[uint32]*Error
	replies  map[uint32][]message
	// notify has room for one value and gets one after each answer.
	notify chan struct{}
}

func newConn(nc net.Conn, v version, nextXID uint32) *conn {
	return &conn{
		nc:         nc,
		version:    v,
		writing:    make(chan struct{}, 1),
		background: make(chan []byte, maxBackground),
		closed:     make(chan struct{}),
		nextXID:    nextXID,
	}
}

// close ends the connection for the reason err, unless it has already ended, and waits for its goroutines.
func (c *conn) close(err error) {
	c.fail(err)
	c.wg.Wait()
}

func (c *conn) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
		_ = c.nc.Close()
		close(c.closed)
	}
}

// reason is why the connection has ended.
func (c *conn) reason() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// disconnected is the error of all calls after the connection's end.
func (c *conn) disconnected() error { return fmt.Errorf("%w: %w", ErrDisconnected, c.reason()) }

func (c *conn) readLoop(r *bufio.Reader) {
	defer c.wg.Done()
	defer func() {
		if value := recover(); value != nil {
			// An unforeseen message ends the connection, as an invalid one does.
			c.fail(fmt.Errorf("panic while reading a message of the switch, please report it: %v\n%s", value, debug.Stack()))
		}
	}()
	for {
		m, err := readMessage(r)
		if err == nil {
			c.alive.Store(true)
			err = c.handle(m)
		}
		if err != nil {
			c.fail(err)
			return
		}
	}
}

// handle dispatches m; after an error the stream cannot be trusted any more.
func (c *conn) handle(m message) error {
	if m.version != c.version {
		return fmt.Errorf("message of type %d has the OpenFlow version %d: want %d", m.typ, uint8(m.version), uint8(c.version))
	}
	switch m.typ {
	case typeEchoRequest:
		select {
		case c.background <- appendEchoReply(nil, m):
			return nil
		default:
			return fmt.Errorf("%d messages are already waiting to be sent: cannot answer an echo request", maxBackground)
		}
	case typeExperimenter:
		if isPacketIn(m) {
			return c.handlePacketIn(m)
		}
		return c.deliver(m)
	case typeError, typeMultipartReply, typeBarrierReply, typeBundleControl:
		return c.deliver(m)
	}
	// Unsolicited messages (port status, ...) are ignored.
	return nil
}

func (c *conn) deliver(m message) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, cl := range c.calls {
		if m.xid < cl.first || m.xid > cl.last {
			continue
		}
		if m.typ == typeError {
			if cl.errors[m.xid] == nil {
				cl.errors[m.xid] = parseError(m.body)
			}
		} else {
			if len(cl.replies[m.xid]) == cl.maxParts {
				return fmt.Errorf("more than %d messages in reply to one request", cl.maxParts)
			}
			cl.replies[m.xid] = append(cl.replies[m.xid], m)
		}
		select {
		case cl.notify <- struct{}{}:
		default:
		}
		return nil
	}
	if m.typ == typeError {
		klog.InfoS("The OpenFlow switch sent an error that belongs to no pending request", "xid", m.xid, "err", parseError(m.body))
	}
	return nil
}

func (c *conn) backgroundLoop() {
	defer c.wg.Done()
	for {
		select {
		case data := <-c.background:
			// The connection's end interrupts the write, and echoLoop ends the connection of a hung switch.
			if err := c.write(context.Background(), data); err != nil {
				c.fail(err)
			}
		case <-c.closed:
			return
		}
	}
}

// begin reserves n transaction ids and registers for the answers to them.
func (c *conn) begin(n int) (*call, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDisconnected, c.err)
	}
	// Answers to ids from before a wrap-around have long arrived.
	if uint64(c.nextXID)+uint64(n) > math.MaxUint32 {
		c.nextXID = 1
	}
	cl := &call{
		first:    c.nextXID,
		last:     c.nextXID + uint32(n) - 1,
		maxParts: maxParts,
		errors:   map[uint32]*Error{},
		replies:  map[uint32][]message{},
		notify:   make(chan struct{}, 1),
	}
	c.nextXID = cl.last + 1
	c.calls = append(c.calls, cl)
	return cl, nil
}

func (c *conn) end(cl *call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.calls {
		if c.calls[i] == cl {
			c.calls = append(c.calls[:i], c.calls[i+1:]...)
			return
		}
	}
}

// wait returns nil when the switch has completely answered xid of cl, even with an error.
func (c *conn) wait(ctx context.Context, cl *call, xid uint32) error {
	for {
		if c.answered(cl, xid) {
			return nil
		}
		select {
		case <-cl.notify:
		case <-c.closed:
			return c.disconnected()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (c *conn) answered(cl *call, xid uint32) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cl.errors[xid] != nil {
		return true
	}
	parts := cl.replies[xid]
	return len(parts) > 0 && !moreParts(parts[len(parts)-1])
}

// errorOf returns the switch's error for xid, or nil.
func (c *conn) errorOf(cl *call, xid uint32) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := cl.errors[xid]; e != nil {
		return e
	}
	return nil
}

func (c *conn) repliesOf(cl *call, xid uint32) []message {
	c.mu.Lock()
	defer c.mu.Unlock()
	return cl.replies[xid]
}

// write sends whole messages. If ctx ends before everything is sent, the connection is closed, because the stream may have
// stopped within a message.
func (c *conn) write(ctx context.Context, data []byte) error {
	select {
	case c.writing <- struct{}{}:
		defer func() { <-c.writing }()
	case <-c.closed:
		return c.disconnected()
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	interrupted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		_ = c.nc.SetWriteDeadline(time.Unix(1, 0))
		close(interrupted)
	})
	err := c.writeAll(data)
	if !stop() {
		// The deadline must not hit the next write.
		<-interrupted
		_ = c.nc.SetWriteDeadline(time.Time{})
	}
	if err != nil {
		c.fail(fmt.Errorf("write: %w", err))
		if ctx.Err() != nil {
			return fmt.Errorf("%w: %w", ctx.Err(), c.disconnected())
		}
		return c.disconnected()
	}
	return nil
}

// barrier returns when the switch has processed everything that was sent before.
func (c *conn) barrier(ctx context.Context) error {
	_, err := c.request(ctx, maxParts, func(b []byte, xid uint32) []byte { return appendBarrier(b, c.version, xid) })
	if err != nil {
		return fmt.Errorf("barrier: %w", err)
	}
	return nil
}

// request sends what build appends and returns the replies to it, at most parts of them.
func (c *conn) request(ctx context.Context, parts int, build func(b []byte, xid uint32) []byte) ([]message, error) {
	cl, err := c.begin(1)
	if err != nil {
		return nil, err
	}
	defer c.end(cl)
	c.mu.Lock()
	cl.maxParts = parts
	c.mu.Unlock()
	if err := c.write(ctx, build(nil, cl.first)); err != nil {
		return nil, err
	}
	if err := c.wait(ctx, cl, cl.first); err != nil {
		return nil, err
	}
	if err := c.errorOf(cl, cl.first); err != nil {
		return nil, err
	}
	return c.repliesOf(cl, cl.first), nil
}
